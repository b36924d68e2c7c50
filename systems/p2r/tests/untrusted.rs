//! Warnings of tracks whose chi2 and errors are not right, and the column of the event number.

#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use std::f64::consts::{PI, TAU};
use std::path::Path;
use std::process::{Command, Output};

use p2r::{Batch, Engine, FIELD, Fitter, Hit, Layout, Mode, Quality, Track, Untrusted};

/// The field \[T\], and the errors of hits \[cm\] across and along the beam.
const TESLA: f64 = 2.0;
const ACROSS: f64 = 0.005;
const ALONG: f64 = 0.05;
/// Errors of the start: across, z, part of 1/pt, phi and theta.
const START: [f64; 5] = [0.05, 0.2, 0.05, 0.005, 0.005];

fn normal(rng: &mut fastrand::Rng) -> f64 {
    (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (TAU * rng.f64()).cos()
}

/// Returns xx, yx and yy of an error across the direction from the beam.
fn rotated([x, y]: [f64; 2], across: f64) -> [f64; 3] {
    let (sin, cos) = (y / x.hypot(y), x / x.hypot(y));
    let (a, b) = (across * across, 1e-4 * across * across);
    [sin * sin * a + cos * cos * b, sin * cos * (b - a), cos * cos * a + sin * sin * b]
}

/// A helix from the beam line through ten cylinders of 3.2 to 102 cm, from the outside in: its
/// smeared start with so many times the errors, its hits, and its true state at the end.
fn helix(rng: &mut fastrand::Rng, [low, high]: [f64; 2], errors: f64) -> (Track, Vec<Hit>, [f64; 6]) {
    let charge = if rng.bool() { 1.0 } else { -1.0 };
    let (pt, phi) = (low + (high - low) * rng.f64(), TAU * rng.f64() - PI);
    let theta = PI / 2.0 + (2.0 * rng.f64() - 1.0).sinh().atan();
    let circle = pt / (0.002_997_924_58 * TESLA);
    let state = |radius: f64| {
        let turned = 2.0 * (radius / (2.0 * circle)).asin();
        let place = phi - charge * turned / 2.0;
        let z = circle * turned / theta.tan();
        [radius * place.cos(), radius * place.sin(), z, 1.0 / pt, phi - charge * turned, theta]
    };
    let radii = (0..10).map(|layer| 102.0 - 98.8 * f64::from(layer) / 9.0);
    let mut par = state(102.0);
    let mut cov = [0.0; 21];
    let sigma = START.map(|sigma| errors * sigma);
    [cov[0], cov[1], cov[2]] = rotated([par[0], par[1]], sigma[0]);
    let off = sigma[0] * normal(rng) / 102.0;
    (par[0], par[1]) = (par[0] - off * par[1], par[1] + off * par[0]);
    for (n, sigma) in (2..).zip([sigma[1], sigma[2] * par[3], sigma[3], sigma[4]]) {
        cov[n * (n + 3) / 2] = sigma * sigma;
        par[n] += sigma * normal(rng);
    }
    let hits = radii.map(|radius| {
        let [x, y, z, ..] = state(radius);
        let off = ACROSS * normal(rng) / radius;
        let [xx, yx, yy] = rotated([x, y], ACROSS);
        Hit { pos: [x - off * y, y + off * x, z + ALONG * normal(rng)], cov: [xx, yx, yy, 0.0, 0.0, ALONG * ALONG] }
    });
    (Track { par, cov, charge: charge * FIELD / TESLA }, hits.collect(), state(3.2))
}

type Sample = Vec<(Track, Vec<Hit>, [f64; 6])>;

fn sample(pt: [f64; 2], errors: f64) -> Sample {
    let mut rng = fastrand::Rng::with_seed(7);
    (0..300).map(|_| helix(&mut rng, pt, errors)).collect()
}

/// Fits tracks, and returns chi2/ndf and the untrusted tracks.
fn fit(sample: &Sample) -> (f64, Untrusted) {
    let layout = Layout { events: 1, tracks: sample.len(), layers: 10, bsize: 32 };
    let mut batch = Batch::<f32>::new(layout).unwrap();
    for (i, (track, hits, _)) in sample.iter().enumerate() {
        batch.set_track(0, i, track);
        hits.iter().enumerate().for_each(|(layer, hit)| batch.set_hit(0, i, layer, hit));
    }
    let fitted = Fitter::builder().engine(Engine::Cpu).chi2(true).build::<f32>().unwrap().fit(&batch).unwrap();
    let truth: Vec<_> = sample.iter().map(|(.., truth)| *truth).collect();
    let quality = Quality::of(&fitted, Mode::Sequential, sample.len(), Some(&truth));
    (quality.chi2_per_ndf.unwrap(), Untrusted::of(&batch, &fitted, Mode::Sequential, sample.len()))
}

/// Tracks with a wrong chi2 are counted, and all tracks above the named momentum have a right one.
#[test]
fn bent_tracks_with_wide_starts_are_not_trusted() {
    for errors in [1.0, 3.0] {
        let (chi2, untrusted) = fit(&sample([0.6, 0.8], errors));
        assert!(chi2 > 1.3 && untrusted.tracks * 10 > untrusted.of * 9, "{errors}: {chi2}, {untrusted:?}");
        let above = untrusted.trusted_above_gev;
        assert!((0.8..1.6).contains(&above), "{errors}: {above}");
        let (chi2, untrusted) = fit(&sample([above, 1.2 * above], errors));
        assert!((chi2 - 1.0).abs() < 0.2 && untrusted.tracks * 10 < untrusted.of, "{errors}: {chi2}, {untrusted:?}");
    }
    // A start as good as the hits.
    let (chi2, untrusted) = fit(&sample([0.6, 0.8], 0.1));
    assert!((chi2 - 1.0).abs() < 0.1 && untrusted.tracks == 0, "{chi2}, {untrusted:?}");
    assert_eq!(untrusted.warning(), None);
}

fn write(file: &Path, event: &str, sample: &Sample) {
    let mut out = array_file::ArrayWriter::new(std::fs::File::create(file).unwrap());
    let tracks = sample.len() as u64;
    let hits = || sample.iter().flat_map(|(_, hits, _)| hits);
    out.array("par", &[tracks, 6], sample.iter().flat_map(|(track, ..)| track.par)).unwrap();
    out.array("cov", &[tracks, 21], sample.iter().flat_map(|(track, ..)| track.cov)).unwrap();
    out.column("charge", sample.iter().map(|(track, ..)| track.charge.signum())).unwrap();
    out.array("hit_pos", &[10 * tracks, 3], hits().flat_map(|hit| hit.pos)).unwrap();
    out.array("hit_cov", &[10 * tracks, 6], hits().flat_map(|hit| hit.cov)).unwrap();
    out.column("hit_offsets", (0..=tracks as i64).map(|i| 10 * i)).unwrap();
    out.column(event, (0..tracks as i64).map(|i| 7 + i)).unwrap();
    out.finish().unwrap();
}

fn run(file: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_p2r"));
    command.args(["run", "-q", "--engine", "cpu", "--field", "2"]).arg(file).args(more).output().unwrap()
}

#[test]
fn the_command_warns_of_untrusted_tracks() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tracks.npz");
    for (pt, is_warned) in [([0.6, 0.8], true), ([3.0, 5.0], false)] {
        write(&file, "event_id", &sample(pt, 3.0));
        let done = run(&file, &["--json"]);
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{said}");
        let report: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        let untrusted = &report["untrusted"];
        assert_eq!((said.is_empty(), untrusted["tracks"] == 0), (!is_warned, !is_warned), "{said} {untrusted}");
        if is_warned {
            assert!(said.starts_with("warning: 300 of 300 tracks bend too much"), "{said}");
            assert!(said.contains("trusted above 1."), "{said}");
        }
    }
}

#[test]
fn arrays_of_event_numbers_are_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (file, table) = (folder.path().join("tracks.npz"), folder.path().join("fitted.csv"));
    let sample = sample([3.0, 5.0], 1.0)[..2].to_vec();
    for name in ["event_id", "eventNumber", "event", "entry"] {
        write(&file, name, &sample);
        let done = run(&file, &["-o", table.to_str().unwrap()]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let text = std::fs::read_to_string(&table).unwrap();
        let events: Vec<&str> = text.lines().filter_map(|line| line.split(',').next()).collect();
        assert_eq!(events, ["event_id", "7", "8"], "{name}");
    }
    write(&file, "evnt_id", &sample);
    let done = run(&file, &[]);
    let said = String::from_utf8_lossy(&done.stderr).replace("\n  \u{2502} ", " ");
    assert!(done.status.code() == Some(1) && said.contains("column `evnt_id` looks like `event_id`"), "{said}");
}
