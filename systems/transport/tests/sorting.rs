//! Counting and sorting on every engine and adapter, against the host's own.

use kernel_host::testing::{on_adapters, on_fast_adapters, shared_device};
use kernel_host::{AdapterChoice, AdapterSummary, Engine};
use transport::{Count, Error, Sorted, Sorter, SorterBuilder};

fn on(adapter: &AdapterSummary) -> SorterBuilder {
    Sorter::builder().engine(Engine::Gpu(AdapterChoice::Open(shared_device(adapter))))
}

/// The host's stable sort.
fn wanted(elements: &[u32], classes: u32) -> Sorted {
    let mut counts = vec![0; classes as usize];
    elements.iter().for_each(|&class| counts[class as usize] += 1);
    let mut order: Vec<u32> = (0..elements.len() as u32).collect();
    order.sort_by_key(|&element| elements[element as usize]);
    Sorted { counts, order }
}

/// Random ones, all of one class, ascending, descending, alternating, and few of the last class.
fn inputs(n: usize, classes: u32, random: &mut fastrand::Rng) -> Vec<(&'static str, Vec<u32>)> {
    let drawn: Vec<u32> = (0..n).map(|_| random.u32(..classes)).collect();
    let mut ascending = drawn.clone();
    ascending.sort_unstable();
    let descending = ascending.iter().rev().copied().collect();
    vec![
        ("random", drawn),
        ("first", vec![0; n]),
        ("last", vec![classes - 1; n]),
        ("ascending", ascending),
        ("descending", descending),
        ("alternating", (0..n).map(|i| (i % classes as usize) as u32).collect()),
        ("rarely", (0..n).map(|_| if random.u32(..50) == 0 { classes - 1 } else { 0 }).collect()),
    ]
}

#[track_caller]
fn hold(what: &str, sorter: &Sorter, elements: &[u32]) {
    let wanted = wanted(elements, sorter.classes());
    let counts = sorter.count(elements).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(counts, wanted.counts, "{what}");
    let found = sorter.sort(elements).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(found == wanted, "{what}: {}", differences(&found, &wanted));
}

fn differences(found: &Sorted, wanted: &Sorted) -> String {
    if found.counts != wanted.counts {
        return format!("counts {:?}, not {:?}", found.counts, wanted.counts);
    }
    let place = found.order.iter().zip(&wanted.order).position(|(found, wanted)| found != wanted);
    format!("the orders, of {} and {}, differ at {place:?}", found.order.len(), wanted.order.len())
}

/// How each adapter counts; none in subgroups where it has none.
fn variants(adapter: &AdapterSummary, classes: u32) -> Vec<(Count, Sorter)> {
    let build = |count: Count| match on(adapter).count(count).build(classes) {
        Ok(sorter) => Some((count, sorter)),
        Err(Error::Gpu(kernel_host::Error::MissingFeature { .. })) if count == Count::Subgroups => {
            eprintln!("SKIPPED on {}: it has no subgroups", adapter.name);
            None
        }
        Err(error) => panic!("{error}"),
    };
    Count::ALL.into_iter().filter_map(build).collect()
}

/// Of two tiles and a bit; each as ordinary as adversarial.
#[test]
fn every_way_to_count_is_exact_and_the_sort_is_stable() {
    for adapter in on_adapters() {
        for classes in [3, 8] {
            let mut random = fastrand::Rng::with_seed(1);
            for (count, sorter) in variants(&adapter, classes) {
                for (name, elements) in inputs(9_001, classes, &mut random) {
                    hold(&format!("{}, {count:?}, {classes} classes, {name}", adapter.name), &sorter, &elements);
                }
            }
        }
    }
}

/// Sizes about those of words, workgroups and tiles, of one sorter, which keeps its buffers.
#[test]
fn any_number_of_elements() {
    for adapter in on_fast_adapters() {
        for classes in [8, 100] {
            let sorter = on(&adapter).build(classes).expect("built");
            let mut random = fastrand::Rng::with_seed(2);
            let sizes =
                [0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 15, 16, 17, 31, 33, 127, 128, 129, 1023, 1025, 0, 2047, 2048, 2049];
            for n in sizes.into_iter().chain([4095, 4096, 4097, 8191, 8192, 8193, 70_001, 65_536, 1]) {
                let elements: Vec<u32> = (0..n).map(|_| random.u32(..classes)).collect();
                hold(&format!("{}, {n} elements, {classes} classes", adapter.name), &sorter, &elements);
            }
        }
    }
}

