//! ROOT files, read and written: the shared specimens, round trips, and damage.
#![cfg(feature = "root")]

mod common;

use std::fs;
use std::path::Path;

use common::read_all;
use oxyroot::{Marshaler, RootFile, WriterTree};
use rntuple::testing::{self, Layout, Options, Packing};
use tempfile::TempDir;
use zfinder::{Detector, Roi, RoiId, Spacepoint};
use zfinder_io::{
    OnError, ReadOptions, Result, RootSpacepoints, SpacepointReader, SpacepointWriter, TruthTable, inputs,
};

use zfinder_testing::rois::rois;
use zfinder_testing::shared;

const SPECIMEN: &str = "data/formats/root/acts_zee7_mu2_20ev_uproot_jagged.root";

fn read(path: &Path) -> Result<Vec<Roi>> {
    SpacepointReader::new(vec![path.to_owned()], Detector::generic(), None).collect()
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

#[test]
fn the_specimen_holds_the_events_of_the_csv_files_and_of_parquet() {
    let Some(file) = shared(SPECIMEN) else { return };
    let Some(folder) = shared("data/acts/zee7_mu2") else { return };
    let Some(parquet) = shared("data/formats/colliderml/zee7_mu2_tracker_hits.parquet") else { return };
    let found = read(&file).expect("a good file");
    assert_eq!(found.len(), 20);
    // All have single precision, so the bits are the same.
    assert_eq!(found, read(&parquet).expect("a good file")[..20]);
    let csv = SpacepointReader::new(inputs(&[folder]).expect("files").files, Detector::generic(), None);
    for (found, wanted) in found.iter().zip(csv) {
        assert_eq!(*found, wanted.expect("a good file"));
    }
}

#[test]
fn the_specimen_says_where_the_vertices_are() {
    let Some(file) = shared(SPECIMEN) else { return };
    let Some(csv) = shared("data/acts/zee7_mu2/truth_vertices.csv") else { return };
    let (found, wanted) = (TruthTable::read(&file).expect("truth"), TruthTable::read(&csv).expect("truth"));
    for event_id in 0..20 {
        let id = RoiId { event_id, roi_id: 0 };
        let (found, wanted) = (found.hard_scatter_z(id).expect("a z"), wanted.hard_scatter_z(id).expect("a z"));
        assert!((found - wanted).abs() <= 1e-5, "event {event_id}: {found}, {wanted}");
    }
}

#[test]
fn an_rntuple_holds_the_spacepoints_and_the_truth_of_the_tree() {
    let Some(tree) = shared(SPECIMEN) else { return };
    let Some(ntuple) = shared("data/formats/root/acts_zee7_mu2_20ev_rntuple.root") else { return };
    assert!(read(&ntuple).expect("an RNTuple") == read(&tree).expect("a tree"));
    let truth = |path| TruthTable::read(path).expect("truth");
    for event_id in 0..20 {
        let id = RoiId { event_id, roi_id: 0 };
        assert_eq!(truth(&ntuple).hard_scatter_z(id), truth(&tree).hard_scatter_z(id));
    }
}

#[test]
fn rntuples_of_three_layouts_hold_the_same_spacepoints() {
    let mut random = fastrand::Rng::with_seed(5);
    let mut point = || testing::Spacepoint {
        x: random.f64() * 900.0 - 450.0,
        y: random.f64() * 900.0 - 450.0,
        z: random.f64() * 2000.0 - 1000.0,
        layer: random.u32(..5),
    };
    let events: Vec<(u64, Vec<testing::Spacepoint>)> =
        (0..20).map(|event| (event * 7, (0..=event * 3).map(|_| point()).collect())).collect();
    let folder = folder();
    for (at, layout) in [Layout::Flat, Layout::Jagged, Layout::Records].into_iter().enumerate() {
        for packing in Packing::ALL {
            let options = Options {
                page_elements: 64,
                pages: packing,
                envelopes: packing,
                is_large: at > 0,
                ..Options::default()
            };
            let path = folder.path().join("events.root");
            fs::write(&path, testing::write(&[testing::spacepoints(layout, &events, 6)], &options).bytes)
                .expect("written");
            let rois = read(&path).expect("a good file");
            assert_eq!(rois.len(), events.len(), "{layout:?}");
            for (roi, (event_id, points)) in rois.iter().zip(&events) {
                assert_eq!(roi.descriptor.id, RoiId { event_id: *event_id, roi_id: 0 }, "{layout:?}");
                let spacepoint = |p: &testing::Spacepoint| Spacepoint::from_xyz(p.x, p.y, p.z, p.layer);
                let wanted: Vec<Spacepoint> = points.iter().map(spacepoint).collect();
                assert_eq!(roi.spacepoints, wanted, "{layout:?}, {packing:?}");
            }
        }
    }
}

#[test]
fn what_is_written_is_read_back_bit_by_bit() {
    let dir = folder();
    let path = dir.path().join("written.root");
    let wanted = rois();
    let mut writer: Box<dyn SpacepointWriter> = Box::new(RootSpacepoints::create(&path).expect("a writer"));
    wanted.iter().for_each(|roi| writer.write(roi.into()).expect("written"));
    writer.finish().expect("written");
    assert_eq!(read(&path).expect("read"), wanted);
}

#[test]
fn nothing_written_is_an_error_to_read_and_an_absent_folder_one_to_write() {
    let dir = folder();
    let path = dir.path().join("empty.root");
    Box::new(RootSpacepoints::create(&path).expect("a writer")).finish().expect("written");
    let error = read(&path).expect_err("empty").to_string();
    assert!(error.contains("empty.root"), "{error}");
    assert!(RootSpacepoints::create(&dir.path().join("none/x.root")).is_err());
    assert!(read(&dir.path().join("none.root")).is_err());
}

/// A tree with `event`, `x`, `y`, `z` of one entry each, and `layer`.
fn tree<L: Marshaler + 'static>(path: &Path, z: Vec<Vec<f64>>, layer: Vec<Vec<L>>) {
    let mut file = RootFile::create(path).expect("a file");
    let mut tree = WriterTree::new("hits");
    let x = vec![vec![1.0f32, 2.0], vec![3.0]];
    tree.new_branch("event", [4u16, 6].into_iter());
    tree.new_branch("x", x.clone().into_iter());
    tree.new_branch("y", x.into_iter());
    tree.new_branch("z", z.into_iter());
    tree.new_branch("layer", layer.into_iter());
    tree.write(&mut file).expect("written");
    file.close().expect("written");
}

