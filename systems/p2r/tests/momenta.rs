//! Fits of helices through cylinders against the truth, from 0.4 to 20 GeV and 0.5 to 3.8 T.

use std::f64::consts::{PI, TAU};

use p2r::{
    Batch, Engine, FIELD, Fitter, Formulas, Hit, Layout, Mode, PERIGEE, PERIGEE_NAMES, PULL_NAMES, Perigee, Quality,
    Track,
};

/// Errors of hits \[cm\] across and along the beam.
const ACROSS: f64 = 0.005;
const ALONG: f64 = 0.05;
/// Errors of the start: across, z, part of 1/pt, phi and theta.
const START: [f64; 5] = [0.05, 0.2, 0.05, 0.005, 0.005];
const TRACKS: usize = 1000;
const CYLINDERS: usize = 10;

/// Helices of a range of pt \[GeV\] in a field \[T\].
#[derive(Clone, Copy, Debug)]
struct Helices {
    field: f64,
    pt: [f64; 2],
    /// The outermost cylinder \[cm\].
    outermost: f64,
    /// Whether the fit goes from the innermost cylinder outwards.
    is_outward: bool,
}

fn normal(rng: &mut fastrand::Rng) -> f64 {
    (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (TAU * rng.f64()).cos()
}

/// Returns xx, yx and yy of an error across the direction from the beam.
fn rotated([x, y]: [f64; 2], across: f64) -> [f64; 3] {
    let (sin, cos) = (y / x.hypot(y), x / x.hypot(y));
    let (a, b) = (across * across, 1e-4 * across * across);
    [sin * sin * a + cos * cos * b, sin * cos * (b - a), cos * cos * a + sin * sin * b]
}

impl Helices {
    /// Returns a helix from the beam line.
    fn random(&self, rng: &mut fastrand::Rng) -> Helix {
        let charge = if rng.bool() { 1.0 } else { -1.0 };
        let [low, high] = self.pt;
        let (pt, phi) = (low + (high - low) * rng.f64(), TAU * rng.f64() - PI);
        let theta = PI / 2.0 + (2.0 * rng.f64() - 1.0).sinh().atan();
        let circle = pt / (0.002_997_924_58 * self.field);
        let state = |radius: f64| {
            let turned = 2.0 * (radius / (2.0 * circle)).asin();
            let place = phi - charge * turned / 2.0;
            let z = circle * turned / theta.tan();
            [radius * place.cos(), radius * place.sin(), z, 1.0 / pt, phi - charge * turned, theta]
        };
        let step = (self.outermost - 3.2) / (CYLINDERS - 1) as f64;
        let mut radii: Vec<f64> = (0..CYLINDERS).map(|layer| self.outermost - step * layer as f64).collect();
        if self.is_outward {
            radii.reverse();
        }
        let mut par = state(radii[0]);
        let mut cov = [0.0; 21];
        [cov[0], cov[1], cov[2]] = rotated([par[0], par[1]], START[0]);
        // Along the circle of this radius.
        let off = START[0] * normal(rng) / radii[0];
        let (sin, cos) = off.sin_cos();
        (par[0], par[1]) = (cos * par[0] - sin * par[1], cos * par[1] + sin * par[0]);
        for (n, sigma) in (2..).zip([START[1], START[2] * par[3], START[3], START[4]]) {
            cov[n * (n + 3) / 2] = sigma * sigma;
            par[n] += sigma * normal(rng);
        }
        let hit = |&radius: &f64| {
            let [x, y, z, ..] = state(radius);
            let off = ACROSS * normal(rng) / radius;
            let [xx, yx, yy] = rotated([x, y], ACROSS);
            Hit { pos: [x - off * y, y + off * x, z + ALONG * normal(rng)], cov: [xx, yx, yy, 0.0, 0.0, ALONG * ALONG] }
        };
        let hits = radii.iter().map(hit).collect();
        Helix {
            start: Track { par, cov, charge: charge * FIELD / self.field },
            hits,
            end: state(radii[CYLINDERS - 1]),
            perigee: [0.0, 0.0, phi, theta, charge * theta.sin() / pt],
        }
    }

    /// Fits helices, and returns their quality, and the pulls of their perigees.
    fn fit(&self, formulas: Formulas) -> (Quality, Vec<[f64; PERIGEE]>) {
        let mut rng = fastrand::Rng::with_seed(7);
        let layout = Layout { events: 1, tracks: TRACKS, layers: CYLINDERS, bsize: 32 };
        let mut batch = Batch::<f32>::new(layout).expect("a batch");
        let helices: Vec<Helix> = (0..TRACKS).map(|_| self.random(&mut rng)).collect();
        for (i, helix) in helices.iter().enumerate() {
            batch.set_track(0, i, &helix.start);
            helix.hits.iter().enumerate().for_each(|(layer, hit)| batch.set_hit(0, i, layer, hit));
        }
        let fitter = Fitter::builder().engine(Engine::Cpu).chi2(true).formulas(formulas).build::<f32>();
        let fitted = fitter.expect("the CPU").fit(&batch).expect("fitted");
        let ends: Vec<[f64; 6]> = helices.iter().map(|helix| helix.end).collect();
        let charges: Vec<f64> = helices.iter().map(|helix| helix.perigee[4].signum()).collect();
        let perigees = Perigee::all(&batch, &fitted, &charges);
        let pulls = perigees.iter().zip(&helices).map(|(found, helix)| {
            let errors = found.errors();
            std::array::from_fn(|n| {
                let off = found.par[n] - helix.perigee[n];
                (if n == 2 { (off + PI).rem_euclid(TAU) - PI } else { off }) / errors[n]
            })
        });
        (Quality::of(&fitted, Mode::Sequential, TRACKS, Some(&ends)), pulls.collect())
    }
}

/// A helix from the beam line.
struct Helix {
    /// Its smeared state at the first hit.
    start: Track,
    hits: Vec<Hit>,
    /// Its true state at the last hit, and its true parameters at the beam line.
    end: [f64; 6],
    perigee: [f64; PERIGEE],
}

/// The outermost cylinder is at 102 cm, or where the helix crosses it at 53 degrees to the radius.
fn outermost(field: f64, pt: f64) -> f64 {
    (0.8 * 2.0 * pt / (0.002_997_924_58 * field)).min(102.0)
}

#[test]
fn pulls_and_chi2_are_right_at_every_momentum() {
    for field in [0.5, 2.0, 3.8] {
        for pt in [[0.4, 0.5], [0.6, 0.8], [1.0, 1.2], [3.0, 20.0]] {
            for is_outward in [false, true] {
                let helices = Helices { field, pt, outermost: outermost(field, pt[0]), is_outward };
                let (quality, perigees) = helices.fit(Formulas::Exact);
                assert!(quality.tracks * 1000 >= 999 * TRACKS as u64, "{helices:?}: {quality:?}");
                let chi2 = quality.chi2_per_ndf.expect("chi2");
                assert!((chi2 - 1.0).abs() < 0.05, "{helices:?}: {quality:?}");
                for (name, pull) in PULL_NAMES.iter().zip(&quality.pulls) {
                    let is_right = pull.mean.abs() < 0.1 && (pull.spread - 1.0).abs() < 0.1;
                    assert!(is_right, "{helices:?}, {name}: {quality:?}");
                }
                for (n, name) in PERIGEE_NAMES.iter().enumerate() {
                    let sum = |of: &dyn Fn(f64) -> f64| perigees.iter().map(|pulls| of(pulls[n])).sum::<f64>();
                    let mean = sum(&|pull| pull) / TRACKS as f64;
                    let width = (sum(&|pull| pull * pull) / TRACKS as f64 - mean * mean).sqrt();
                    let is_right = mean.abs() < 0.1 && (width - 1.0).abs() < 0.1;
                    assert!(is_right, "{helices:?}, {name}: {mean}, {width}");
                }
            }
        }
    }
}

/// The published Jacobian gives slow tracks a wrong chi2.
#[test]
fn the_published_formulas_fail_at_low_momentum() {
    let helices = Helices { field: 2.0, pt: [0.6, 0.8], outermost: 102.0, is_outward: false };
    let chi2 = helices.fit(Formulas::P2r).0.chi2_per_ndf.expect("chi2");
    assert!(chi2 > 1.3, "{chi2}");
}
