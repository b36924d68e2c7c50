//! RNTuples that `testing` writes from the specification come back as they were written.

mod common;

use common::{Model, column, open, read_in_pieces};
use fastrand::Rng;
use rntuple::testing::{Cluster, Dataset, Options, Packing, role, write};
use rntuple::{Array, Numbers, RootFile};
use serde_json::{Map, Value, json};

/// Returns numbers as bits, so that NaN is equal to itself.
fn bits(numbers: &Numbers) -> Vec<u64> {
    match numbers {
        Numbers::F32(values) => values.iter().map(|value| value.to_bits().into()).collect(),
        Numbers::F64(values) => values.iter().map(|value| value.to_bits()).collect(),
        whole => whole.to_integers().expect("whole").iter().map(|&integer| integer as u64).collect(),
    }
}

/// Converts a half as the definition of IEEE 754 says.
fn half(bits: u128) -> f32 {
    let (exponent, mantissa) = ((bits >> 10 & 31) as i32, (bits & 1023) as f64);
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let magnitude = match exponent {
        0 => mantissa * 2f64.powi(-24),
        31 => f64::INFINITY,
        _ => (1024.0 + mantissa) * 2f64.powi(exponent - 25),
    };
    (sign * magnitude) as f32
}

const RANGE: [f64; 2] = [-1.5, 20.0];

/// Returns the bits that a reader returns for an element.
fn expected(code: u16, width: u16, element: u128) -> u64 {
    let signed = |width: u32| (element << (128 - width)).cast_signed() >> (128 - width);
    match code {
        0x03 => signed(8) as u64,
        0x05 | 0x11 => signed(16) as u64,
        0x07 | 0x13 => signed(32) as u64,
        0x0b | 0x17 => half(element).to_bits().into(),
        0x1c => (element as u64) << (32 - width),
        0x1d => {
            let most = ((1u64 << width) - 1) as f64;
            let number = RANGE[0] + element as f64 * ((RANGE[1] - RANGE[0]) / most);
            u64::from((number as f32).to_bits())
        }
        _ => element as u64,
    }
}

/// Code, bits and C++ type of each type of column that holds numbers.
fn number_columns() -> Vec<(u16, u16, &'static str)> {
    let mut columns = vec![
        (0x00, 1, "bool"),
        (0x01, 8, "std::byte"),
        (0x02, 8, "char"),
        (0x03, 8, "std::int8_t"),
        (0x04, 8, "std::uint8_t"),
        (0x05, 16, "std::int16_t"),
        (0x06, 16, "std::uint16_t"),
        (0x07, 32, "std::int32_t"),
        (0x08, 32, "std::uint32_t"),
        (0x09, 64, "std::int64_t"),
        (0x0a, 64, "std::uint64_t"),
        (0x0b, 16, "float"),
        (0x0c, 32, "float"),
        (0x0d, 64, "double"),
        (0x11, 16, "std::int16_t"),
        (0x12, 16, "std::uint16_t"),
        (0x13, 32, "std::int32_t"),
        (0x14, 32, "std::uint32_t"),
        (0x15, 64, "std::int64_t"),
        (0x16, 64, "std::uint64_t"),
        (0x17, 16, "float"),
        (0x18, 32, "float"),
        (0x19, 64, "double"),
    ];
    columns.extend((10..=31).map(|bits| (0x1c, bits, "float")));
    columns.extend((1..=32).map(|bits| (0x1d, bits, "float")));
    columns
}

/// Returns options that use each feature of a file.
fn options(random: &mut Rng, packing: Packing) -> Options {
    Options {
        page_elements: random.usize(1..200),
        has_checksums: random.bool(),
        pages: packing,
        envelopes: packing,
        is_large: random.bool(),
        has_large_locators: random.bool(),
    }
}