#[test]
fn what_cannot_be_is_refused_with_its_entry() {
    let dir = folder();
    let path = dir.path().join("hits.root");
    let (z, layer) = (vec![vec![1.0, 2.0], vec![3.0]], vec![vec![0, 1], vec![2]]);
    tree(&path, z.clone(), layer.clone());
    let good = read(&path).expect("read");
    assert_eq!(good[1].spacepoints, [Spacepoint::from_xyz(3.0, 3.0, 3.0, 2)]);
    assert_eq!(good[0].descriptor.id.event_id, 4);
    let refused = |words: &[&str]| {
        let error = read(&path).expect_err("refused").to_string();
        for word in words.iter().chain(&["hits.root", "tree `hits`"]) {
            assert!(error.contains(word), "no `{word}` in: {error}");
        }
    };
    tree(&path, vec![vec![1.0, f64::NAN], vec![3.0]], layer.clone());
    refused(&["entry 0", "value 1", "column z", "NaN is not finite"]);
    tree(&path, vec![vec![1.0, 2.0], vec![3.0, 4.0]], layer.clone());
    refused(&["entry 1", "column z", "2 values", "1 in the branches before"]);
    tree(&path, z.clone(), vec![vec![0, 1], vec![-2]]);
    refused(&["entry 1", "value 0", "column layer", "-2 is not a whole number"]);
    tree(&path, z.clone(), vec![vec![0.0, 1.0], vec![2.0f32]]);
    assert_eq!(read(&path).expect("read"), good);
    tree(&path, z.clone(), vec![vec![0.0, 1.0], vec![2.5f32]]);
    refused(&["entry 1", "value 0", "column layer", "2.5 is not a whole number"]);
    tree(&path, z.clone(), vec![vec![0, 99], vec![2]]);
    refused(&["entry 0", "value 1", "column layer", "layer 99"]);

    let mut file = RootFile::create(&path).expect("a file");
    let mut other = WriterTree::new("hits");
    other.new_branch("x", z.into_iter());
    other.new_branch("energy", [1.0f32, 2.0].into_iter());
    other.write(&mut file).expect("written");
    file.close().expect("written");
    drop(file);
    refused(&["lacks `y`, `z`, `layer`", "`energy`", "volume_id,layer_id"]);
    let error = TruthTable::read(&path).expect_err("refused").to_string();
    assert!(error.contains("no tree has") && error.contains("truth_pv_z"), "{error}");
}

