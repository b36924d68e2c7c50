//! Builds engines, and compares their answers.

use zfinder::gpu::{AdapterChoice, AdapterSummary};
use zfinder::{
    Config, Detector, Engine, Results, Roi, RoiBatch, RoiResult, Spacepoint, Status, Vertex, ZFinder, ZFinderBuilder,
};

use super::toy::turned;
use kernel_host::testing::{on_adapters, shared_device};

/// Returns a GPU engine on every adapter.
pub fn gpus() -> Vec<(String, Engine)> {
    on_adapters().into_iter().map(|adapter| (adapter.name.clone(), on_shared_device(&adapter))).collect()
}

/// Returns the GPU engine on the device that all tests of the process share.
pub fn on_shared_device(adapter: &AdapterSummary) -> Engine {
    Engine::Gpu(AdapterChoice::Open(shared_device(adapter)))
}

/// Returns the engines whose sums are integers.
pub fn fixed_engines() -> Vec<(String, Engine)> {
    let mut engines = gpus();
    engines.push(("CPU".into(), Engine::Cpu));
    engines
}

pub fn engines() -> Vec<(String, Engine)> {
    let mut engines = fixed_engines();
    engines.push(("reference".into(), Engine::Reference));
    engines
}

pub fn build(name: &str, engine: &Engine, config: &Config) -> ZFinder {
    build_with(name, engine, config, |builder| builder)
}

pub fn build_with(
    name: &str,
    engine: &Engine,
    config: &Config,
    options: impl FnOnce(ZFinderBuilder) -> ZFinderBuilder,
) -> ZFinder {
    let builder = ZFinder::builder(Detector::atlas2010()).config(config.clone()).engine(engine.clone());
    options(builder).build().unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub fn find(name: &str, finder: &ZFinder, batch: &RoiBatch) -> Results {
    finder.find_batch(batch).unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub fn find_one(name: &str, finder: &ZFinder, roi: &Roi) -> Results {
    finder.find(roi).unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub fn batch(rois: &[Roi]) -> RoiBatch {
    rois.iter().cloned().collect()
}

/// All fields of an answer with all digits, and its status.
pub type Bits = (String, Status);

/// Returns answers in a form that is equal where all fields of all vertices are, to the last bit:
/// -0 is not 0.
pub fn bits<'a>(results: impl IntoIterator<Item = RoiResult<'a>>) -> Vec<Bits> {
    results.into_iter().map(|result| (format!("{result:?}"), result.status())).collect()
}

/// Two engines' vertices of one peak: z to 0.01 mm, and an entry or two beside a bin's edge or a
/// cut. Where those fall alike, so does all else. By pT, one pair beside a fine bin's edge may move
/// a cluster of few pairs: z to half its error.
fn near(place: &str, found: &Vertex, wanted: &Vertex) {
    let place = || format!("{place}: {found:?}, wanted {wanted:?}");
    let apart = |a: f64, b: f64| (a - b).abs();
    let by_pt = wanted.rank != wanted.weight;
    let within = if by_pt { 0.5 * (found.z_error_mm + wanted.z_error_mm) } else { 0.0 };
    assert!(apart(found.z_mm, wanted.z_mm) <= 0.01 + within, "{}", place());
    assert!(apart(found.weight, wanted.weight) <= 2.0 && found.pairs.abs_diff(wanted.pairs) <= 2, "{}", place());
    assert!(apart(found.z_error_mm, wanted.z_error_mm) <= 0.01 + 0.1 * wanted.z_error_mm, "{}", place());
    let (background, of_wanted) = (found.background.unwrap_or(0.0), wanted.background.unwrap_or(0.0));
    assert_eq!(found.background.is_some(), wanted.background.is_some(), "{}", place());
    assert!(apart(background, of_wanted) <= 0.05 + 0.05 * of_wanted, "{}", place());
    let counts = |vertex: &Vertex| (vertex.weight, vertex.pairs, vertex.background);
    if counts(found) == counts(wanted) {
        assert_eq!(found.rank, wanted.rank, "{}", place());
        // The reference engine has its own formula.
        assert_eq!(found.significance.is_some(), wanted.significance.is_some(), "{}", place());
        let (significance, of_wanted) = (found.significance.unwrap_or(0.0), wanted.significance.unwrap_or(0.0));
        assert!(apart(significance, of_wanted) <= 1e-6, "{}", place());
        let same_entries = by_pt || apart(found.z_error_mm, wanted.z_error_mm) <= 1e-3 + 0.01 * wanted.z_error_mm;
        assert!(same_entries, "{}", place());
    }
}

/// Returns the vertices in the order of their peaks: insignificant vertices are not the last ones.
fn by_rank(result: RoiResult<'_>) -> Vec<Vertex> {
    let mut vertices: Vec<_> = result.vertices().iter().collect();
    vertices.sort_by(|a, b| b.rank.total_cmp(&a.rank));
    vertices
}

/// Asserts that `found` agrees with `reference`, whose search has one more vertex. The additional
/// vertex shows which peaks are clearly higher than the next one: rounding decides the order of
/// equal peaks. Returns the number of compared vertices.
pub fn agree<'a, R>(place: &str, found: R, reference: R, peaks: usize) -> usize
where
    R: IntoIterator<Item = RoiResult<'a>, IntoIter: ExactSizeIterator>,
{
    let (found, reference) = (found.into_iter(), reference.into_iter());
    assert_eq!(found.len(), reference.len(), "{place}");
    let mut compared = 0;
    for (found, reference) in found.zip(reference) {
        let place = format!("{place}, {:?}", found.id());
        assert_eq!(found.summary(), reference.summary(), "{place}");
        assert!(found.vertices().len() <= peaks, "{place}: {found:?}");
        let (found, reference) = (by_rank(found), by_rank(reference));
        let is_significant = |vertex: &Vertex| vertex.significance.is_none_or(|significance| significance > 0.0);
        // The searches stop at different peaks if the first significant one is beyond `peaks`.
        if reference.iter().position(is_significant).is_some_and(|first| first >= peaks) {
            continue;
        }
        let weight = |i: usize| reference.get(i).map_or(0.0, |vertex: &Vertex| vertex.weight);
        let clear = (0..peaks.min(reference.len())).take_while(|&i| weight(i) - weight(i + 1) > 4.0);
        for i in clear {
            let wanted = reference[i];
            let vertex = found.get(i).unwrap_or_else(|| panic!("{place}: vertex {i} is missing"));
            near(&format!("{place}, vertex {i}"), vertex, &wanted);
            compared += 1;
        }
    }
    compared
}

/// Returns an RoI's spacepoints rotated about the beam.
pub fn rotated(roi: &Roi, angle: f64) -> Vec<Spacepoint> {
    roi.spacepoints.iter().map(|&s| Spacepoint { phi: turned(s.phi + angle), ..s }).collect()
}

/// Asserts that vertices agree within the tolerances of engines.
pub fn close(place: &str, found: RoiResult<'_>, wanted: RoiResult<'_>) {
    assert_eq!(found.status(), wanted.status(), "{place}");
    assert_eq!(found.vertices().len(), wanted.vertices().len(), "{place}");
    for (a, b) in found.vertices().iter().zip(wanted.vertices().iter()) {
        near(place, &a, &b);
    }
}
