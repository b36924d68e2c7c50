//! Generates the RoIs of `zfinder verify`, the same on every machine. They are computed by
//! additions, products and quotients alone, which IEEE 754 defines exactly, without functions of a
//! mathematical library.

use zfinder::detector::LayerKind;
use zfinder::{Detector, PhiWindow, RoiBatch, RoiDescriptor, RoiId, Spacepoint};

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// Returns a number from `low` up to `high`.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.next() >> 11) as f64 / (1_u64 << 53) as f64)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// RoIs, each a fifth of a radian wide, of a batch that takes the four stages, and of one that one
/// kernel searches (`choose_method`).
const LOW: u64 = 300;
const WALKED: u64 = 24;
/// Full circles, and collisions in each.
const HIGH: u64 = 2;
const COLLISIONS: u64 = 12;

/// Returns the batches of a seed, one for every path of the engines: many RoIs with few
/// spacepoints, few such RoIs, full circles, and a single full circle.
pub(super) fn batches(seed: u64, detector: &Detector) -> Vec<RoiBatch> {
    let words = &mut SplitMix(seed);
    let window = |words: &mut SplitMix| {
        let low = words.between(-3.2, 3.2);
        PhiWindow::new(low, low + 0.2).ok()
    };
    let mut low = RoiBatch::new();
    for roi in 0..LOW {
        let id = RoiId { event_id: 0, roi_id: roi };
        let descriptor = RoiDescriptor { id, window: window(words), eta: words.between(-2.4, 2.4), z_range: None };
        let points = match roi % 50 {
            // An RoI without spacepoints, and an invalid one.
            7 => Vec::new(),
            8 => vec![Spacepoint { rho: f64::NAN, phi: 0.0, z: 0.0, layer: 0 }],
            _ => points(words, detector, descriptor.window, 1 + roi % 3),
        };
        low.push(descriptor, points);
    }
    let mut walked = RoiBatch::new();
    for roi in 0..WALKED {
        let descriptor =
            RoiDescriptor { id: RoiId { event_id: 1, roi_id: roi }, window: window(words), ..Default::default() };
        walked.push(descriptor, points(words, detector, descriptor.window, 1));
    }
    let mut high = RoiBatch::new();
    let mut alone = RoiBatch::new();
    for roi in 0..=HIGH {
        let id = RoiId { event_id: 2, roi_id: roi };
        let descriptor = RoiDescriptor { id, window: Some(PhiWindow::FullScan), ..Default::default() };
        let batch = if roi == HIGH { &mut alone } else { &mut high };
        batch.push(descriptor, points(words, detector, None, COLLISIONS));
    }
    vec![low, walked, high, alone]
}

/// Returns tracks of some collisions, bent a little, and noise.
fn points(words: &mut SplitMix, detector: &Detector, window: Option<PhiWindow>, collisions: u64) -> Vec<Spacepoint> {
    let (low, width) = match window {
        Some(PhiWindow::Range { phi_min, phi_max }) => (phi_min, phi_max - phi_min),
        _ => (-3.125, 6.25),
    };
    let tracks = if window.is_some() { 6 } else { 24 };
    let mut points = Vec::new();
    for _ in 0..collisions {
        let z0 = words.between(-150.0, 150.0);
        for _ in 0..tracks {
            let phi = low + words.between(0.0, 1.0) * width;
            // dz / drho, and radians per mm: down to about 1 GeV.
            let (slope, bend) = (words.between(-2.5, 2.5), words.between(-3e-4, 3e-4));
            for layer in 0..detector.layers().len() as u32 {
                if words.below(20) != 0 {
                    points.extend(crossing(words, detector, layer, [z0, slope], [phi, bend]));
                }
            }
        }
    }
    for _ in 0..points.len() / 4 {
        let layer = words.below(detector.layers().len() as u64) as u32;
        let (line, arc) =
            ([words.between(-900.0, 900.0), words.between(-2.5, 2.5)], [low + words.between(0.0, width), 0.0]);
        points.extend(crossing(words, detector, layer, line, arc));
    }
    points
}

/// Returns the crossing of a track with a layer, measured to some tens of micrometres.
fn crossing(
    words: &mut SplitMix,
    detector: &Detector,
    layer: u32,
    [z0, slope]: [f64; 2],
    [phi0, bend]: [f64; 2],
) -> Option<Spacepoint> {
    let rho = match detector.layers()[layer as usize].kind {
        LayerKind::Barrel { radius_mm } => radius_mm + words.between(-1.0, 1.0),
        LayerKind::Endcap { z_mm, r_max_mm } => {
            let towards = if slope < 0.0 { -z_mm } else { z_mm };
            Some((towards - z0) / slope).filter(|rho| (30.0..r_max_mm).contains(rho))?
        }
    };
    let z = z0 + slope * rho + words.between(-0.05, 0.05);
    let is_inside = detector.layers()[layer as usize].is_endcap() || z.abs() < detector.barrel_end(rho);
    let phi = phi0 + bend * rho + words.between(-5e-5, 5e-5);
    let turn = std::f64::consts::TAU;
    let phi = if phi > turn / 2.0 { phi - turn } else { phi };
    is_inside.then_some(Spacepoint { rho, phi: if phi < -turn / 2.0 { phi + turn } else { phi }, z, layer })
}