#[test]
fn numbers_of_every_column_type_come_back() {
    let mut random = Rng::with_seed(1);
    for packing in Packing::ALL {
        let mut dataset = Dataset::new("numbers");
        let columns = number_columns();
        for (at, &(code, bits, type_name)) in columns.iter().enumerate() {
            dataset.leaf(None, &format!("c{at}"), type_name, code, bits);
            dataset.columns[at].range = (code == 0x1d).then_some(RANGE);
        }
        let mut wanted = vec![Vec::new(); columns.len()];
        for _ in 0..3 {
            let mut group = Vec::new();
            for _ in 0..random.usize(..4) {
                let entries = random.u64(..300);
                // Small numbers make pages that can be compressed.
                let small = random.bool();
                let element = |width: u16| {
                    let mask = u128::MAX >> (128 - width);
                    random.u128(..) & if small { mask & 0xf } else { mask }
                };
                let mut element = element;
                let elements: Vec<Vec<u128>> = columns
                    .iter()
                    .map(|&(code, width, _)| {
                        // Halves that are not numbers have several encodings as singles.
                        let is_number = |half: u128| !matches!(code, 0x0b | 0x17) || half & 0x7c00 != 0x7c00;
                        (0..entries)
                            .map(|_| Some(element(width)).filter(|&half| is_number(half)).unwrap_or(0))
                            .collect()
                    })
                    .collect();
                for ((wanted, elements), &(code, width, _)) in wanted.iter_mut().zip(&elements).zip(&columns) {
                    wanted.extend(elements.iter().map(|&element| expected(code, width, element)));
                }
                group.push(Cluster { entries, columns: elements.into_iter().map(Some).collect() });
            }
            dataset.groups.push(group);
        }
        let file = write(&[dataset], &options(&mut random, packing));
        let mut ntuple = open(&file.bytes, "numbers");
        assert_eq!(ntuple.entries(), wanted[0].len() as u64);
        for (at, wanted) in wanted.iter().enumerate() {
            let selection = ntuple.select(&format!("c{at}")).expect("a field");
            let (mut found, mut begin) = (Vec::new(), 0);
            while begin < ntuple.entries() {
                let end = ntuple.entries().min(begin + random.u64(1..200));
                match ntuple.read(&selection, begin..end).expect("numbers") {
                    Array::Numbers(numbers) => found.extend(bits(&numbers)),
                    other => panic!("{other:?}"),
                }
                begin = end;
            }
            assert_eq!(found, *wanted, "{packing:?}, {:?}", columns[at]);
        }
    }
}

#[test]
fn collections_of_every_index_type_come_back() {
    let mut random = Rng::with_seed(2);
    for packing in Packing::ALL {
        let mut dataset = Dataset::new("lists");
        let codes = [(0x0e, 32), (0x0f, 64), (0x1a, 32), (0x1b, 64)];
        for (at, (code, bits)) in codes.into_iter().enumerate() {
            let field = dataset.field(None, &format!("c{at}"), "std::vector<std::uint8_t>", role::COLLECTION);
            let index = dataset.column(field, code, bits);
            dataset.leaf(Some(field), "_0", "std::uint8_t", 0x04, 8);
            let size = dataset.field(None, &format!("n{at}"), "ROOT::RNTupleCardinality<std::uint64_t>", role::LEAF);
            dataset.fields[size].source = Some(field as u32);
            dataset.aliases.push([index, size]);
        }
        let mut wanted: Vec<Vec<u8>> = Vec::new();
        for _ in 0..2 {
            let lists: Vec<Vec<u8>> = (0..400).map(|_| (0..random.u8(..4)).collect()).collect();
            let mut end = 0;
            let ends = lists.iter().map(|list| {
                end += list.len() as u128;
                end
            });
            let ends: Vec<u128> = ends.collect();
            let items: Vec<u128> = lists.iter().flatten().map(|&item| item.into()).collect();
            let columns = codes.iter().flat_map(|_| [Some(ends.clone()), Some(items.clone())]).collect();
            dataset.groups.push(vec![Cluster { entries: 400, columns }]);
            wanted.extend(lists);
        }
        let file = write(&[dataset], &options(&mut random, packing));
        let mut ntuple = open(&file.bytes, "lists");
        for at in 0..codes.len() {
            let lists = read_in_pieces(&mut ntuple, &format!("c{at}"), &mut random);
            assert_eq!(json!(lists), json!(wanted), "{packing:?}, {:?}", codes[at]);
            let sizes: Vec<usize> = wanted.iter().map(Vec::len).collect();
            assert_eq!(json!(read_in_pieces(&mut ntuple, &format!("n{at}"), &mut random)), json!(sizes));
            let selection = ntuple.select(&format!("c{at}")).expect("a field");
            let lengths = ntuple.lengths(&selection, 0..ntuple.entries()).expect("lengths");
            assert_eq!(json!(lengths), json!(sizes));
        }
    }
}