#[test]
fn any_number_of_classes() {
    for adapter in on_fast_adapters() {
        for classes in [1, 7, 9, 64, 65, 512, 5000] {
            let mut random = fastrand::Rng::with_seed(u64::from(classes));
            let sorter = on(&adapter).build(classes).expect("built");
            let elements: Vec<u32> = (0..4_500).map(|_| random.u32(..classes)).collect();
            hold(&format!("{}, {classes} classes", adapter.name), &sorter, &elements);
        }
        for (count, sorter) in variants(&adapter, 300) {
            for (name, elements) in inputs(5_000, 300, &mut fastrand::Rng::with_seed(3)) {
                hold(&format!("{}, {count:?}, 300 classes, {name}", adapter.name), &sorter, &elements);
            }
        }
    }
}

/// Small workgroups and few, and kernels with guards.
#[test]
fn nothing_depends_on_workgroups_or_checks() {
    for adapter in on_fast_adapters() {
        let mut random = fastrand::Rng::with_seed(4);
        let builders = [
            ("small", on(&adapter).count_workgroup_size(8).sort_workgroup_size(8).count_workgroups(1)),
            ("64 threads", on(&adapter).count_workgroup_size(64).sort_workgroup_size(64).count_workgroups(3)),
            ("checked", on(&adapter).checked(true)),
            ("checked subgroups", on(&adapter).checked(true).count(Count::Subgroups)),
        ];
        for (name, builder) in builders {
            for classes in [8, 20] {
                let sorter = match builder.clone().build(classes) {
                    Err(Error::Gpu(kernel_host::Error::MissingFeature { .. })) => continue,
                    sorter => sorter.expect("built"),
                };
                for (kind, elements) in inputs(20_003, classes, &mut random) {
                    hold(&format!("{}, {name}, {classes} classes, {kind}", adapter.name), &sorter, &elements);
                }
            }
        }
        for size in [0, 4, 100, 1 << 20] {
            for builder in [on(&adapter).count_workgroup_size(size), on(&adapter).sort_workgroup_size(size)] {
                assert!(matches!(builder.build(8), Err(Error::Options { .. })), "{size}");
            }
        }
    }
}

/// Sums of tiles are carried on where there are more than a workgroup of 1024 scans at once.
#[test]
fn any_number_of_tiles() {
    for adapter in on_adapters() {
        let sorter = on(&adapter).sort_workgroup_size(8).build(8).expect("built");
        let mut random = fastrand::Rng::with_seed(5);
        let elements: Vec<u32> = (0..1_100_003).map(|_| random.u32(..8)).collect();
        hold(&adapter.name, &sorter, &elements);
    }
}

/// A thread's counts in sixteen bits do not overflow: there are more threads rather.
#[test]
fn a_thread_does_not_count_too_many() {
    for adapter in on_fast_adapters() {
        let sorter = on(&adapter).count_workgroup_size(8).count_workgroups(1).build(2).expect("built");
        let elements = vec![1; 1 << 20];
        assert_eq!(sorter.count(&elements).expect("counts"), [0, 1 << 20], "{}", adapter.name);
    }
}

fn engines(classes: u32) -> Vec<(String, Sorter)> {
    let on_the_host = [Engine::Cpu, Engine::Reference]
        .map(|engine| (format!("{engine:?}"), Sorter::builder().engine(engine).build(classes).expect("built")));
    let on_gpus = on_fast_adapters().into_iter().flat_map(move |adapter| {
        let name = adapter.name.clone();
        variants(&adapter, classes).into_iter().map(move |(count, sorter)| (format!("{name}, {count:?}"), sorter))
    });
    on_the_host.into_iter().chain(on_gpus).collect()
}

