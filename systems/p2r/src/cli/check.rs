//! Checks answers against the reference engine.

use command_host::Failure;
use p2r::{Batch, Engine, Fitted, Fitter};

/// The number of tracks that are compared.
const CHECKED: usize = 64;

/// Compares the first tracks of a batch and the last one with the reference engine.
pub(super) fn check(fitter: &Fitter<f32>, batch: &Batch<f32>) -> Result<(), Failure> {
    let layout = batch.layout();
    let reference =
        Fitter::builder().engine(Engine::Reference).mode(fitter.mode()).formulas(fitter.formulas()).build::<f64>()?;
    let mut few = Batch::<f64>::new(p2r::Layout { events: 1, tracks: layout.tracks.min(CHECKED), ..layout })?;
    let at = |i: usize| if i == 0 { (layout.events - 1, layout.tracks - 1) } else { (0, i) };
    for i in 0..few.layout().tracks {
        let (event, track) = at(i);
        few.set_track(0, i, &batch.track(event, track));
        (0..layout.layers).for_each(|layer| few.set_hit(0, i, layer, &batch.hit(event, track, layer)));
    }
    let wanted = reference.fit(&few)?;
    let found = fitter.fit(batch)?;
    let alike = (0..few.layout().tracks).filter(|&i| alike(&found, at(i), &wanted, i)).count();
    if alike * 10 < few.layout().tracks * 9 {
        let tracks = few.layout().tracks;
        let what = format!("{}: {alike} of {tracks} tracks are the reference engine's", fitter.description());
        return Err(Failure::wrong_answer(what));
    }
    Ok(())
}

/// Returns whether parameters agree within a fifth of their errors and statuses are equal. In f32
/// that holds for nine tracks in ten: smeared covariances of the mini-app's hits are not always
/// positive, and a step near the bound of small steps may fall on either side of it.
fn alike(found: &Fitted<f32>, (event, track): (usize, usize), wanted: &Fitted<f64>, i: usize) -> bool {
    let (a, b) = (found.state(event, track), wanted.state(0, i));
    let variances = [6, 8, 11, 15, 20, 26];
    (0..6).all(|n| (a[n] - b[n]).abs() <= 0.2 * b[variances[n]].abs().sqrt().max(1e-5 * b[n].abs()))
        && found.status(event, track) == wanted.status(0, i)
}