/// Returns the value of a path below an entry.
fn member(row: &Value, path: &[&str]) -> Value {
    match (row, path) {
        (row, []) => row.clone(),
        (Value::Array(items), path) => items.iter().map(|item| member(item, path)).collect(),
        (row, [name, rest @ ..]) => member(&row[name], rest),
    }
}

fn check_rows(bytes: &[u8], path: &str, rows: &[Map<String, Value>], random: &mut Rng) {
    let mut ntuple = open(bytes, path);
    assert_eq!(ntuple.entries(), rows.len() as u64);
    let paths = ntuple.paths();
    for name in ["hits.label", "record.ids", "untyped.x"] {
        assert!(paths.iter().any(|path| path == name), "{paths:?}");
    }
    for path in paths {
        let parts: Vec<&str> = path.split('.').collect();
        let found = read_in_pieces(&mut ntuple, &path, random);
        for (at, (found, row)) in found.iter().zip(rows).enumerate() {
            assert_eq!(*found, member(&row[parts[0]], &parts[1..]), "{path}, entry {at}");
        }
    }
}

#[test]
fn nested_types_come_back() {
    let mut random = Rng::with_seed(3);
    for packing in Packing::ALL {
        let mut model = Model::nested("nested");
        // Projections: the number of hits, and their x without the other members.
        let index = model.dataset.columns.iter().position(|column| {
            let field = &model.dataset.fields[column.field];
            field.name == "hits"
        });
        let index = index.expect("a column");
        model.project(None, "n_hits", "ROOT::RNTupleCardinality<std::uint32_t>", role::LEAF, index);
        let x = model.project(None, "hits_x", "std::vector<float>", role::COLLECTION, index);
        model.project(Some(x), "_0", "float", role::LEAF, index + 1);
        let mut rows = model.fill(&mut random, &[40, 0, 7]);
        rows.extend(model.fill(&mut random, &[]));
        rows.extend(model.fill(&mut random, &[1, 60]));
        for row in &mut rows {
            let x: Value = member(&row["hits"], &["x"]);
            row.insert("n_hits".into(), json!(x.as_array().expect("a list").len()));
            row.insert("hits_x".into(), x);
        }
        let file = write(&[model.dataset], &options(&mut random, packing));
        check_rows(&file.bytes, "nested", &rows, &mut random);
    }
}

