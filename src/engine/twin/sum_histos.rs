//! Sums rows of histograms. Twin of `shaders/sum_histos/sum_histos.wgsl`, whose stages are one
//! here.

use crate::engine::histogram::{HistogramPair, MAX_COUNT, ZSum};

/// Adds a bin of a row. Returns whether the count exceeds a word.
fn add<Z: ZSum>(sum: (&mut u32, &mut u32), n: u32, z: u32) -> bool {
    let overflow = sum.0.checked_add(n).is_none();
    *sum.0 = sum.0.saturating_add(n);
    *sum.1 = Z::sum(*sum.1, z);
    overflow
}

/// Adds `rows` to `sums`, which holds the entries that did not fit into a row. Returns whether a
/// count exceeds [`MAX_COUNT`].
///
/// The kernels add pairs, precisions and sectors to an RoI's totals without rows; here rows hold
/// them too.
pub(crate) fn sum_histos<Z: ZSum>(rows: &[HistogramPair], sums: &mut HistogramPair) -> bool {
    let mut overflow = false;
    for row in rows {
        for ((n, z), (&row_n, &row_z)) in sums.n.iter_mut().zip(&mut sums.z).zip(row.n.iter().zip(&row.z)) {
            overflow |= add::<Z>((n, z), row_n, row_z);
        }
        sums.pairs.resize(row.pairs.len().max(sums.pairs.len()), 0);
        sums.pairs.iter_mut().zip(&row.pairs).for_each(|(all, pairs)| *all += pairs);
        sums.precisions.resize(row.precisions.len().max(sums.precisions.len()), 0);
        sums.precisions.iter_mut().zip(&row.precisions).for_each(|(all, precisions)| *all += precisions);
        for (all, masks) in sums.sectors.iter_mut().zip(&row.sectors) {
            all.resize(masks.len().max(all.len()), 0);
            all.iter_mut().zip(masks).for_each(|(all, mask)| *all |= mask);
        }
    }
    overflow || sums.n.iter().any(|&n| n > MAX_COUNT)
}