#[test]
fn what_is_of_no_class_is_an_error() {
    for classes in [5, 40] {
        for (name, sorter) in engines(classes) {
            let mut elements: Vec<u32> = (0..20_000).map(|i| i % classes).collect();
            for (bad, at) in [(u32::MAX, 19_999), (classes, 12_345), (classes + 1, 3), (1 << 31, 0)] {
                elements[at] = bad;
                let told = [
                    sorter.count(&elements).map(drop),
                    sorter.sort(&elements).map(drop),
                    sorter.sort_payload(&elements, &vec![[0_u32; 4]; elements.len()]).map(drop),
                ];
                for told in told {
                    let Err(Error::Class { element, class, classes: of }) = told else {
                        panic!("{name}: {told:?}");
                    };
                    assert_eq!((element, class, of), (at, bad, classes), "{name}");
                }
            }
            hold(&name, &sorter, &[0, 1, 0]);
        }
    }
}

#[test]
fn what_elements_carry_moves_with_them() {
    let mut random = fastrand::Rng::with_seed(6);
    for classes in [8, 70] {
        let elements: Vec<u32> = (0..10_007).map(|_| random.u32(..classes)).collect();
        let payload: Vec<[f32; 4]> =
            elements.iter().map(|&class| [random.f32(), random.f32(), class as f32, -1.0]).collect();
        let wanted = wanted(&elements, classes);
        let moved_by_host: Vec<[f32; 4]> = wanted.order.iter().map(|&element| payload[element as usize]).collect();
        for (name, sorter) in engines(classes) {
            let (sorted, moved) = sorter.sort_payload(&elements, &payload).expect("sorted");
            assert!(sorted == wanted && moved == moved_by_host, "{name}");
            assert!(matches!(sorter.sort_payload(&elements, &payload[1..]), Err(Error::Options { .. })));
            assert!(matches!(sorter.sort_payload(&elements, &vec![0_u32; elements.len()]), Err(Error::Options { .. })));
            let (sorted, moved) = sorter.sort_payload::<[f32; 4]>(&[], &[]).expect("nothing sorted");
            assert!(sorted.order.is_empty() && moved.is_empty());
        }
    }
}

#[test]
fn the_host_sorts_alike() {
    let mut random = fastrand::Rng::with_seed(7);
    for classes in [1, 8, 300, 100_000] {
        for engine in [Engine::Cpu, Engine::Reference] {
            let sorter = Sorter::builder().engine(engine.clone()).build(classes).expect("built");
            for (name, elements) in inputs(100_000, classes, &mut random) {
                hold(&format!("{engine:?}, {classes} classes, {name}"), &sorter, &elements);
            }
            hold("nothing", &sorter, &[]);
        }
    }
}

#[test]
fn classes_are_found_again() {
    let sorter = Sorter::builder().engine(Engine::Reference).build(4).expect("built");
    let sorted = sorter.sort(&[3, 0, 3, 1]).expect("sorted");
    assert_eq!(sorted.offsets(), [0, 1, 2, 2]);
    assert_eq!([0, 1, 2, 3, 4].map(|class| sorted.of(class).to_vec()), [vec![1], vec![3], vec![], vec![0, 2], vec![]]);
    for classes in [0, (1 << 20) + 1] {
        assert!(Sorter::builder().engine(Engine::Reference).build(classes).is_err());
    }
}

/// There are as many as asked for, and parts are what they are called.
#[test]
fn times_are_of_each_part() {
    let elements: Vec<u32> = (0..10_000).map(|i| i % 8).collect();
    let one_each = |(name, _): &(String, Sorter)| !name.contains("Atomics") && !name.contains("Subgroups");
    for (name, sorter) in engines(8).into_iter().filter(one_each) {
        let Some(count) = sorter.time_count(&elements, Count::Tree, 3, 2).expect("timed") else {
            eprintln!("SKIPPED on {name}: it has no clock");
            continue;
        };
        let sort = sorter.time_sort(&elements, 2).expect("timed").expect("a clock");
        assert!(count.iter().chain(&sort).all(|part| part.rounds.len() == 2), "{name}");
        let parts: Vec<&str> = count.iter().chain(&sort).map(|part| part.part.as_str()).collect();
        if sorter.gpu().is_some() {
            assert_eq!(
                parts,
                ["count", "zero, count", "histogram", "scan", "scatter", "sort", "sort and move", "gather"]
            );
            hold(&name, &sorter, &elements);
        } else {
            assert_eq!(parts, ["count", "sort"]);
        }
    }
}
