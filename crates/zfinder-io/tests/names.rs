//! Columns that look like a column that is read, and headers that are too wide.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use zfinder::{Detector, RoiId};
use zfinder_io::{ObjectTable, RoiTable, SpacepointReader, TruthTable};

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn file(folder: &TempDir, text: &str) -> PathBuf {
    let path = folder.path().join("file.csv");
    fs::write(&path, text).expect("written");
    path
}

/// Returns the message if the file is refused, else the number of its RoIs.
fn read(text: &str) -> Result<usize, String> {
    let dir = folder();
    let reader = SpacepointReader::new(vec![file(&dir, text)], Detector::atlas2010(), None);
    reader.collect::<Result<Vec<_>, _>>().map(|rois| rois.len()).map_err(|error| error.to_string())
}

#[test]
fn events_are_not_merged_by_a_name_that_is_nearly_right() {
    let text = |header: &str| format!("{header}\n1,50,1,12,0\n2,50,1,12,0\n");
    assert_eq!(read(&text("event_id,x,y,z,layer")), Ok(2));
    assert_eq!(read(&text("event_time,x,y,z,layer")), Ok(1));
    // The names of `column_names`, which has more tests.
    for name in ["event", "Event_ID", "eventNumber", "event_number", "ievent", "event_index", "entry"] {
        assert_eq!(read(&text(&format!("{name},x,y,z,layer"))), Ok(2), "{name}");
    }
    for name in ["evnt_id", "mc_event_number", "sp_event_id"] {
        let message = read(&text(&format!("{name},x,y,z,layer"))).expect_err("refused");
        assert!(message.contains("row 1") && message.contains("looks like `event_id`"), "{message}");
    }
    let message = read("event,eventNumber,x,y,z,layer\n1,1,50,1,12,0\n").expect_err("refused");
    assert!(message.contains("`event` and `eventNumber` both look like"), "{message}");
    for name in ["ROI_ID", "roi", "roiid"] {
        let message = read(&text(&format!("{name},x,y,z,layer"))).expect_err("refused");
        assert!(message.contains("looks like `roi_id`"), "{message}");
    }
    let message = read("Geometry_ID,sp_x,sp_y,sp_z\n1,50,1,12\n").expect_err("refused");
    assert!(message.contains("looks like `geometry_id_1`"), "{message}");
}

#[test]
fn event_numbers_of_rois_objects_and_truth_have_the_same_names() {
    let dir = folder();
    for name in ["event_id", "event", "Event_ID", "eventNumber", "entry"] {
        let id = RoiId { event_id: 7, roi_id: 1 };
        let path = file(&dir, &format!("{name},roi_id,phi_min,phi_max\n7,1,0,1\n"));
        assert!(RoiTable::read(&path).expect("RoIs").get(id).is_some(), "{name}");
        let path = file(&dir, &format!("{name},eta,phi,et\n7,0,0,30\n"));
        assert_eq!(ObjectTable::read(&path).expect("objects").of_event(7).len(), 1, "{name}");
        let path = file(&dir, &format!("{name},z\n7,12.5\n"));
        assert_eq!(TruthTable::read(&path).expect("truth").hard_scatter_z(id), Some(12.5), "{name}");
        let path = file(&dir, &format!("{name},vz_mm,is_hard_scatter\n7,12.5,1\n"));
        assert_eq!(TruthTable::read(&path).expect("truth").hard_scatter_z(id), Some(12.5), "{name}");
    }
    for text in ["evnt_id,roi_id,phi_min,phi_max", "evnt_id,eta,phi,et", "evnt_id,z", "evnt_id,vz_mm,is_hard_scatter"] {
        let path = file(&dir, &format!("{text}\n7,1,0,1\n"));
        let read = [
            RoiTable::read(&path).err().map(|error| error.to_string()),
            ObjectTable::read(&path).err().map(|error| error.to_string()),
            TruthTable::read(&path).err().map(|error| error.to_string()),
        ];
        assert!(read.into_iter().all(|error| error.is_some_and(|error| error.contains("looks like `event_id`"))));
    }
}

#[test]
fn units_of_angles_and_energies_are_questioned() {
    let message = read("event_id,rho,phi,z,layer\n1,50,228.4,12,0\n").expect_err("refused");
    assert!(message.contains("row 2, column phi: phi is 228.4") && message.contains("degrees?"), "{message}");
    assert_eq!(read("event_id,rho,phi,z,layer\n1,50,6.2831854,12,0\n"), Ok(1));
    let dir = folder();
    let message = ObjectTable::read(&file(&dir, "event_id,eta,phi,et\n7,0,0,35000\n")).expect_err("refused");
    assert!(message.to_string().contains("35000 GeV is beyond") && message.to_string().contains("MeV?"), "{message}");
    let message = ObjectTable::read(&file(&dir, "event_id,eta,phi,et\n7,0,90,35\n")).expect_err("refused");
    assert!(message.to_string().contains("degrees?"), "{message}");
}

#[test]
fn optional_columns_of_rois_and_truth_are_not_missed() {
    let dir = folder();
    for name in ["Eta", "z-min", "ETA"] {
        let path = file(&dir, &format!("event_id,roi_id,phi_min,phi_max,{name}\n1,0,0,1,0.5\n"));
        let message = RoiTable::read(&path).expect_err("refused").to_string();
        assert!(message.contains(&format!("column `{name}` looks like")), "{message}");
    }
    let path = file(&dir, "event_id,RoI_ID,z\n1,0,12\n1,1,13\n");
    let message = TruthTable::read(&path).expect_err("refused").to_string();
    assert!(message.contains("looks like `roi_id`"), "{message}");
}

#[test]
fn a_header_of_a_million_columns_is_refused_at_once() {
    let header: Vec<String> = (0..1_000_000).map(|number| number.to_string()).collect();
    let begin = Instant::now();
    let message = read(&format!("{}\n", header.join(","))).expect_err("refused");
    assert!(message.contains("1000000 columns; 65536 at most"), "{message:.200}");
    assert!(begin.elapsed() < Duration::from_secs(20));
    // A message does not list thousands of names.
    let message = read(&format!("{}\n", header[..60_000].join(","))).expect_err("refused");
    assert!(message.len() < 1500 && message.contains("and 59960 more"), "{message:.200}");
}
