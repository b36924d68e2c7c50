//! Encodings hold what they must, and encode blocks as they do one by one.

use super::*;
use crate::config::{Config, MaxLayer, PairWeight, Preset};
use crate::detector::Detector;
use crate::engine::plan::{PackSummary, RoiPlan};
use crate::roi_batch::RoiBatch;
use crate::spacepoint::{PhiWindow, Roi, RoiDescriptor, RoiView, Spacepoint};

fn search(pair_weight: PairWeight) -> Search {
    search_of_layers(pair_weight, MaxLayer::All)
}

fn search_of_layers(pair_weight: PairWeight, max_layer: MaxLayer) -> Search {
    let config = Config { pair_weight, max_layer, ..Config::preset(Preset::Thesis) };
    Search::new(&config, &Detector::atlas2010()).expect("a valid configuration")
}

/// The steps that the documentation of `Encoding` names.
#[test]
fn bits_suit_the_detector() {
    let pairs = Compact::new(&search(PairWeight::One)).expect("room");
    assert_eq!((pairs.z_bits + pairs.rho_bits, pairs.phi_bits, pairs.slice_bits, pairs.layer_bits), (47, 0, 11, 5));
    assert_eq!(pairs.step_mm, 1.0 / 4096.0);
    let triplets = Compact::new(&search(PairWeight::Any)).expect("room");
    assert!(triplets.step_mm <= 0.001 && triplets.phi_bits == 5, "{triplets:?}");
    // Slices of a thousandth of a degree and triplets: rho and z would be left with too little.
    let fine = Config { phi_slice_deg: 1e-6, pair_weight: PairWeight::Any, ..Config::preset(Preset::Default) };
    assert_eq!(Compact::new(&Search::new(&fine, &Detector::atlas2010()).expect("valid")), None);
}

/// Decoded spacepoints equal the input within half a step; the slice is exact.
#[test]
fn spacepoints_come_back() {
    let rng = &mut fastrand::Rng::with_seed(8);
    for triplets in [PairWeight::One, PairWeight::Any] {
        let search = search(triplets);
        let compact = Compact::new(&search).expect("room");
        let half = compact.step_mm * 0.5001;
        for _ in 0..10_000 {
            let (rho, z) = (1.0 + 600.0 * rng.f64(), 6000.0 * (rng.f64() - 0.5));
            let (phi, layer) = (6.2 * rng.f64(), rng.u32(0..19));
            let slice = (phi * search.config.slices_per_rad()) as u32;
            let word = Encode::<f64>::encode(&compact, rho, phi, z, slice, layer).expect("within its bounds");
            let ([decoded_rho, decoded_phi, decoded_z], slice_layer) = decoded(&compact, word);
            assert_eq!(slice_layer, slice << 8 | layer);
            assert!((decoded_rho - rho).abs() <= half, "{decoded_rho}: {rho}");
            assert!((decoded_z - z).abs() <= half, "{decoded_z}: {z}");
            assert!((decoded_phi - phi).abs() <= 0.51 * compact.phi_step, "{decoded_phi}: {phi}");
        }
        assert_eq!(decoded(&compact, Encode::<f64>::dropped(&compact)).1, DROPPED);
        for (rho, z) in [(1e4, 0.0), (50.0, 5000.0), (50.0, -5000.0), (1e-5, 0.0)] {
            assert_eq!(Encode::<f64>::encode(&compact, rho, 0.1, z, 0, 0), None, "{rho}, {z}");
        }
    }
}