/// Adds a tree with an entry for each event, whose lists of z and layers may be of any length.
fn add_tree(file: &mut RootFile, name: &str, event: &str, events: &[u16], z: &[&[f64]], layer: &[&[i32]]) {
    let mut tree = WriterTree::new(name);
    let x: Vec<Vec<f32>> = events.iter().map(|_| vec![30.0, 70.0]).collect();
    let numbers = events.to_vec();
    tree.new_branch(event, numbers.into_iter());
    tree.new_branch("x", x.clone().into_iter());
    tree.new_branch("y", x.into_iter());
    tree.new_branch("z", z.iter().map(|z| z.to_vec()).collect::<Vec<_>>().into_iter());
    tree.new_branch("layer", layer.iter().map(|layer| layer.to_vec()).collect::<Vec<_>>().into_iter());
    tree.write(file).expect("written");
}

/// Returns events with their spacepoints and invalid spacepoints, and the errors.
fn read_with(path: &Path, on_error: OnError, tree: Option<&str>) -> (Vec<(u64, usize, usize)>, Vec<String>) {
    let options = ReadOptions { on_error, tree: tree.map(str::to_owned), ..ReadOptions::default() };
    let reader = SpacepointReader::new(vec![path.to_owned()], Detector::generic(), None).with_options(options);
    read_all(reader)
}

const Z: &[f64] = &[1.0, 2.0];
const LAYER: &[i32] = &[0, 1];

#[test]
fn event_numbers_have_the_names_of_csv_files() {
    let dir = folder();
    let path = dir.path().join("hits.root");
    for name in ["event_id", "event", "Event_ID", "eventNumber", "event_number", "ievent", "event_index", "entry"] {
        let mut file = RootFile::create(&path).expect("a file");
        add_tree(&mut file, "hits", name, &[4, 6], &[Z; 2], &[LAYER; 2]);
        file.close().expect("written");
        drop(file);
        assert_eq!(read_with(&path, OnError::Stop, None), (vec![(4, 2, 0), (6, 2, 0)], vec![]), "{name}");
    }
    let mut file = RootFile::create(&path).expect("a file");
    add_tree(&mut file, "hits", "mcEventNumber", &[4, 6], &[Z; 2], &[LAYER; 2]);
    file.close().expect("written");
    drop(file);
    let (_, errors) = read_with(&path, OnError::Stop, None);
    assert!(errors[0].contains("`mcEventNumber` looks like `event_id`"), "{errors:?}");
}

#[test]
fn one_of_several_trees_is_chosen_by_name() {
    let dir = folder();
    let path = dir.path().join("hits.root");
    let mut file = RootFile::create(&path).expect("a file");
    add_tree(&mut file, "sim", "event", &[1], &[Z], &[LAYER]);
    add_tree(&mut file, "reco", "event", &[1, 2], &[Z; 2], &[LAYER; 2]);
    file.close().expect("written");
    drop(file);
    let (rois, errors) = read_with(&path, OnError::Stop, None);
    assert!(rois.is_empty() && errors[0].contains("tree `sim` and tree `reco`; name the one"), "{errors:?}");
    assert_eq!(read_with(&path, OnError::Stop, Some("sim")).0, [(1, 2, 0)]);
    assert_eq!(read_with(&path, OnError::Stop, Some("reco")).0, [(1, 2, 0), (2, 2, 0)]);
    let (_, errors) = read_with(&path, OnError::Stop, Some("hits"));
    assert!(
        errors[0].contains("there is no tree and no RNTuple `hits`") && errors[0].contains("`sim`, `reco`"),
        "{errors:?}"
    );
    // In a folder, the file is not left out.
    assert_eq!(inputs(&[dir.path().to_owned()]).expect("files").files, [path]);
}