#[test]
fn elements_before_a_deferred_column_are_zero() {
    let mut random = Rng::with_seed(4);
    let mut dataset = Dataset::new("late");
    let hits = dataset.field(None, "hits", "std::vector<Hit>", role::COLLECTION);
    dataset.column(hits, 0x1b, 64);
    let hit = dataset.field(Some(hits), "_0", "Hit", role::RECORD);
    dataset.leaf(Some(hit), "x", "float", 0x18, 32);
    let first_late_field = dataset.fields.len();
    dataset.leaf(None, "late", "double", 0x19, 64);
    let lists = dataset.field(None, "lists", "std::vector<std::vector<std::int16_t>>", role::COLLECTION);
    dataset.column(lists, 0x1a, 32);
    let list = dataset.field(Some(lists), "_0", "std::vector<std::int16_t>", role::COLLECTION);
    dataset.column(list, 0x1a, 32);
    dataset.leaf(Some(list), "_0", "std::int16_t", 0x11, 16);
    dataset.leaf(Some(hit), "y", "float", 0x18, 32);
    let mask = dataset.field(None, "mask", "std::bitset<3>", role::LEAF);
    dataset.fields[mask].repetition = Some(3);
    dataset.column(mask, 0x00, 1);
    dataset.fields[first_late_field..].iter_mut().for_each(|field| field.is_late = true);
    // Entry 14 of cluster 1 is the first with the late fields: it has hits 28 and 29 of 40.
    let firsts = [(2, 24), (3, 24), (4, 0), (5, 0), (6, 48), (7, 72)];
    for (at, first) in firsts {
        dataset.columns[at].is_late = true;
        dataset.columns[at].first_element = Some(first);
    }
    let ends = |count: u128| -> Vec<u128> { (1..=count).map(|entry| 2 * entry).collect() };
    let floats = |from: u16, count: u16| -> Vec<u128> {
        (from..from + count).map(|number| f32::from(number).to_bits().into()).collect()
    };
    // The early cluster has no lists, or empty lists, for pages in late columns.
    let early = |late: usize| {
        let mut columns = vec![Some(ends(10)), Some(floats(0, 20))];
        columns.resize(2 + late, Some(Vec::new()));
        Cluster { entries: 10, columns }
    };
    let doubles =
        |from: u16, count: u16| (from..from + count).map(|number| f64::from(number).to_bits().into()).collect();
    let middle = vec![
        ends(20),
        floats(20, 40),
        doubles(24, 6),
        vec![1, 2, 2, 2, 3, 3],
        vec![2, 2, 3],
        vec![4, 5, 6],
        floats(100, 12),
        vec![1; 18],
    ];
    let whole = vec![ends(1), floats(60, 2), doubles(30, 1), vec![0], vec![], vec![], floats(200, 2), vec![0, 1, 0]];
    let cluster =
        |entries, columns: Vec<Vec<u128>>| Cluster { entries, columns: columns.into_iter().map(Some).collect() };
    for late in [0, 6] {
        dataset.groups = vec![vec![early(late), cluster(20, middle.clone())], vec![cluster(1, whole.clone())]];
        let file = write(std::slice::from_ref(&dataset), &Options { page_elements: 5, ..Options::default() });
        let mut ntuple = open(&file.bytes, "late");
        let found = read_in_pieces(&mut ntuple, "late", &mut random);
        let wanted: Vec<Value> = (0..31).map(|at| json!(if at < 24 { 0.0 } else { f64::from(at) })).collect();
        assert_eq!(found, wanted);
        let found = read_in_pieces(&mut ntuple, "lists", &mut random);
        let mut wanted = vec![json!([]); 24];
        wanted.extend([json!([[4, 5]]), json!([[]]), json!([]), json!([]), json!([[6]]), json!([]), json!([])]);
        assert_eq!(found, wanted);
        let found = read_in_pieces(&mut ntuple, "hits.y", &mut random);
        let mut wanted = vec![json!([0.0, 0.0]); 24];
        wanted.extend((0..6).map(|at| json!([100.0 + 2.0 * f64::from(at), 101.0 + 2.0 * f64::from(at)])));
        wanted.push(json!([200.0, 201.0]));
        assert_eq!(found, wanted);
        let found = read_in_pieces(&mut ntuple, "mask", &mut random);
        assert_eq!(found[23], json!([false, false, false]));
        assert_eq!(found[24], json!([true, true, true]));
        assert_eq!(found[30], json!([false, true, false]));
        let found = read_in_pieces(&mut ntuple, "hits.x", &mut random);
        assert_eq!(found[30], json!([60.0, 61.0]));
    }
}