/// Blocks and single spacepoints are encoded to the same bits, at every edge too.
#[test]
fn blocks_are_encoded_as_one_by_one() {
    let rng = &mut fastrand::Rng::with_seed(9);
    for (low, high, triplets, layers) in [
        (-0.4, 0.5, PairWeight::One, MaxLayer::All),
        (3.0, -3.0, PairWeight::Any, MaxLayer::All),
        (-PI, PI, PairWeight::Any, MaxLayer::Number(12)),
        (1.0, 1.3, PairWeight::One, MaxLayer::All),
    ] {
        let search = search_of_layers(triplets, layers);
        let compact = Compact::new(&search).expect("room");
        let slice = 0.2f64.to_radians();
        let points = (0..64 * 40).map(|i| {
            let edge = low + slice * f64::from(rng.u32(0..300));
            let phi = match i % 5 {
                0 => edge,
                1 => edge.next_up(),
                2 => edge.next_down(),
                _ => 7.0 * (rng.f64() - 0.5),
            };
            let phi = if i < 64 * 30 && phi.abs() > PI { 0.1 } else { phi };
            let step = compact.step_mm * 0.5;
            let z = if i % 3 == 0 { step * f64::from(rng.i32(-9999..9999)) } else { 5000.0 * (rng.f64() - 0.5) };
            Spacepoint { rho: 30.0 + 500.0 * rng.f64(), phi, z, layer: rng.u32(0..19) }
        });
        let points: Vec<Spacepoint> = points.collect();
        let window = Some(PhiWindow::new(low, high).expect("a window"));
        // Whole blocks, parts of one, and less than one; as columns and as records.
        for count in [64 * 40, 64 * 40 - 27, 65, 64, 63, 1, 0] {
            let descriptor = RoiDescriptor { window, ..RoiDescriptor::default() };
            let roi = Roi { descriptor, spacepoints: points[64 * 40 - count..].to_vec() };
            let batch = RoiBatch::from_iter([roi.clone()]);
            let plan = search.plan(batch.roi(0)).expect("a plan");
            for view in [batch.roi(0), RoiView::from(&roi)] {
                let what = format!("{count} in window [{low}, {high}]");
                let packed = check_blocks::<f32, _>(&what, &search, &plan, view, compact);
                assert!(count < 1000 || packed.kept > 100, "{packed:?}");
                assert_eq!(packed.kept + packed.outside, count);
                assert_eq!(check_blocks::<f32, _>(&what, &search, &plan, view, Lossless), packed);
                assert_eq!(check_blocks::<f64, _>(&what, &search, &plan, view, Lossless), packed);
            }
        }
    }
}

/// The window is that of the spacepoints whose layers take part, in blocks and one by one.
#[test]
fn layers_that_take_no_part_do_not_widen_the_window() {
    let rng = &mut fastrand::Rng::with_seed(4);
    let search = search_of_layers(PairWeight::One, MaxLayer::Number(7));
    for count in [64 * 4, 64 * 4 - 27, 63] {
        let mut point = |layer: u32, width: f64| Spacepoint { rho: 50.0, phi: width * rng.f64(), z: 1.0, layer };
        let inside: Vec<Spacepoint> = (0..count).map(|i| point(i % 8, 0.3)).collect();
        let mixed = inside.iter().flat_map(|&s| [s, point(8 + s.layer % 4, 3.0)]).collect();
        let [alone, mixed] = [inside, mixed].map(|spacepoints| {
            let window = Some(PhiWindow::FromSpacepoints);
            let roi = Roi { descriptor: RoiDescriptor { window, ..RoiDescriptor::default() }, spacepoints };
            search.plan(RoiBatch::from_iter([roi]).roi(0)).expect("a plan")
        });
        assert_eq!(alone.window(), mixed.window());
    }
}

/// An encoding that knows no blocks.
struct WithoutBlocks<E>(E);

impl<R: Real, E: Encode<R>> Encode<R> for WithoutBlocks<E> {
    type Word = E::Word;
    fn dropped(&self) -> E::Word {
        self.0.dropped()
    }
    fn encode(&self, rho: f64, phi: f64, z: f64, slice: u32, layer: u32) -> Option<E::Word> {
        self.0.encode(rho, phi, z, slice, layer)
    }
    fn decode(&self, words: &[E::Word], to: &mut Vec<R::Spacepoint>) {
        self.0.decode(words, to);
    }
}

/// Packs an RoI in blocks and one by one, and tells what was packed.
fn check_blocks<R: Real, E: Encode<R> + Copy>(
    what: &str,
    search: &Search,
    plan: &RoiPlan,
    view: RoiView<'_>,
    encoding: E,
) -> PackSummary {
    let (mut single, mut blocks) = (Vec::new(), Vec::new());
    let wanted = search.pack::<R, _>(&WithoutBlocks(encoding), plan, view, |words| single.extend_from_slice(words));
    let packed = search.pack::<R, _>(&encoding, plan, view, |words| blocks.extend_from_slice(words));
    assert_eq!(packed, wanted, "{what}");
    assert!(blocks == single, "{what}");
    packed
}

/// rho, phi, z and `slice_layer` of a spacepoint that was encoded.
fn decoded(compact: &Compact, word: [u32; 2]) -> ([f64; 3], u32) {
    let mut out = Vec::new();
    Encode::<f64>::decode(compact, &[word], &mut out);
    f64::fields(&out[0])
}
