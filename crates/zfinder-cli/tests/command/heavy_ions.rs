//! Events of thousands of soft tracks from one vertex, as collisions of heavy ions have them: their
//! vertex, and their beam spot.

use zfinder_testing::shared;

use crate::common::{folder, stderr, succeeded, zfinder};

const GENERIC: [&str; 5] = ["find", "--engine", "cpu", "--detector", "generic"];

/// A row of the answers: event, index of the vertex, z and its error \[mm\].
struct Found {
    event: usize,
    vertex: u32,
    z_mm: f64,
    z_error_mm: f64,
}

/// Returns the answers as CSV, and the messages.
fn find(arguments: &[&str]) -> (Vec<Found>, String) {
    let output = zfinder(&[&GENERIC[..], &["--format", "csv"], arguments].concat());
    let said = stderr(&output);
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |column: usize| fields[column].parse::<f64>().expect("a number");
        Found { event: number(0) as usize, vertex: number(2) as u32, z_mm: number(3), z_error_mm: number(6) }
    };
    (succeeded(output).lines().skip(1).map(row).collect(), said)
}

fn assert_near(found: &Found, z_mm: f64) {
    let Found { z_mm: at, z_error_mm: error, .. } = *found;
    assert!((at - z_mm).abs() < 0.5 && (at - z_mm).abs() < 4.0 * error, "{at} +- {error} mm for {z_mm} mm");
}

#[test]
fn crowded_events_have_right_vertices_and_no_false_warning() {
    let dir = folder();
    let [points, truth] = ["points.parquet", "truth.csv"].map(|name| dir.path().join(name).display().to_string());
    let event = ["--detector", "generic", "--rois", "5", "--seed", "6", "--full-scan", "--pile-up", "0"];
    let tracks = ["--hard-tracks-per-eta", "600", "--hard-pt-scale-gev", "0.96", "--hard-pt-power", "6.6"];
    succeeded(zfinder(&[&["simulate", "-q", "-o", &points, "--truth", &truth], &event[..], &tracks].concat()));
    let truth = std::fs::read_to_string(truth).expect("the truth");
    let true_z = truth.lines().skip(1).map(|line| line.split(',').nth(4).and_then(|z| z.parse().ok()).expect("z"));
    let true_z: Vec<f64> = true_z.collect();
    for preset in ["high-multiplicity", "auto"] {
        let (found, said) = find(&["--preset", preset, &points]);
        let first: Vec<&Found> = found.iter().filter(|found| found.vertex == 0).collect();
        assert_eq!(first.len(), 5, "{preset}: {said}");
        first.iter().for_each(|found| assert_near(found, true_z[found.event]));
        assert!(!said.contains("warning"), "{preset}: {said}");
    }
    let (_, said) = find(&["--beam-spot", "auto", "--beam-spot-events", "1", &points]);
    assert!(said.contains("not fitted: one z does not fix a slope"), "{said}");
    let (_, said) = find(&["--beam-spot", "0.6,-0.4", &points]);
    assert!(said.contains("mm from the beam spot of the configuration; --beam-spot auto finds"), "{said}");
}

#[test]
fn reported_heavy_ions_are_right() {
    let Some(reports) = shared("data/reports") else { return };
    let path = |name: &str| reports.join(name).display().to_string();
    for (name, z_mm) in [("heavy_ion_2500.parquet", 14.88), ("heavy_ion_4000.parquet", 31.64)] {
        let (found, said) = find(&["--preset", "high-multiplicity", &path(name)]);
        assert_near(&found[0], z_mm);
        assert!(!said.contains("warning"), "{name}: {said}");
        let (found, said) = find(&["--beam-spot", "auto", &path(name)]);
        assert!((found[0].z_mm - z_mm).abs() < 0.1, "{name}: {}", found[0].z_mm);
        assert!(said.contains("one z does not fix a slope"), "{name}: {said}");
    }
    let (found, said) = find(&[&path("heavy_ion_4000_auto.parquet")]);
    assert!((found[0].z_mm + 66.38).abs() < 0.1, "{}", found[0].z_mm);
    assert!(!said.contains("warning"), "{said}");
}