#[test]
fn a_variant_that_was_added_later_is_none_before() {
    let mut dataset = single("late", 1, 1);
    let variant = dataset.field(None, "variant", "std::variant<std::uint8_t>", role::VARIANT);
    dataset.column(variant, 0x10, 96);
    dataset.leaf(Some(variant), "_0", "std::uint8_t", 0x04, 8);
    dataset.fields[1..].iter_mut().for_each(|field| field.is_late = true);
    dataset.columns[1..].iter_mut().for_each(|column| column.is_late = true);
    dataset.columns[1].first_element = Some(2);
    // No value of the alternative is missing.
    dataset.columns[2].first_element = Some(0);
    let late = vec![Some(vec![1, 2, 3]), Some(vec![1 << 64, 1 << 64 | 1]), Some(vec![8, 9])];
    dataset.groups[0].push(Cluster { entries: 3, columns: late });
    let file = write(&[dataset], &Options::default());
    let found = read_in_pieces(&mut open(&file.bytes, "late"), "variant", &mut Rng::with_seed(7));
    assert_eq!(found, [json!(null), json!(null), json!(8), json!(9)]);
}

#[test]
fn a_representation_may_change_with_each_cluster() {
    let mut random = Rng::with_seed(5);
    let mut dataset = Dataset::new("changing");
    let number = dataset.field(None, "number", "double", role::LEAF);
    let text = dataset.field(None, "text", "std::string", role::LEAF);
    let mut quantized = column(number, 0x1d, 8, 3);
    quantized.range = Some([0.0, 255.0]);
    dataset.columns = vec![
        column(number, 0x19, 64, 0),
        column(number, 0x0b, 16, 1),
        column(number, 0x1c, 16, 2),
        quantized,
        column(text, 0x1b, 64, 0),
        column(text, 0x02, 8, 0),
        column(text, 0x0e, 32, 1),
        column(text, 0x02, 8, 1),
    ];
    // A representation that was added later is absent in earlier clusters.
    dataset.columns.push(column(number, 0x18, 32, 4));
    dataset.columns[8].is_late = true;
    dataset.columns[8].first_element = Some(-120);
    let mut wanted = Vec::new();
    for used in [0, 1, 2, 3, 4, 1] {
        let numbers: Vec<u8> = (0..30).map(|_| random.u8(..8)).collect();
        let mut columns: Vec<Option<Vec<u128>>> = vec![None; 8];
        let elements = |element: fn(f32) -> u128| numbers.iter().map(|&number| element(number.into())).collect();
        let (at, elements): (usize, Vec<u128>) = match used {
            0 => (0, elements(|number| f64::from(number).to_bits().into())),
            // Eight halves from 0 to 7.
            1 => (1, elements(|n| [0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700][n as usize])),
            2 => (2, elements(|number| (number.to_bits() >> 16).into())),
            3 => (3, elements(|number| number as u128)),
            _ => (8, elements(|number| number.to_bits().into())),
        };
        if used > 2 {
            columns.push(None);
        }
        columns[at] = Some(elements);
        let first = 4 + 2 * (used % 2);
        columns[first] = Some((1..=30).collect());
        columns[first + 1] = Some(numbers.iter().map(|number| u128::from(number + b'a')).collect());
        dataset.groups.push(vec![Cluster { entries: 30, columns }]);
        wanted.extend(numbers);
    }
    let file = write(&[dataset], &Options { page_elements: 11, ..Options::default() });
    let mut ntuple = open(&file.bytes, "changing");
    let numbers: Vec<Value> = wanted.iter().map(|&number| json!(f64::from(number))).collect();
    assert_eq!(read_in_pieces(&mut ntuple, "number", &mut random), numbers);
    let texts: Vec<Value> = wanted.iter().map(|&number| json!(char::from(number + b'a').to_string())).collect();
    assert_eq!(read_in_pieces(&mut ntuple, "text", &mut random), texts);
}

