//! Columns that look like a column that is read, and headers that are too wide.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use zfinder::Detector;
use zfinder_io::{RoiTable, SpacepointReader, TruthTable};

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
    for name in ["event", "Event_ID", "EVENT_ID", "eventid", "evt", "evnt_id", "\u{feff}\u{feff}event_id"] {
        let message = read(&text(&format!("{name},x,y,z,layer"))).expect_err("refused");
        assert!(message.contains("row 1") && message.contains("looks like `event_id`"), "{message}");
    }
    for name in ["ROI_ID", "roi", "roiid"] {
        let message = read(&text(&format!("{name},x,y,z,layer"))).expect_err("refused");
        assert!(message.contains("looks like `roi_id`"), "{message}");
    }
    let message = read("Geometry_ID,sp_x,sp_y,sp_z\n1,50,1,12\n").expect_err("refused");
    assert!(message.contains("looks like `geometry_id_1`"), "{message}");
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
