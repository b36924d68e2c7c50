//! The fuzz targets: each reads its bytes as a user's file, and compares the result with what the
//! documentation promises. A panic is a finding.
//!
//! `crates/zfinder-io/tests/fuzz_corpus.rs` includes this file, so that the committed corpus goes
//! through it with every `cargo test`.

use std::collections::HashSet;
use std::f64::consts::PI;
use std::fs;
use std::io::{Cursor, Read, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use flate2::{Compression, read::MultiGzDecoder, write::GzEncoder};
use rntuple::{Array, NTuple, RootFile};
use tempfile::TempDir;
use zfinder::detector::LayerKind;
use zfinder::{
    Config, Detector, Engine, PhiWindow, Preset, Roi, RoiBatch, RoiDescriptor, RoiId, RoiResult, Spacepoint, Status,
    ZFinder,
};
use zfinder_io::{Addressing, Error, OnError, ReadOptions, RoiTable, SpacepointReader, TruthTable, addressing, line};

/// A target's name, which is also its folder in `fuzz/corpus`, and its function.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: [Target; 8] = [
    ("config", config),
    ("csv", csv),
    ("detector", detector),
    ("parquet", parquet),
    ("rntuple", rntuple),
    ("rois", rois),
    ("root", root),
    ("truth", truth),
];

const GZIP: &[u8] = &[0x1f, 0x8b];

/// Larger inputs are read but not searched, because a search takes long and finds nothing new.
const MOST_SPACEPOINTS: usize = 2000;
const MOST_ROIS: usize = 4;
/// Configurations with more z bins in all slices are not searched either.
const MOST_BINS: f64 = 4e6;
/// Most elements that are read at once from an RNTuple.
const MOST_ELEMENTS: u64 = 1 << 16;
/// Entries that are read at once from an RNTuple, and most of these pieces.
const PIECE: u64 = 7;
const PIECES: usize = 8;

/// RoIs for spacepoints without RoIs, with every kind of optional field.
const ROIS: &str = "event_id,roi_id,phi_min,phi_max,eta,z_min,z_max\n0,0,-0.5,0.5,,,\n0,1,3,-3,1.5,-100,100\n\
                    1,0,0,3.1,-0.2,,\n7,3,1,2,0,-1,250\n";

/// Spacepoints of events for files of RoIs.
const SPACEPOINTS: &str = "event_id,x,y,z,layer\n0,50.5,1,2,0\n0,88.5,2,3,1\n0,122.5,3,4,2\n1,-50,2,9,0\n2,1,50,9,0\n";

/// Writes these bytes to a file and returns its path. Each thread has its own file of a name, which
/// is overwritten.
fn written(name: &str, bytes: &[u8]) -> PathBuf {
    thread_local! {
        static FOLDER: TempDir = tempfile::tempdir().expect("a temporary folder");
    }
    let path = FOLDER.with(|folder| folder.path().join(name));
    fs::write(&path, bytes).expect("written");
    path
}

/// Returns a finder with the detector of these files. Few slices and bins keep it fast.
fn finder(addressing: Addressing) -> &'static ZFinder {
    static FINDERS: LazyLock<[ZFinder; 2]> = LazyLock::new(|| {
        let config = Config::preset(Preset::Default).with(|c| {
            c.phi_slice_deg = 3.0;
            c.z_bin_mm = 2.0;
        });
        [Detector::atlas2010(), Detector::generic()]
            .map(|detector| built(config.clone(), detector).expect("a good configuration"))
    });
    &FINDERS[usize::from(addressing == Addressing::Geometry)]
}

/// Builds a finder on the CPU and this thread, so that an input always does the same.
fn built(config: Config, detector: Detector) -> zfinder::Result<ZFinder> {
    ZFinder::builder(detector).config(config).engine(Engine::Cpu).threads(NonZeroUsize::MIN).build()
}

/// Reads CSV files of spacepoints in any column set. The same bytes gzipped must give the same.
pub fn csv(bytes: &[u8]) {
    let path = written("event000000007-spacepoint.csv", bytes);
    let (rois, error) = spacepoints(&path);
    let mut zipped = GzEncoder::new(Vec::new(), Compression::fast());
    zipped.write_all(bytes).expect("into memory");
    // Gzipped bytes would have to be decompressed twice.
    if !bytes.starts_with(GZIP) && !is_binary(bytes) {
        written("event000000007-spacepoint.csv", &zipped.finish().expect("into memory"));
        let detector = finder(addressing(&path, &ReadOptions::default()).unwrap_or(Addressing::Index)).detector();
        assert_eq!(read(&path, detector, None), (rois, error), "gzipped");
    }
    with_rois(&written("event000000007-spacepoint.csv", bytes), &written("rois.csv", ROIS.as_bytes()));
}