#[test]
fn a_bad_entry_costs_itself_alone() {
    let dir = folder();
    let path = dir.path().join("hits.root");
    let mut file = RootFile::create(&path).expect("a file");
    let layers: &[&[i32]] = &[LAYER, LAYER, &[0, -1], LAYER, &[0]];
    add_tree(&mut file, "hits", "event", &[1, 2, 3, 4, 5], &[Z, &[1.0], Z, Z, Z], layers);
    file.close().expect("written");
    drop(file);
    let (rois, errors) = read_with(&path, OnError::Skip, None);
    assert_eq!(rois, [(1, 2, 0), (2, 1, 1), (3, 1, 1), (4, 2, 0), (5, 1, 1)]);
    for (error, words) in errors.iter().zip([
        "entry 1 of tree `hits`: there are 1 values, and 2 in the branches before it",
        "entry 2 of tree `hits`: value 1: -1 is not a whole number",
        "entry 4 of tree `hits`: there are 1 values",
    ]) {
        assert!(error.contains(words), "no `{words}` in {error}");
    }
    assert_eq!(errors.len(), 3);
    let (rois, errors) = read_with(&path, OnError::Stop, None);
    assert_eq!((rois, errors.len()), (vec![(1, 2, 0)], 1));
}

#[test]
fn an_event_that_comes_back_is_invalid_where_it_comes_first() {
    let dir = folder();
    let path = dir.path().join("hits.root");
    for events in [[1, 2, 1], [1, 1, 2]] {
        let mut file = RootFile::create(&path).expect("a file");
        add_tree(&mut file, "hits", "event", &events, &[Z; 3], &[LAYER; 3]);
        file.close().expect("written");
        drop(file);
        let (rois, errors) = read_with(&path, OnError::Skip, None);
        assert_eq!((rois, errors.len()), (vec![(1, 3, 1), (2, 2, 0)], 1), "{events:?}");
    }
}

#[test]
fn entries_above_the_limit_and_bad_values_are_told_by_entry() {
    let Some(specimen) = shared(SPECIMEN) else { return };
    let all = read(&specimen).expect("a good file");
    let most = all.iter().map(|roi| roi.spacepoints.len()).max().expect("RoIs");
    let read = |on_error, max_spacepoints| {
        let reader = SpacepointReader::new(vec![specimen.clone()], Detector::generic(), None);
        let (mut rois, mut errors) = (Vec::new(), Vec::new());
        for roi in reader.with_options(ReadOptions { on_error, max_spacepoints, ..ReadOptions::default() }) {
            roi.map_or_else(|error| errors.push(error.to_string()), |roi| rois.push(roi));
        }
        (rois, errors)
    };
    assert_eq!(read(OnError::Skip, most), (all.clone(), vec![]));
    let first = all.iter().position(|roi| roi.spacepoints.len() == most).expect("there");
    for on_error in [OnError::Stop, OnError::Skip] {
        let (rois, errors) = read(on_error, most - 1);
        assert!(all.starts_with(&rois) && rois.len() <= first, "{} RoIs", rois.len());
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].contains(&format!("entry {first} of tree")), "{errors:?}");
        assert!(errors[0].contains(&format!("more than {} spacepoints", most - 1)), "{errors:?}");
    }
}

/// Damage is an error, or stays undetected in a number. It never crashes or hangs.
fn damaged(bytes: &[u8], flips: usize) {
    let dir = folder();
    let path = dir.path().join("damaged.root");
    let whole = read_bytes(&path, bytes).expect("a good file").len();
    for part in 0..10 {
        let cut = &bytes[..4 + (bytes.len() - 5) * part / 10];
        let error = read_bytes(&path, cut).expect_err("cut off").to_string();
        assert!(error.contains("damaged"), "{error}");
    }
    let mut random = fastrand::Rng::with_seed(9);
    let mut bytes = bytes.to_vec();
    let mut errors = 0;
    for _ in 0..flips {
        // The first and the last bytes hold the structure.
        let at = match random.u8(..3) {
            0 => 4 + random.usize(..2000.min(bytes.len() - 4)),
            1 => bytes.len() - 1 - random.usize(..6000.min(bytes.len() - 4)),
            _ => 4 + random.usize(..bytes.len() - 4),
        };
        let before = bytes[at];
        bytes[at] ^= 1 << random.u8(..8);
        match read_bytes(&path, &bytes) {
            Ok(rois) => assert_eq!(rois.len(), whole, "byte {at}"),
            Err(_) => errors += 1,
        }
        bytes[at] = before;
    }
    assert!(errors > 0, "none of {flips} was noticed");
}