/// Returns an RNTuple of one entry with one number.
fn single(path: &str, cycle: u16, number: u8) -> Dataset {
    let mut dataset = Dataset { cycle, ..Dataset::new(path) };
    dataset.leaf(None, "number", "std::uint8_t", 0x04, 8);
    dataset.groups = vec![vec![Cluster { entries: 1, columns: vec![Some(vec![number.into()])] }]];
    dataset
}

#[test]
fn rntuples_are_found_in_folders_and_in_their_highest_cycle() {
    let datasets = [
        single("one", 1, 1),
        single("two", 2, 22),
        single("two", 1, 21),
        single("two", 10, 210),
        single("folder/one", 1, 3),
        single("folder/in/folder", 1, 4),
        single("other/one", 1, 5),
    ];
    for is_large in [false, true] {
        let file = write(&datasets, &Options { is_large, ..Options::default() });
        let objects = RootFile::new(std::io::Cursor::new(&file.bytes)).expect("a file");
        assert_eq!(objects.objects().len(), datasets.len());
        assert!(objects.objects().iter().all(|object| object.is_ntuple()));
        for (path, number) in [("one", 1), ("two", 210), ("folder/one", 3), ("folder/in/folder", 4), ("other/one", 5)] {
            let found = read_in_pieces(&mut open(&file.bytes, path), "number", &mut Rng::with_seed(0));
            assert_eq!(found, [json!(number)], "{path}");
        }
        let mut file = RootFile::new(std::io::Cursor::new(&file.bytes)).expect("a file");
        assert!(file.ntuple("folder").is_err());
        assert!(file.ntuple("in/folder").is_err());
    }
}

#[test]
fn unsupported_fields_are_refused_by_name_and_the_others_are_read() {
    let mut dataset = single("mixed", 1, 7);
    let streamed = dataset.field(None, "streamed", "TObject", role::STREAMER);
    dataset.column(streamed, 0x1b, 64);
    dataset.column(streamed, 0x01, 8);
    dataset.leaf(None, "later", "Later", 0x77, 24);
    let strange = dataset.field(None, "strange", "Strange", 9);
    dataset.column(strange, 0x04, 8);
    let hits = dataset.field(None, "hits", "std::vector<Hit>", role::COLLECTION);
    dataset.column(hits, 0x1b, 64);
    let hit = dataset.field(Some(hits), "_0", "Hit", role::RECORD);
    dataset.leaf(Some(hit), "x", "float", 0x18, 32);
    dataset.leaf(Some(hit), "later", "Later", 0x78, 8);
    let elements: [&[u128]; 8] = [&[7], &[0], &[], &[9], &[1], &[2], &[0, 0], &[0, 0]];
    dataset.groups[0][0].columns = elements.map(|elements| Some(elements.to_vec())).to_vec();
    let file = write(&[dataset], &Options::default());
    let mut ntuple = open(&file.bytes, "mixed");
    for (path, reason) in [
        ("streamed", "field `streamed` of type `TObject` is serialized by ROOT's streamers"),
        ("later", "field `later` has a column of type 0x77"),
        ("strange", "field `strange` has a structure of a later version"),
        ("hits", "field `hits` has a column of type 0x78"),
        ("hits.later", "field `hits.later` has a column of type 0x78"),
    ] {
        let error = ntuple.select(path).expect_err(path);
        assert!(matches!(error, rntuple::Error::Unsupported(_)), "{error:?}");
        assert!(error.to_string().contains(reason), "{error}");
    }
    assert!(matches!(ntuple.select("absent"), Err(rntuple::Error::NotFound(_))));
    let mut random = Rng::with_seed(6);
    assert_eq!(read_in_pieces(&mut ntuple, "number", &mut random), [json!(7)]);
    assert_eq!(read_in_pieces(&mut ntuple, "hits.x", &mut random), [json!([0.0, 0.0])]);
}
