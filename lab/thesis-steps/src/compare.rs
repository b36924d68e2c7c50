//! Compares the sums of an RoI with the reference engine's.

use zfinder::internals::FilledRoi;

use crate::step::Histogram;
use zfinder::Precision;

/// Differences of two answers that agree within rounding.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Difference {
    /// Entries of the RoI.
    pub entries: u64,
    /// Entries in another bin than the reference engine's.
    pub moved: u64,
    /// Difference of the mean z of the three highest bins \[mm\].
    pub z_mm: f64,
}

/// Fraction of the entries that rounding may move to another bin, and the number that it may always
/// move. An f32 extrapolation is wrong by about 1e-3 mm and a bin is 0.4 mm wide.
fn most_moved(precision: Precision, entries: u64) -> u64 {
    match precision {
        Precision::F32 => 4 + entries / 50,
        Precision::F64 => 4 + entries / 10_000,
    }
}

/// Largest difference of the mean z of the highest three bins \[mm\], in addition to the effect of
/// moved entries.
const Z_MM: f64 = 0.01;

/// Compares the sums of an RoI with the reference engine's histograms.
///
/// # Errors
/// The difference as text, if rounding does not explain it.
pub fn compare(found: &Histogram, expected: &FilledRoi, precision: Precision) -> Result<Difference, String> {
    let Some(reference) = expected.histograms.iter().next() else {
        let entries: u64 = found.n.iter().map(|&n| u64::from(n)).sum();
        return if entries == 0 {
            Ok(Difference::default())
        } else {
            Err(format!("{entries} entries instead of none"))
        };
    };
    if found.n.len() != reference.n.len() {
        return Err(format!("{} bins instead of {}", found.n.len(), reference.n.len()));
    }
    let entries: u64 = reference.n.iter().sum();
    let moved: u64 = found.n.iter().zip(reference.n).map(|(&n, &expected)| u64::from(n).abs_diff(expected)).sum();
    if moved > most_moved(precision, entries) {
        return Err(format!("{moved} differences in bins of {entries} entries"));
    }
    let sum_of = |bins: &[u64]| bins.iter().sum::<u64>();
    let Some(highest) = (0..reference.n.len().saturating_sub(2)).max_by_key(|&bin| sum_of(&reference.n[bin..bin + 3]))
    else {
        return Ok(Difference { entries, moved, z_mm: 0.0 });
    };
    let three = highest..highest + 3;
    let (weight, found_weight) =
        (sum_of(&reference.n[three.clone()]), found.n[three.clone()].iter().map(|&n| u64::from(n)).sum::<u64>());
    if weight == 0 || found_weight == 0 {
        return Ok(Difference { entries, moved, z_mm: 0.0 });
    }
    let mean = reference.z[three.clone()].iter().sum::<f64>() / weight as f64;
    let found_mean = found.z[three.clone()].iter().map(|&z| f64::from(z)).sum::<f64>() / found_weight as f64;
    let z_mm = (found_mean - mean).abs();
    let changed: u64 = three.map(|bin| u64::from(found.n[bin]).abs_diff(reference.n[bin])).sum();
    if z_mm > Z_MM + 1.5 * expected.bin_mm() * changed as f64 / weight as f64 {
        return Err(format!("the highest bins have their mean at {found_mean:.4} mm instead of {mean:.4} mm"));
    }
    Ok(Difference { entries, moved, z_mm })
}
