//! The folders of ColliderML: hits and particles in files that divide the events in different ways.

use super::*;
use zfinder_io::{ReadOptions, is_colliderml};

/// Writes events of three hits each. The layers are those of the Open Data Detector.
fn write_hits(path: &Path, events: &[u32]) {
    let lists = |values: [f32; 3]| events.iter().map(|_| values).collect::<Vec<_>>();
    let [x, y, z] = [lists([34.0, 70.0, 0.0]), lists([0.0, 0.0, 820.0]), lists([5.0, 9.0, 60.0])];
    let volumes: Vec<[u8; 3]> = events.iter().map(|_| [17, 17, 29]).collect();
    let layers: Vec<[u16; 3]> = events.iter().map(|_| [2, 4, 2]).collect();
    write(
        path,
        &[
            ("event_id", Column::flat(events)),
            ("x", Column::lists(&x.each())),
            ("y", Column::lists(&y.each())),
            ("z", Column::lists(&z.each())),
            ("volume_id", Column::lists(&volumes.each())),
            ("layer_id", Column::lists(&layers.each())),
            ("particle_id", Column::lists(&events.iter().map(|_| [1u64, 1, 2]).collect::<Vec<_>>().each())),
        ],
    );
}

/// Writes two vertices for each event: the hard scatter at z = the event's number, and pile-up.
fn write_particles(path: &Path, events: &[u32]) {
    let z: Vec<[f32; 3]> = events.iter().map(|&event| [event as f32, event as f32, -7.0]).collect();
    let vertices: Vec<[u16; 3]> = events.iter().map(|_| [1, 1, 2]).collect();
    let columns = [
        ("event_id", Column::flat(events)),
        ("vz", Column::lists(&z.each())),
        ("vertex_primary", Column::lists(&vertices.each())),
    ];
    write(path, &columns);
}

trait Each<T> {
    fn each(&self) -> Vec<&[T]>;
}

impl<T> Each<T> for Vec<[T; 3]> {
    fn each(&self) -> Vec<&[T]> {
        self.iter().map(<[T; 3]>::as_slice).collect()
    }
}

fn write(path: &Path, columns: &[(&str, Column)]) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    columns::write(path, columns, WriterProperties::default(), 2);
}

fn hard_scatter(truth: &TruthTable, event_id: u64) -> Option<f64> {
    truth.hard_scatter_z(RoiId { event_id, roi_id: 0 })
}

#[test]
fn a_sample_is_its_hits_and_the_particles_of_the_same_events() {
    let dir = folder();
    let at = |kind: &str, file: &str| dir.path().join(format!("t_pu9_{kind}/data/t_pu9_{kind}/train-{file}.parquet"));
    write_hits(&at("tracker_hits", "0"), &[4, 5, 6]);
    write_hits(&at("tracker_hits", "1"), &[7, 8]);
    write_particles(&at("particles", "0"), &[4, 5]);
    write_particles(&at("particles", "1"), &[6, 7]);
    write_particles(&at("particles", "2"), &[8, 9]);

    let all = inputs(&[dir.path().to_owned()]).expect("one sample");
    assert_eq!((all.files.len(), all.skipped.len()), (2, 0), "{all:?}");
    assert!(all.files.iter().all(|file| is_colliderml(file)));
    let reader = SpacepointReader::new(all.files.clone(), Detector::odd(), None);
    let rois: Vec<Roi> = reader.collect::<Result<_>>().expect("good files");
    assert_eq!(rois.iter().map(|roi| roi.descriptor.id.event_id).collect::<Vec<_>>(), [4, 5, 6, 7, 8]);
    assert!(rois.iter().all(|roi| roi.spacepoints.iter().map(|s| s.layer).eq([0, 1, 8])), "{:?}", rois[0]);

    let truth = TruthTable::beside(&all.files, &ReadOptions::default()).expect("readable").expect("there is truth");
    assert_eq!(truth.paths().len(), 3);
    assert_eq!([4, 6, 8].map(|event| hard_scatter(&truth, event)), [4.0, 6.0, 8.0].map(Some));
    assert!(truth.has_pile_up());
    // Files of other events are not read.
    let of_first =
        TruthTable::beside(&all.files[..1], &ReadOptions::default()).expect("readable").expect("there is truth");
    assert_eq!((of_first.paths().len(), hard_scatter(&of_first, 8)), (2, None));

    write_hits(&dir.path().join("run/tracker_hits/events0-1.parquet"), &[0]);
    let error = inputs(&[dir.path().to_owned()]).expect_err("two samples").to_string();
    for word in ["2 samples", "run/tracker_hits", "t_pu9_tracker_hits"] {
        assert!(error.contains(word), "{error}");
    }
}
