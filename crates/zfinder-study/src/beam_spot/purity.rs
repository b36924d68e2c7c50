//! The share of tracks that come from the beam.
//!
//! In a crowded event, many combinations of spacepoints are no particle. Their impact parameters
//! are flat over some mm, and their z is spread over the range of z. They therefore have few
//! neighbours in z, and they are as frequent away from the beam as at the beam.

use super::fit::{NEAR_Z, Residual};

/// Tracks at these distances from the beam \[mm\] do not come from it.
const SIDE_MM: (f64, f64) = (1.0, 3.0);
/// Tracks are compared with tracks that have as many neighbours in z, by powers of two; this number
/// of classes.
const CLASSES: usize = 8;
/// A class with a smaller share of tracks from the beam is left out.
const LEAST_PURITY: f64 = 0.5;

/// Largest distance of a track from the beam that is of use \[mm\].
pub(super) const FARTHEST_MM: f64 = SIDE_MM.1;

/// Sets the purity of tracks near the beam, and removes all other tracks. `residuals` are sorted by
/// RoI and z.
pub(super) fn set_purities(residuals: &mut Vec<Residual>) {
    let is_near = |residual: &Residual| residual.seen.d.abs() < residual.cut_mm();
    let classes: Vec<usize> = neighbours(residuals, is_near).map(class).collect();
    let (mut near, mut chance) = ([0.0; CLASSES], [0.0; CLASSES]);
    for (residual, &class) in residuals.iter().zip(&classes) {
        if is_near(residual) {
            near[class] += 1.0;
        } else if (SIDE_MM.0..SIDE_MM.1).contains(&residual.seen.d.abs()) {
            chance[class] += residual.cut_mm() / (SIDE_MM.1 - SIDE_MM.0);
        }
    }
    for (residual, &class) in residuals.iter_mut().zip(&classes) {
        residual.purity = 1.0 - chance[class] / near[class];
    }
    residuals.retain(|residual| is_near(residual) && residual.purity >= LEAST_PURITY);
}

fn class(neighbours: usize) -> usize {
    ((usize::BITS - neighbours.leading_zeros()) as usize).min(CLASSES - 1)
}

/// Returns the number of counted tracks that are close to each track in z, without itself.
fn neighbours(residuals: &[Residual], is_counted: impl Fn(&Residual) -> bool + Copy) -> impl Iterator<Item = usize> {
    let most = residuals.iter().map(|residual| residual.z_error).fold(0.0, f64::max) * NEAR_Z * 2.0_f64.sqrt();
    (0..residuals.len()).map(move |i| {
        let this = &residuals[i];
        let reached = |other: &&Residual| other.roi == this.roi && (other.seen.z - this.seen.z).abs() <= most;
        let (before, after) = (residuals[..i].iter().rev(), residuals[i + 1..].iter());
        let around = before.take_while(reached).chain(after.take_while(reached));
        around.filter(|other| is_counted(other) && this.apart(other) < NEAR_Z).count()
    })
}
