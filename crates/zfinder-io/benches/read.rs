//! Benchmarks of reading files of spacepoints from end to end: `cargo bench -p zfinder-io --bench
//! read`. An item is a spacepoint. Data are generated from a seed in a temporary folder. The
//! spacepoints read are compared with those written, bit by bit.

#[path = "../tests/parquet/columns.rs"]
mod columns;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use columns::Column;
use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use tempfile::TempDir;
use zfinder::{Detector, Roi, RoiDescriptor, RoiId, Spacepoint};
#[cfg(feature = "root")]
use zfinder_io::RootSpacepoints;
use zfinder_io::{CsvWriter, ParquetSpacepoints, SpacepointReader, SpacepointWriter};

fn main() {
    divan::main();
}

const EVENTS: u64 = 100;
const SPACEPOINTS: usize = 10_000;

struct Point {
    xyz: [f64; 3],
    layer: u8,
}

/// Points in single precision, as detectors give them.
fn points() -> Vec<Point> {
    let mut random = fastrand::Rng::with_seed(6);
    let layers = Detector::generic().layers().len() as u8;
    let mut point = || {
        let (rho, phi) = (30.0 + 1000.0 * random.f64(), std::f64::consts::TAU * random.f64());
        let xyz = [rho * phi.cos(), rho * phi.sin(), 3000.0 * (random.f64() - 0.5)];
        Point { xyz: xyz.map(|value| f64::from(value as f32)), layer: random.u8(..layers) }
    };
    (0..EVENTS as usize * SPACEPOINTS).map(|_| point()).collect()
}

fn spacepoint(point: &Point) -> Spacepoint {
    let [x, y, z] = point.xyz;
    Spacepoint::from_xyz(x, y, z, point.layer.into())
}

/// RoI 0 of each event.
fn rois(points: &[Point]) -> impl Iterator<Item = Roi> {
    (0..EVENTS).map(move |event_id| {
        let of_event = event_id as usize * SPACEPOINTS..(event_id as usize + 1) * SPACEPOINTS;
        let id = RoiId { event_id, roi_id: 0 };
        let descriptor = RoiDescriptor { id, ..RoiDescriptor::default() };
        Roi { descriptor, spacepoints: points[of_event].iter().map(spacepoint).collect() }
    })
}

/// The timed work: from a file's name to its RoIs.
fn read(path: &Path) -> impl Iterator<Item = Roi> {
    let rois = SpacepointReader::new(vec![path.to_owned()], Detector::generic(), None);
    rois.map(|roi| roi.expect("a good file"))
}

/// Writes a file, checks what is read of it, and times that; the event file's bytes are counted
/// too.
fn bench(bencher: Bencher<'_, '_>, points: Vec<Point>, write: impl FnOnce(&Path, &[Point])) {
    let folder = TempDir::new().expect("a temporary folder");
    let path: PathBuf = folder.path().join("spacepoints");
    write(&path, &points);
    assert!(read(&path).eq(rois(&points)), "other spacepoints were read than were written");
    let bytes = path.metadata().expect("a file").len();
    bencher
        .counter(ItemsCount::new(EVENTS * SPACEPOINTS as u64))
        .counter(BytesCount::new(bytes))
        .bench_local(|| read(&path).map(|roi| roi.spacepoints.len()).sum::<usize>());
}

/// A row a spacepoint, as pandas and polars write it: all columns may hold nulls.
fn write_rows(path: &Path, mut columns: Vec<(&str, Column)>) {
    let events: Vec<u64> = (0..EVENTS).flat_map(|event| std::iter::repeat_n(event, SPACEPOINTS)).collect();
    columns.insert(0, ("event_id", Column::flat(&events)));
    let zstd = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
    columns::write(path, &columns, zstd, 1 << 20);
}

fn write_all(points: &[Point], mut writer: Box<dyn SpacepointWriter>) {
    rois(points).for_each(|roi| writer.write((&roi).into()).expect("written"));
    writer.finish().expect("written");
}

#[divan::bench(sample_count = 10)]
fn parquet_rows_xyz_f32(bencher: Bencher<'_, '_>) {
    bench(bencher, points(), |path, points| {
        let column = |axis: usize| Column::flat(&points.iter().map(|point| point.xyz[axis] as f32).collect::<Vec<_>>());
        let layer = Column::flat(&points.iter().map(|point| point.layer).collect::<Vec<_>>());
        write_rows(path, vec![("x", column(0)), ("y", column(1)), ("z", column(2)), ("layer", layer)]);
    });
}

#[divan::bench(sample_count = 10)]
fn parquet_rows_rho_phi_z_f64(bencher: Bencher<'_, '_>) {
    bench(bencher, points(), |path, points| {
        let points: Vec<Spacepoint> = points.iter().map(spacepoint).collect();
        let column = |of: fn(&Spacepoint) -> f64| Column::flat(&points.iter().map(of).collect::<Vec<_>>());
        let layer = Column::flat(&points.iter().map(|point| point.layer as u8).collect::<Vec<_>>());
        let rho = column(|point| point.rho);
        write_rows(
            path,
            vec![("rho", rho), ("phi", column(|point| point.phi)), ("z", column(|point| point.z)), ("layer", layer)],
        );
    });
}

/// A row an RoI, with lists, as this crate writes it.
#[divan::bench(sample_count = 10)]
fn parquet_lists_rho_phi_z_f64(bencher: Bencher<'_, '_>) {
    bench(bencher, points(), |path, points| {
        let file = File::create(path).expect("a file");
        write_all(points, Box::new(ParquetSpacepoints::new(file, path).expect("a writer")));
    });
}

/// A TTree, an entry an RoI, as this crate writes it: uncompressed.
#[cfg(feature = "root")]
#[divan::bench(sample_count = 10)]
fn root_vectors_rho_phi_z_f64(bencher: Bencher<'_, '_>) {
    bench(bencher, points(), |path, points| {
        write_all(points, Box::new(RootSpacepoints::create(path).expect("a writer")))
    });
}

/// The own format, as this crate writes it: bytes a second are those of the text.
#[divan::bench(sample_count = 10)]
fn csv_rho_phi_z(bencher: Bencher<'_, '_>) {
    bench(bencher, points(), |path, points| {
        let file = File::create(path).expect("a file");
        write_all(points, Box::new(CsvWriter::new(file, "spacepoints.csv")));
    });
}

fn write_csv_x_y_z(path: &Path, points: &[Point]) {
    let mut file = BufWriter::new(File::create(path).expect("a file"));
    writeln!(file, "event_id,x,y,z,layer").expect("written");
    for (number, point) in points.iter().enumerate() {
        let [x, y, z] = point.xyz;
        writeln!(file, "{},{x},{y},{z},{}", number / SPACEPOINTS, point.layer).expect("written");
    }
    file.flush().expect("written");
}

#[divan::bench(sample_count = 10)]
fn csv_x_y_z(bencher: Bencher<'_, '_>) {
    bench(bencher, points(), write_csv_x_y_z);
}

/// Of whole multiples of 0.1 um, as TrackML's hits: rows of 32 bytes.
#[divan::bench(sample_count = 10)]
fn csv_x_y_z_short(bencher: Bencher<'_, '_>) {
    let mut points = points();
    for value in points.iter_mut().flat_map(|point| &mut point.xyz) {
        *value = (*value * 1e4).round() / 1e4;
    }
    bench(bencher, points, write_csv_x_y_z);
}
