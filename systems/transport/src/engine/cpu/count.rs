//! How many elements are of each class, on all cores. Shader: count.wgsl.

use rayon::prelude::*;

use crate::error::{Error, Result};

/// Elements that a thread takes at a time, at least.
const TOGETHER: usize = 1 << 14;

/// Elements that a thread takes at a time, where it writes a word a class too: never many more of
/// these.
pub(crate) fn together(elements: usize, classes: u32) -> usize {
    elements.div_ceil(4 * rayon::current_num_threads()).max(TOGETHER).max(4 * classes as usize)
}

/// Of each class, how many.
pub(crate) fn count(elements: &[u32], classes: u32) -> Result<Vec<u32>> {
    let mut counts = vec![0; classes as usize];
    for part in histogram(elements, classes)? {
        counts.iter_mut().zip(part).for_each(|(count, part)| *count += part);
    }
    Ok(counts)
}

/// The same of each part of [`together`] elements.
pub(crate) fn histogram(elements: &[u32], classes: u32) -> Result<Vec<Vec<u32>>> {
    let together = together(elements.len(), classes);
    let parts = elements.par_chunks(together).enumerate().map(|(part, chunk)| {
        let mut counts = vec![0; classes as usize];
        for (at, &class) in chunk.iter().enumerate() {
            let Some(count) = counts.get_mut(class as usize) else {
                return Err(Error::Class { element: part * together + at, class, classes });
            };
            *count += 1;
        }
        Ok(counts)
    });
    // The first error in the order of elements, whichever thread is the first.
    parts.collect::<Vec<_>>().into_iter().collect()
}
