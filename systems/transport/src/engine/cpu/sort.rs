//! Sorts by classes, on all cores. Shaders: sort/histogram.wgsl, sort/scan.wgsl, sort/scatter.wgsl,
//! sort/gather.wgsl.

use bytemuck::Pod;
use rayon::prelude::*;

use super::count::{histogram, together};
use crate::classes::Sorted;
use crate::error::{Error, Result};

/// Numbers of elements by class, in their order within a class; and counts.
pub(crate) fn sort(elements: &[u32], classes: u32) -> Result<Sorted> {
    let parts = histogram(elements, classes)?;
    let counts = scan(&parts, classes);
    let mut order = vec![0; elements.len()];
    scatter(elements, &parts, classes, &mut order);
    Ok(Sorted { counts, order })
}

/// Of each class, what all parts have.
fn scan(parts: &[Vec<u32>], classes: u32) -> Vec<u32> {
    let mut counts = vec![0; classes as usize];
    for part in parts {
        counts.iter_mut().zip(part).for_each(|(count, part)| *count += part);
    }
    counts
}

/// Each part writes what is its own of every class.
fn scatter(elements: &[u32], parts: &[Vec<u32>], classes: u32, order: &mut [u32]) {
    let mut rest = order;
    let mut own: Vec<Vec<&mut [u32]>> = parts.iter().map(|_| Vec::with_capacity(classes as usize)).collect();
    for class in 0..classes as usize {
        for (part, own) in parts.iter().zip(&mut own) {
            let (here, after) = rest.split_at_mut(part[class] as usize);
            own.push(here);
            rest = after;
        }
    }
    let together = together(elements.len(), classes);
    elements.par_chunks(together).zip(own).enumerate().for_each(|(part, (chunk, mut own))| {
        let mut written = vec![0; own.len()];
        for (at, &class) in chunk.iter().enumerate() {
            let class = class as usize;
            own[class][written[class]] = (part * together + at) as u32;
            written[class] += 1;
        }
    });
}

/// Returns the elements in the given order.
pub(crate) fn gather<T: Pod + Send + Sync>(order: &[u32], before: &[T]) -> Vec<T> {
    order.par_iter().map(|&element| before[element as usize]).collect()
}

/// Plain serial form, the reference of the parallel forms.
pub(crate) fn serial_count(elements: &[u32], classes: u32) -> Result<Vec<u32>> {
    let mut counts = vec![0; classes as usize];
    for (element, &class) in elements.iter().enumerate() {
        if class >= classes {
            return Err(Error::Class { element, class, classes });
        }
        counts[class as usize] += 1;
    }
    Ok(counts)
}

/// Plain: the standard library's stable sort.
pub(crate) fn serial_sort(elements: &[u32], classes: u32) -> Result<Sorted> {
    let counts = serial_count(elements, classes)?;
    let mut order: Vec<u32> = (0..elements.len() as u32).collect();
    order.sort_by_key(|&element| elements[element as usize]);
    Ok(Sorted { counts, order })
}