/// Returns whether the first bytes are those of another format.
fn is_binary(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PAR1") || bytes.starts_with(b"root")
}

/// Returns whether bytes are a damaged gzip file. Its output depends on the size of reads.
fn is_damaged_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(GZIP) && MultiGzDecoder::new(bytes).read_to_end(&mut Vec::new()).is_err()
}

/// Reads Parquet files of spacepoints.
pub fn parquet(bytes: &[u8]) {
    spacepoints(&written("event000000007-hits.parquet", bytes));
}

/// Reads ROOT files of spacepoints.
pub fn root(bytes: &[u8]) {
    spacepoints(&written("event000000007-hits.root", bytes));
}

/// Reads every field of every RNTuple of a ROOT file. Fuzzers get past its checksums: the reader
/// skips them under `cfg(fuzzing)`. The test `write_the_corpus` of the crate writes its corpus.
pub fn rntuple(bytes: &[u8]) {
    let mut file = match RootFile::new(Cursor::new(bytes)) {
        Ok(file) => file,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let objects = file.objects().to_vec();
    for object in objects.iter().filter(|object| object.is_ntuple()) {
        match file.ntuple(object.path()) {
            Ok(mut ntuple) => read_ntuple(&mut ntuple),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

fn read_ntuple(ntuple: &mut NTuple<&mut Cursor<&[u8]>>) {
    ntuple.limit_elements(MOST_ELEMENTS);
    let entries = ntuple.entries();
    for path in ntuple.paths() {
        let Ok(selection) = ntuple.select(&path) else { continue };
        // Names may have dots, or be the same.
        let field = ntuple.field(&path);
        assert!(field.is_ok_and(|field| path.ends_with(field.name())), "{path}");
        assert!(selection.empty().is_empty());
        let last = entries.saturating_sub(1)..entries;
        let pieces = (0..entries).step_by(PIECE as usize).take(PIECES);
        for range in pieces.map(|begin| begin..entries.min(begin + PIECE)).chain([last, 0..entries]) {
            if let Ok(array) = ntuple.read(&selection, range.clone()) {
                assert_eq!(array.len(), range.end - range.start, "{path}");
                check_array(&array);
            }
            if let Ok(lengths) = ntuple.lengths(&selection, range.clone()) {
                assert_eq!(lengths.len() as u64, range.end - range.start, "{path}");
            }
        }
        if let Ok(Some(cluster)) = ntuple.cluster_of(entries / 2) {
            assert!(cluster.contains(&(entries / 2)) && cluster.end <= entries, "{cluster:?}");
        }
    }
}

/// Checks that offsets and tags are within an array.
fn check_array(array: &Array) {
    let check_offsets = |offsets: &[u64], items: u64| {
        assert!(offsets.is_sorted() && offsets[0] == 0 && offsets.last() == Some(&items), "{offsets:?}, {items}");
    };
    match array {
        Array::Text { offsets, bytes } => check_offsets(offsets, bytes.len() as u64),
        Array::List { offsets, items } => {
            check_offsets(offsets, items.len());
            check_array(items);
        }
        Array::Fixed { length, size, items } => {
            assert_eq!(items.len(), length * size);
            check_array(items);
        }
        Array::Record { length, fields } => {
            for (_, values) in fields {
                assert_eq!(values.len(), *length);
                check_array(values);
            }
        }
        Array::Variant { tags, indices, alternatives } => {
            assert_eq!(tags.len(), indices.len());
            for (&tag, &index) in tags.iter().zip(indices).filter(|&(&tag, _)| tag != 0) {
                assert!(index < alternatives[tag as usize - 1].len(), "{tag}, {index}");
            }
            alternatives.iter().for_each(check_array);
        }
        _ => {}
    }
}

/// Reads a file of RoIs.
pub fn rois(bytes: &[u8]) {
    let path = written("rois.csv", bytes);
    let table = match (RoiTable::read(&path), RoiTable::read(&path)) {
        (Ok(table), Ok(again)) => {
            assert_eq!(table.descriptors(), again.descriptors());
            table
        }
        (Err(error), Err(again)) => {
            assert_eq!(error.to_string(), again.to_string());
            return check_error(&error, &path);
        }
        (first, second) => panic!("{first:?} and then {second:?}"),
    };
    assert!(!table.descriptors().is_empty());
    let mut ids = HashSet::new();
    for descriptor in table.descriptors() {
        let id = descriptor.id;
        assert!(ids.insert(id), "{id:?} twice");
        assert_eq!(table.get(id), Some(descriptor));
        assert!(table.of_event(id.event_id).any(|other| other == descriptor));
        let Some(PhiWindow::Range { phi_min, phi_max }) = descriptor.window else { panic!("{descriptor:?}") };
        assert_eq!(descriptor.window, PhiWindow::new(phi_min, phi_max).ok());
        assert!(descriptor.eta.abs() <= 20.0, "{descriptor:?}");
        assert!(descriptor.z_range.is_none_or(|(low, high)| low < high && low.is_finite() && high.is_finite()));
    }
    let finder = finder(Addressing::Index);
    let valid = table.validate(finder.config());
    if let Err(error) = &valid {
        check_error(error, &path);
    }
    // RoIs that pass the check can be searched; other RoIs must not panic.
    for &descriptor in table.descriptors().iter().take(MOST_ROIS) {
        let roi = Roi { descriptor, spacepoints: tracks(finder.detector()) };
        match finder.find(&roi) {
            Ok(results) => check_result(results.roi(0), &roi, finder.config()),
            Err(error) => assert!(valid.is_err() && !error.to_string().is_empty(), "{error}"),
        }
    }
    with_rois(&written("points.csv", SPACEPOINTS.as_bytes()), &path);
}

/// Reads a file of true vertices in any format.
pub fn truth(bytes: &[u8]) {
    let path = written("event000000003-truth", bytes);
    let ids = || (0..9).flat_map(|event_id| (0..3).map(move |roi_id| RoiId { event_id, roi_id }));
    let known = || {
        let table = TruthTable::read(&path).map_err(|error| {
            check_error(&error, &path);
            error.to_string()
        })?;
        assert_eq!(table.path(), path);
        let mut all = Vec::new();
        for id in ids() {
            let vertices = table.vertices(id).to_vec();
            assert!(vertices.iter().all(|vertex| vertex.z_mm.is_finite()), "{vertices:?}");
            let hard = vertices.iter().find(|vertex| vertex.is_hard_scatter).map(|vertex| vertex.z_mm);
            assert_eq!(table.hard_scatter_z(id), hard);
            assert!(table.has_pile_up() || vertices.iter().all(|vertex| vertex.is_hard_scatter));
            all.push(vertices);
        }
        Ok::<_, String>((all, table.has_pile_up()))
    };
    assert_eq!(known(), known());
    // A file of spacepoints may have no truth.
    if let Err(error) = TruthTable::beside(std::slice::from_ref(&path), &ReadOptions::default()) {
        check_error(&error, &path);
    }
}

/// Reads a configuration in TOML.
pub fn config(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let config = match zfinder_io::config_from_toml(text) {
        Ok(config) => config,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    config.validate().expect("it was validated");
    assert_eq!(zfinder_io::config_from_toml(&zfinder_io::config_to_toml(&config)).expect("own output"), config);
    for detector in [Detector::atlas2010(), Detector::odd()] {
        search_tracks(config.clone(), detector);
    }
}

/// Reads a detector in TOML.
pub fn detector(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let detector = match zfinder_io::detector_from_toml("a detector", text) {
        Ok(detector) => detector,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert_eq!(zfinder_io::detector_from_toml("a detector", text).expect("as before"), detector);
    let layers = detector.layers();
    assert!((2..=zfinder::detector::MAX_LAYERS).contains(&layers.len()));
    for (index, layer) in layers.iter().enumerate() {
        for &(volume, id) in &layer.ids {
            assert_eq!(detector.layer_by_id(volume, id), Some(index as u32));
            assert!(detector.volumes().contains(&volume));
        }
    }
    for point in tracks(&detector) {
        assert!(detector.layer_at(point.rho, point.z, 10.0).is_none_or(|layer| (layer as usize) < layers.len()));
    }
    for config in [Config::preset(Preset::Default), Config::preset(Preset::HardScatter)] {
        for (inner, row) in detector.neighbours(&config).iter().enumerate() {
            assert_eq!(row.len(), layers.len());
            assert!(row.iter().enumerate().all(|(outer, &slices)| (slices > 0) == (outer > inner)));
        }
        search_tracks(config, detector.clone());
    }
}

/// Reads a file of spacepoints twice, and searches its RoIs.
fn spacepoints(path: &Path) -> (Vec<Roi>, Option<String>) {
    let told = addressing(path, &ReadOptions::default());
    let finder = finder(*told.as_ref().unwrap_or(&Addressing::Index));
    let (rois, error) = read(path, finder.detector(), None);
    assert_eq!(read(path, finder.detector(), None), (rois.clone(), error.clone()), "the second time");
    assert!(told.is_ok() || error.is_some(), "{told:?}, and yet it was read");
    let mut ids = HashSet::new();
    for Roi { descriptor, spacepoints } in &rois {
        assert!(ids.insert(descriptor.id), "{:?} twice", descriptor.id);
        for point in spacepoints {
            let Spacepoint { rho, phi, z, layer } = *point;
            assert!(rho > 0.0 && rho.is_finite() && phi.is_finite() && z.is_finite(), "{point:?}");
            assert!((layer as usize) < finder.detector().layers().len(), "{point:?}");
        }
    }
    check_skipping(path, finder.detector(), &rois, error.is_some());
    let some = &rois[..rois.len().min(MOST_ROIS)];
    if some.iter().map(|roi| roi.spacepoints.len()).sum::<usize>() <= MOST_SPACEPOINTS {
        search(some, finder);
    }
    (rois, error)
}

/// Returns every RoI of a file, and the text of the error that ended it.
fn read(path: &Path, detector: &Detector, table: Option<RoiTable>) -> (Vec<Roi>, Option<String>) {
    let mut reader = SpacepointReader::new(vec![path.to_owned()], detector.clone(), table);
    let mut rois = Vec::new();
    let mut ended = None;
    for roi in reader.by_ref() {
        assert!(ended.is_none(), "it goes on after {ended:?}");
        match roi {
            Ok(roi) => rois.push(roi),
            Err(error) => {
                check_error(&error, path);
                ended = Some(error.to_string());
            }
        }
    }
    assert!(reader.next().is_none());
    assert!(reader.warnings().iter().all(|warning| !warning.is_empty()));
    (rois, ended)
}

/// Returns whether an RoI is the same when errors are skipped. One that occurs again later has an
/// invalid spacepoint at its end.
fn is_same(earlier: &Roi, skipping: &Roi) -> bool {
    let invalid = skipping.spacepoints.split_last().filter(|(last, _)| last.rho.is_nan());
    let rest = invalid.map_or(skipping.spacepoints.as_slice(), |(_, rest)| rest);
    earlier.descriptor == skipping.descriptor && earlier.spacepoints == rest
}

/// Reads on after errors: RoIs before the first error are the same, and reading ends.
fn check_skipping(path: &Path, detector: &Detector, before: &[Roi], is_error: bool) {
    let options = ReadOptions { on_error: OnError::Skip, ..ReadOptions::default() };
    let mut reader = SpacepointReader::new(vec![path.to_owned()], detector.clone(), None).with_options(options);
    let (mut ids, mut read) = (HashSet::new(), 0);
    for roi in reader.by_ref() {
        match roi {
            Ok(roi) => {
                assert!(ids.insert(roi.descriptor.id), "{:?} twice", roi.descriptor.id);
                assert!(
                    before.get(read).is_none_or(|earlier| is_same(earlier, &roi)),
                    "{:?} is another",
                    roi.descriptor.id
                );
                read += 1;
            }
            Err(error) => check_error(&error, path),
        }
    }
    assert!(read >= before.len() && (reader.errors() > 0) == is_error, "{read} RoIs, {} errors", reader.errors());
}

/// Reads spacepoints with a table of RoIs: each RoI comes out once.
fn with_rois(path: &Path, table: &Path) {
    let table = RoiTable::read(table).expect("a good table");
    let finder = finder(addressing(path, &ReadOptions::default()).unwrap_or(Addressing::Index));
    let (rois, error) = read(path, finder.detector(), Some(table.clone()));
    let ids: HashSet<RoiId> = rois.iter().map(|roi| roi.descriptor.id).collect();
    assert_eq!(ids.len(), rois.len(), "an RoI came twice");
    if error.is_none() {
        assert!(table.descriptors().iter().all(|descriptor| ids.contains(&descriptor.id)), "an RoI was lost");
    }
}

/// Checks that an error names the file, and a row in it.
fn check_error(error: &Error, path: &Path) {
    let said = error.to_string();
    let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
    assert!(said.contains(name), "no file in: {said}");
    let Error::Input { row, message, .. } = error else { return };
    assert!(!message.is_empty(), "{said}");
    let bytes = fs::read(path).expect("it was written");
    if *row == 0 || is_binary(&bytes) || is_damaged_gzip(&bytes) {
        return;
    }
    let Some(text) = line(path, *row) else { panic!("no row {row} for: {said}") };
    // A message quotes the invalid field.
    let field = message.strip_prefix('`').and_then(|rest| rest.split_once("` is not ")).map(|(field, _)| field);
    if let Some(field) = field.filter(|_| !text.contains('"')) {
        assert!(text.contains(field), "row {row} is `{text}`: {said}");
    }
}

/// Returns spacepoints of four straight tracks from one vertex through all layers.
fn tracks(detector: &Detector) -> Vec<Spacepoint> {
    let mut points = Vec::new();
    for (track, slope) in [0.5, -0.3, 0.2, -1.0].into_iter().enumerate() {
        for (layer, about) in (0..).zip(detector.layers()) {
            let (rho, z) = match about.kind {
                LayerKind::Barrel { radius_mm } => (radius_mm, 12.5 + slope * radius_mm),
                LayerKind::Endcap { z_mm, r_max_mm } => (0.9 * r_max_mm, z_mm * f64::signum(slope)),
            };
            points.push(Spacepoint { rho, phi: 0.9 * track as f64 - PI, z, layer });
        }
    }
    points
}

/// Builds an engine, if configuration and detector match, and searches a few tracks.
fn search_tracks(config: Config, detector: Detector) {
    let bins = (config.z_max_mm - config.z_min_mm) / config.z_bin_mm * 360.0 / config.phi_slice_deg;
    let finder = match built(config, detector) {
        Ok(finder) => finder,
        Err(error @ zfinder::Error::Config { .. }) => return assert!(!error.to_string().is_empty()),
        Err(error) => panic!("{error}"),
    };
    if bins <= MOST_BINS || !finder.config().histogram_per_slice {
        let window = PhiWindow::new(-3.0, 2.0).ok();
        let descriptor = RoiDescriptor { window, ..RoiDescriptor::default() };
        search(&[Roi { descriptor, spacepoints: tracks(finder.detector()) }], &finder);
    }
}

/// Searches RoIs together and one by one, which must give the same.
fn search(rois: &[Roi], finder: &ZFinder) {
    let batch: RoiBatch = rois.iter().cloned().collect();
    let results = finder.find_batch(&batch).expect("nothing is wrong with the RoIs");
    assert_eq!(results.len(), rois.len());
    for (result, roi) in results.iter().zip(rois) {
        check_result(result, roi, finder.config());
        assert_eq!(finder.find(roi).expect("as in the batch").roi(0), result);
    }
}

/// Checks the properties of every answer.
fn check_result(result: RoiResult<'_>, roi: &Roi, config: &Config) {
    assert_eq!(result.id(), roi.descriptor.id);
    assert_eq!(result.status() == Status::Ok, !result.vertices().is_empty(), "{result:?}");
    assert!(result.vertices().len() <= config.peaks as usize, "{result:?}");
    if !matches!(result.status(), Status::BadSpacepoint | Status::CapacityExceeded) {
        assert_eq!(
            result.summary().spacepoints + result.summary().outside_window,
            roi.spacepoints.len() as u64,
            "{result:?}"
        );
        assert_eq!(result.status() == Status::Empty, result.summary().spacepoints == 0, "{result:?}");
    }
    let (low, high) = roi.descriptor.z_range.unwrap_or((config.z_min_mm, config.z_max_mm));
    // Sums consist of steps within a bin.
    let bin = config.z_bin_mm + config.z_bin_eta_coeff * roi.descriptor.eta.abs();
    for vertex in result.vertices().iter() {
        assert!(vertex.z_mm >= low - bin && vertex.z_mm <= high + bin, "{vertex:?} outside of {low} to {high}");
        assert!(vertex.z_error_mm >= 0.0 && vertex.z_error_mm.is_finite(), "{vertex:?}");
        assert!(vertex.weight > 0.0 && vertex.weight.is_finite() && vertex.pairs > 0, "{vertex:?}");
        assert!(vertex.significance.is_none_or(f64::is_finite), "{vertex:?}");
        assert!(vertex.background.is_none_or(|background| background >= 0.0 && background.is_finite()), "{vertex:?}");
    }
}
