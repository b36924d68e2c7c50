//! Tests of `--objects` and `--joint`: parts of events that are searched as one RoI.

use crate::common::{failed, folder, succeeded, written, zfinder};
use tempfile::TempDir;

/// Writes an event with two vertices: two tracks from z = 12.5 mm, and four from z = -40 mm.
fn event(dir: &TempDir) -> String {
    let mut text = String::from("event_id,rho,phi,z,layer\n");
    let tracks = [
        (0.1, 0.5, 12.5),
        (2.5, -0.25, 12.5),
        (0.7, 0.5, -40.0),
        (1.1, 0.1, -40.0),
        (1.5, 0.2, -40.0),
        (4.0, 0.3, -40.0),
    ];
    for (phi, slope, z0) in tracks {
        for (layer, rho) in [(0, 50.5), (1, 88.5), (2, 122.5)] {
            text.push_str(&format!("3,{rho},{phi},{},{layer}\n", z0 + slope * rho));
        }
    }
    written(dir, "event.csv", &text)
}

/// Returns z of the first vertex of each RoI, and the RoI's number.
fn first_z(arguments: &[&str]) -> Vec<(String, f64)> {
    let command = ["find", "--engine", "cpu", "-q", "--preset", "default", "--format", "csv"];
    let csv = succeeded(zfinder(&[&command, arguments].concat()));
    let rows = csv.lines().skip(1).map(|row| row.split(',').collect::<Vec<_>>());
    rows.map(|row| (row[1].to_owned(), row[3].parse().expect("a vertex"))).collect()
}

#[test]
fn objects_and_joint_rois_choose_the_vertex() {
    let dir = folder();
    let event = event(&dir);
    let [(_, z)] = &first_z(&[&event])[..] else { panic!("one RoI") };
    assert!((z + 40.0).abs() < 0.1, "{z}");
    // eta of the position at rho = 1500 mm: asinh of z / rho.
    let eta = |slope: f64| (slope + 12.5 / 1500.0).asinh();
    let rows = format!("event_id,eta,phi,et\n3,{},0.1,30\n3,{},2.5,30\n", eta(0.5), eta(-0.25));
    let objects = written(&dir, "objects.csv", &rows);
    let [(_, z)] = &first_z(&["--objects", &objects, &event])[..] else { panic!("one RoI") };
    assert!((z - 12.5).abs() < 0.1, "{z}");
    let rois = written(&dir, "rois.csv", "event_id,roi_id,phi_min,phi_max\n3,7,0,0.2\n3,1,2.4,2.6\n");
    let [(number, z)] = &first_z(&["--rois", &rois, "--joint", &event])[..] else { panic!("one RoI") };
    assert!(number == "7" && (z - 12.5).abs() < 0.1, "RoI {number}: {z}");
}

#[test]
fn wrong_use_of_objects_says_what_is_right() {
    let dir = folder();
    let event = event(&dir);
    let objects = written(&dir, "objects.csv", "event_id,eta,phi,et,kind\n3,0,0,30,tau\n");
    let words = ["row 2, column kind", "tau is not one of electron, photon, muon, jet"];
    failed(&zfinder(&["find", &event, "--objects", &objects]), 1, &words);
    failed(&zfinder(&["find", &event, "--joint"]), 2, &["--rois <FILE>"]);
    failed(&zfinder(&["find", &event, "--objects", &objects, "--beam-spot", "auto"]), 2, &["whole events"]);
    failed(&zfinder(&["find", &event, "--objects", &objects, "--calorimeter", "3"]), 2, &["1500,3700"]);
    let with_rois = written(&dir, "rois.csv", "event_id,roi_id,x,y,z,layer\n3,0,50,1,1,0\n");
    let objects = written(&dir, "good.csv", "event_id,eta,phi,et\n3,0,0,30\n");
    failed(&zfinder(&["find", &with_rois, "--objects", &objects]), 1, &["column roi_id", "whole events"]);
}
