//! Engines side by side: how they are built, and how their answers are held against each other.

use zfinder::{
    AdapterChoice, AdapterSummary, Config, Engine, Roi, RoiBatch, RoiId, RoiResult, Spacepoint, Status, Vertex,
    ZFinder, ZFinderBuilder,
};

use super::toy::turned;
use kernel_host::testing::{on_adapters, shared_device};

/// The GPU on every adapter.
pub fn gpus() -> Vec<(String, Engine)> {
    on_adapters().into_iter().map(|adapter| (adapter.name.clone(), on_shared_device(&adapter))).collect()
}

/// The GPU engine on the device that all tests of the process share.
pub fn on_shared_device(adapter: &AdapterSummary) -> Engine {
    Engine::Gpu(AdapterChoice::Open(shared_device(adapter)))
}

/// The engines whose sums are integers.
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
    let builder = ZFinder::builder().config(config.clone()).engine(engine.clone());
    options(builder).build().unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub fn find(name: &str, finder: &ZFinder, batch: &RoiBatch) -> Vec<RoiResult> {
    finder.find_batch(batch).unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub fn find_one(name: &str, finder: &ZFinder, roi: &Roi) -> RoiResult {
    finder.find(roi).unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub fn batch(rois: &[Roi]) -> RoiBatch {
    rois.iter().cloned().collect()
}

/// An answer with the bits of z and weight of its vertices.
pub type Bits = (RoiId, Status, usize, usize, Vec<(u64, u64)>);

pub fn bits(results: &[RoiResult]) -> Vec<Bits> {
    let vertex = |vertex: &Vertex| (vertex.z_mm.to_bits(), vertex.weight.to_bits());
    let result = |r: &RoiResult| {
        (r.id, r.status, r.spacepoints, r.outside_window, r.vertices.iter().map(vertex).collect::<Vec<_>>())
    };
    results.iter().map(result).collect()
}

/// `found` answers as `reference`, whose search went one vertex further so that it is known which peaks stand clear of
/// the next: between others, rounding decides which comes first. How many vertices were compared.
pub fn agree(place: &str, found: &[RoiResult], reference: &[RoiResult], peaks: usize) -> usize {
    assert_eq!(found.len(), reference.len(), "{place}");
    let mut compared = 0;
    for (found, reference) in found.iter().zip(reference) {
        let place = format!("{place}, {:?}", found.id);
        assert_eq!(
            (found.id, found.status, found.spacepoints, found.outside_window),
            (reference.id, reference.status, reference.spacepoints, reference.outside_window),
            "{place}"
        );
        assert!(found.vertices.len() <= peaks, "{place}: {found:?}");
        let weight = |i: usize| reference.vertices.get(i).map_or(0.0, |vertex: &Vertex| vertex.weight);
        let clear = (0..peaks.min(reference.vertices.len())).take_while(|&i| weight(i) - weight(i + 1) > 4.0);
        for i in clear {
            let wanted = reference.vertices[i];
            let vertex = found.vertices.get(i).unwrap_or_else(|| panic!("{place}: vertex {i} is missing"));
            assert!(
                (vertex.z_mm - wanted.z_mm).abs() <= 0.01 && (vertex.weight - wanted.weight).abs() <= 2.0,
                "{place}, vertex {i}: {vertex:?}, reference {wanted:?}"
            );
            compared += 1;
        }
    }
    compared
}

/// Turns an RoI's spacepoints about the beam.
pub fn rotated(roi: &Roi, angle: f64) -> Vec<Spacepoint> {
    roi.spacepoints.iter().map(|&s| Spacepoint { phi: turned(s.phi + angle), ..s }).collect()
}

/// Vertices that lie within the tolerances of engines.
pub fn close(place: &str, found: &RoiResult, wanted: &RoiResult) {
    assert_eq!(found.status, wanted.status, "{place}");
    assert_eq!(found.vertices.len(), wanted.vertices.len(), "{place}");
    for (a, b) in found.vertices.iter().zip(&wanted.vertices) {
        assert!((a.z_mm - b.z_mm).abs() <= 0.01 && (a.weight - b.weight).abs() <= 2.0, "{place}: {a:?}, wanted {b:?}");
    }
}