/// A basket claims its number of entries. Missing entries are not allocated.
#[test]
fn a_basket_of_billions_of_entries_is_an_error() {
    let dir = folder();
    let path = dir.path().join("written.root");
    let mut writer: Box<dyn SpacepointWriter> = Box::new(RootSpacepoints::create(&path).expect("a writer"));
    rois().iter().filter(|roi| roi.spacepoints.len() < 10).for_each(|roi| writer.write(roi.into()).expect("written"));
    writer.finish().expect("written");
    let good = fs::read(&path).expect("a file");
    let of_branch = |branch: &str| {
        // The key of its basket ends with the names of class, branch and tree, each after its
        // length.
        let names =
            ["TBasket", branch, "spacepoints"].map(|name| format!("{}{name}", name.len() as u8 as char)).concat();
        let at = good.windows(names.len()).position(|window| window == names.as_bytes()).expect("a basket");
        // A version of 2 bytes and two numbers of 4 bytes follow.
        let at = at + names.len() + 10;
        let mut bytes = good.clone();
        assert_eq!(bytes[at..at + 4], 12i32.to_be_bytes());
        bytes[at..at + 4].copy_from_slice(&i32::MAX.to_be_bytes());
        read_bytes(&path, &bytes)
    };
    for branch in ["event_id", "roi_id"] {
        let error = of_branch(branch).expect_err("damaged").to_string();
        for word in [branch, "entry 11", "0 bytes where 8 are expected"] {
            assert!(error.contains(word), "no `{word}` in: {error}");
        }
    }
    // Other baskets state the offset of each entry, so that the number is not read.
    assert_eq!(of_branch("rho").expect("read").len(), 12);
}

fn read_bytes(path: &Path, bytes: &[u8]) -> Result<Vec<Roi>> {
    fs::write(path, bytes).expect("written");
    read(path)
}

/// zlib compresses the baskets of the specimen. A flipped bit breaks the checksum.
#[test]
fn a_flipped_bit_of_a_basket_is_an_error() {
    let Some(specimen) = shared(SPECIMEN) else { return };
    let dir = folder();
    let path = dir.path().join("damaged.root");
    let bytes = fs::read(specimen).expect("a file");
    // A version and two sizes of three bytes follow a block's method.
    let blocks: Vec<usize> = (0..bytes.len() - 9).filter(|&at| bytes[at..].starts_with(b"ZL\x08")).collect();
    assert!(blocks.len() > 4, "{blocks:?}");
    let mut random = fastrand::Rng::with_seed(10);
    for at in blocks {
        let size = u32::from_le_bytes([bytes[at + 3], bytes[at + 4], bytes[at + 5], 0]) as usize;
        for _ in 0..3 {
            // Some of the last bits of deflate have no meaning, so bits before them or in the
            // checksum are flipped.
            let byte = if random.bool() { random.usize(..size - 5) } else { size - 1 - random.usize(..4) };
            let mut damaged = bytes.clone();
            damaged[at + 9 + byte] ^= 1 << random.u8(..8);
            let error = read_bytes(&path, &damaged).expect_err("damaged").to_string();
            assert!(error.contains("damaged"), "{error}");
        }
    }
}

#[test]
fn damaged_files_are_errors() {
    let dir = folder();
    let path = dir.path().join("written.root");
    let mut writer: Box<dyn SpacepointWriter> = Box::new(RootSpacepoints::create(&path).expect("a writer"));
    rois().iter().filter(|roi| roi.spacepoints.len() < 10).for_each(|roi| writer.write(roi.into()).expect("written"));
    writer.finish().expect("written");
    damaged(&fs::read(&path).expect("a file"), 200);
    let Some(specimen) = shared(SPECIMEN) else { return };
    damaged(&fs::read(specimen).expect("a file"), 10);
}
