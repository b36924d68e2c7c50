//! Counting and sorting by class.

use command_host::Failure;
use rayon::prelude::*;
use transport::{Count, Error, PartTime, Sorted, Sorter, philox4x32};

use super::report::{Counted, Report, SortPart, Spread};
use super::{Plan, on_threads};

/// Counts in a pass, one after the other, which hides the overhead of a pass.
const DISPATCHES: usize = 16;

pub(super) fn time(plan: &Plan, report: &mut Report) -> Result<(), Failure> {
    for &n in &plan.elements {
        let elements = elements(n, plan.classes);
        if plan.gpu.is_some() { on_gpu(plan, &elements, report)? } else { on_cpu(plan, &elements, report)? }
    }
    Ok(())
}

/// Of classes that are equally frequent, in no order.
fn elements(n: usize, classes: u32) -> Vec<u32> {
    let mut elements = vec![0; n];
    elements.par_chunks_mut(4).enumerate().for_each(|(at, four)| {
        for (element, word) in four.iter_mut().zip(philox4x32([at as u32, 0, 0, 0], [1, 0])) {
            *element = ((u64::from(word) * u64::from(classes)) >> 32) as u32;
        }
    });
    elements
}

fn on_gpu(plan: &Plan, elements: &[u32], report: &mut Report) -> Result<(), Failure> {
    let mut atomics = Vec::new();
    let mut sorter = None;
    for variant in Count::ALL {
        let found = match Sorter::builder().engine(plan.engine.clone()).count(variant).build(plan.classes) {
            Ok(found) => found,
            Err(Error::Gpu(error @ kernel_host::Error::MissingFeature { .. })) => {
                report.leave_out(format!("count by {}: {error}", variant.name()));
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        check_counts(&found.count(elements)?, elements, variant.name())?;
        let Some(parts) = found.time_count(elements, variant, DISPATCHES, plan.rounds)? else {
            report.leave_out("counts and sorts: the device has no clock".to_owned());
            return Ok(());
        };
        for (place, part) in parts.iter().enumerate() {
            let time = Spread::of(&part.rounds);
            if variant == Count::Atomics {
                atomics.push(time.median_us);
            }
            let mut row = counted(plan, elements.len(), part);
            row.variant = Some(variant.name());
            row.faster_than_atomics = atomics.get(place).map(|atomics| atomics / time.median_us);
            report.count(row)?;
        }
        sorter = Some(found);
    }
    let Some(sorter) = sorter else { return Ok(()) };
    check_order(&sorter.sort(elements)?, elements, "sort")?;
    for part in sorter.time_sort(elements, plan.rounds)?.unwrap_or_default() {
        report.sort(sorted(plan, elements.len(), &part))?;
    }
    Ok(())
}

fn on_cpu(plan: &Plan, elements: &[u32], report: &mut Report) -> Result<(), Failure> {
    let sorter = Sorter::builder().engine(plan.engine.clone()).build(plan.classes)?;
    check_counts(&sorter.count(elements)?, elements, "CPU")?;
    check_order(&sorter.sort(elements)?, elements, "CPU")?;
    let (mut count_alone, mut sort_alone) = (None, None);
    for threads in plan.thread_counts() {
        let times = on_threads(threads, || -> transport::Result<_> {
            let count = sorter.time_count(elements, Count::default(), 1, plan.rounds)?;
            Ok((count, sorter.time_sort(elements, plan.rounds)?))
        })?;
        let (count, sort) = times?;
        for part in count.unwrap_or_default() {
            let mut row = counted(plan, elements.len(), &part);
            row.threads = Some(threads);
            row.times_one_thread = Some(*count_alone.get_or_insert(row.time.median_us) / row.time.median_us);
            report.count(row)?;
        }
        for part in sort.unwrap_or_default() {
            let mut row = sorted(plan, elements.len(), &part);
            row.threads = Some(threads);
            row.times_one_thread = Some(*sort_alone.get_or_insert(row.time.median_us) / row.time.median_us);
            report.sort(row)?;
        }
    }
    Ok(())
}

fn counted(plan: &Plan, elements: usize, part: &PartTime) -> Counted {
    let time = Spread::of(&part.rounds);
    let rate = time.rate(part.bytes as f64);
    Counted {
        elements,
        classes: plan.classes,
        variant: None,
        threads: None,
        part: part.part.clone(),
        faster_than_atomics: None,
        gb_per_s: rate / 1e9,
        of_reading: plan.reading.map(|reading| rate / reading),
        times_one_thread: None,
        time,
    }
}

fn sorted(plan: &Plan, elements: usize, part: &PartTime) -> SortPart {
    let time = Spread::of(&part.rounds);
    let rate = time.rate(part.bytes as f64);
    // Stages without counted bytes have no rate.
    let some = |rate: f64| (part.bytes > 0).then_some(rate);
    SortPart {
        elements,
        classes: plan.classes,
        threads: None,
        part: part.part.clone(),
        gb_per_s: some(rate / 1e9),
        of_reading: plan.reading.and_then(|reading| some(rate / reading)),
        times_one_thread: None,
        time,
    }
}

fn counts(elements: &[u32], classes: usize) -> Vec<u32> {
    let mut counts = vec![0; classes];
    elements.iter().for_each(|&class| counts[class as usize] += 1);
    counts
}

fn check_counts(found: &[u32], elements: &[u32], who: &str) -> Result<(), Failure> {
    let wanted = counts(elements, found.len());
    if found == wanted {
        return Ok(());
    }
    Err(Failure::wrong_answer(format_args!("{who}, {} elements: counts {found:?}, not {wanted:?}", elements.len())))
}

/// Each element comes to the next place of its class.
fn check_order(found: &Sorted, elements: &[u32], who: &str) -> Result<(), Failure> {
    check_counts(&found.counts, elements, who)?;
    let mut next = found.offsets();
    for (element, &class) in (0_u32..).zip(elements) {
        let place = &mut next[class as usize];
        let there = found.order.get(*place as usize);
        if there != Some(&element) {
            let what = format!("{who}, {} elements: {there:?} at {place} of the order, not {element}", elements.len());
            return Err(Failure::wrong_answer(what));
        }
        *place += 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_orders_are_told() {
        let elements = elements(1000, 8);
        let sorter = Sorter::builder().engine(transport::Engine::Reference).build(8).expect("a sorter");
        let mut sorted = sorter.sort(&elements).expect("sorted");
        assert!(sorted.counts.iter().all(|&count| (80..170).contains(&count)), "{:?}", sorted.counts);
        assert!(check_order(&sorted, &elements, "sort").is_ok());
        sorted.order.swap(3, 4);
        assert!(check_order(&sorted, &elements, "sort").is_err());
        sorted.order.swap(3, 4);
        sorted.counts[0] += 1;
        assert!(check_order(&sorted, &elements, "sort").is_err());
    }
}
