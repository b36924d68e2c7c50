//! Writes spacepoints as text: zfinder's own CSV in one stream, and formats with one file an event.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::spacepoint_writer::SpacepointWriter;
use crate::error::{Error, Result};
use zfinder::Detector;
use zfinder::{RoiBatch, RoiView, Spacepoint};

/// The header of the rows of [`CsvWriter`].
const HEADER: &str = "event_id,roi_id,rho,phi,z,layer\n";

/// RoIs are formatted once this many spacepoints for each thread of rayon's pool are buffered:
/// about 1 MB of text.
const SPACEPOINTS_A_THREAD: usize = 16_384;
/// RoIs are formatted once this many are buffered, because RoIs may be empty.
const MOST_ROIS: usize = 16_384;

/// Writes zfinder's own format, `event_id,roi_id,rho,phi,z,layer` (mm, rad). Numbers have the
/// shortest form that reads back to the same bits. RoIs are buffered, formatted on all threads of
/// rayon's pool and written in order. An RoI without spacepoints has no row.
///
/// ```
/// use zfinder_io::{CsvWriter, SpacepointWriter};
/// use zfinder::{Roi, Spacepoint};
/// let spacepoints = vec![Spacepoint { rho: 50.5, phi: 0.1, z: -12.25, layer: 0 }];
/// let roi = Roi { spacepoints, ..Roi::default() };
/// let mut text = Vec::new();
/// let mut writer = Box::new(CsvWriter::new(&mut text, "a vector"));
/// writer.write((&roi).into())?;
/// writer.finish()?;
/// assert_eq!(text, b"event_id,roi_id,rho,phi,z,layer\n0,0,50.5,0.1,-12.25,0\n");
/// # Ok::<(), zfinder_io::Error>(())
/// ```
pub struct CsvWriter<W> {
    out: W,
    name: PathBuf,
    begun: bool,
    kept: RoiBatch,
    /// Reused text buffers, one for each thread.
    texts: Vec<Vec<u8>>,
    /// The end of a row for each layer.
    ends: Vec<String>,
}

impl<W: Write> CsvWriter<W> {
    /// Writes to `out`, which error messages call `name`.
    pub fn new(out: W, name: impl Into<PathBuf>) -> Self {
        let ends = (0..=u8::MAX).map(|layer| format!(",{layer}\n")).collect();
        Self { out, name: name.into(), begun: false, kept: RoiBatch::new(), texts: Vec::new(), ends }
    }

    fn pass_on(&mut self) -> Result<()> {
        let parts = self.kept.split(rayon::current_num_threads());
        self.texts.resize_with(parts.len().max(self.texts.len()), Vec::new);
        let (ends, kept) = (&self.ends, &self.kept);
        self.texts.par_iter_mut().zip(&parts).for_each(|(text, part)| {
            text.clear();
            part.clone().for_each(|index| rows(text, kept.roi(index), ends));
        });
        let header = if self.begun { "" } else { HEADER };
        self.begun = true;
        let texts = std::iter::once(header.as_bytes()).chain(self.texts.iter().take(parts.len()).map(Vec::as_slice));
        for text in texts {
            self.out.write_all(text).map_err(|source| failed(&self.name, source))?;
        }
        self.kept.clear();
        Ok(())
    }
}

impl<W: Write> SpacepointWriter for CsvWriter<W> {
    fn write(&mut self, roi: RoiView<'_>) -> Result<()> {
        self.kept.push(*roi.descriptor, roi.spacepoints());
        if is_enough(&self.kept) { self.pass_on() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.pass_on()?;
        self.out.flush().map_err(|source| failed(&self.name, source))
    }
}

fn is_enough(kept: &RoiBatch) -> bool {
    kept.count_spacepoints() >= SPACEPOINTS_A_THREAD * rayon::current_num_threads() || kept.len() >= MOST_ROIS
}

fn failed(path: &Path, source: io::Error) -> Error {
    Error::Io { path: path.to_owned(), source }
}

fn rows(text: &mut Vec<u8>, roi: RoiView<'_>, ends: &[String]) {
    let id = roi.descriptor.id;
    let begin = format!("{},{},", id.event_id, id.roi_id);
    for s in roi.spacepoints() {
        text.extend_from_slice(begin.as_bytes());
        numbers(text, [s.rho, s.phi, s.z]);
        // A batch stores layers in one byte.
        text.extend_from_slice(ends[s.layer as usize].as_bytes());
    }
}

/// Appends numbers, separated by commas, in the shortest form that reads back to the same bits.
fn numbers<F: zmij::Float, const N: usize>(text: &mut Vec<u8>, numbers: [F; N]) {
    let mut buffer = zmij::Buffer::new();
    for (at, number) in numbers.into_iter().enumerate() {
        if at > 0 {
            text.push(b',');
        }
        text.extend_from_slice(buffer.format(number).as_bytes());
    }
}

/// Formats a row from the spacepoint's number in its event, the spacepoint, and its (volume,
/// layer).
type Row = Box<dyn Fn(&mut Vec<u8>, usize, &Spacepoint, (u32, u32)) + Send + Sync>;

/// Writes one file for each event. The detector must have (volume, layer) ids. If a layer has two
/// ids, the first is at -z and the second at +z, as in [`Detector::generic`]. An event is one RoI,
/// because these formats have no RoIs: a second RoI of the same event is an error. An existing file
/// is an error too.
///
/// Numbers have the shortest form that reads back to the same bits, in single precision in ACTS's
/// files. x and y are computed from rho and phi.
pub struct EventFiles {
    folder: PathBuf,
    ending: &'static str,
    header: &'static str,
    row: Row,
    detector: String,
    /// Ids of each layer, at -z and at +z.
    ids: Vec<[(u32, u32); 2]>,
    kept: RoiBatch,
}

impl EventFiles {
    /// Writes ACTS's `eventNNNNNNNNN-spacepoint.csv` into an existing folder. `measurement_id_1`
    /// counts the spacepoints of the event, and the second measurement is empty; `geometry_id_1`
    /// has the bits of volume and layer and no module; `t` is empty. `variances` are `var_r` and
    /// `var_z` \[mm^2\] of each layer.
    ///
    /// # Errors
    /// A detector without ids, and a number of variances that differs from the number of layers.
    pub fn acts(folder: &Path, detector: &Detector, variances: &[[f64; 2]]) -> Result<Self> {
        if variances.len() != detector.layers().len() {
            let reason = format!("has {} layers; {} have variances", detector.layers().len(), variances.len());
            return Err(zfinder::Error::Detector { detector: detector.name().into(), layer: None, reason }.into());
        }
        let variances: Vec<String> = variances.iter().map(|[r, z]| format!(",nan,{r},{z}\n")).collect();
        let header = "measurement_id_1,measurement_id_2,geometry_id_1,geometry_id_2,x,y,z,t,var_r,var_z\n";
        let row: Row = Box::new(move |text, number, s, (volume, layer)| {
            let geometry_id = u64::from(volume) << 56 | u64::from(layer) << 36;
            text.extend_from_slice(format!("{number},{},{geometry_id},0,", u64::MAX).as_bytes());
            // Single precision, as ACTS writes.
            numbers(text, [s.rho * s.phi.cos(), s.rho * s.phi.sin(), s.z].map(|number| number as f32));
            text.extend_from_slice(variances[s.layer as usize].as_bytes());
        });
        Self::new(folder, "spacepoint", header, detector, row)
    }

    /// Writes TrackML's `eventNNNNNNNNN-hits.csv` into an existing folder. `hit_id` counts from 1;
    /// `module_id` is 0, which no module has.
    ///
    /// # Errors
    /// A detector without ids.
    pub fn trackml(folder: &Path, detector: &Detector) -> Result<Self> {
        let row: Row = Box::new(|text, number, s, (volume, layer)| {
            text.extend_from_slice(format!("{},", number + 1).as_bytes());
            numbers(text, [s.rho * s.phi.cos(), s.rho * s.phi.sin(), s.z]);
            text.extend_from_slice(format!(",{volume},{layer},0\n").as_bytes());
        });
        Self::new(folder, "hits", "hit_id,x,y,z,volume_id,layer_id,module_id\n", detector, row)
    }

    fn new(folder: &Path, ending: &'static str, header: &'static str, detector: &Detector, row: Row) -> Result<Self> {
        let mut ids = Vec::new();
        for (number, layer) in (0..).zip(detector.layers()) {
            let (Some(first), Some(last)) = (layer.ids.first(), layer.ids.get(1).or(layer.ids.first())) else {
                let reason = "no (volume, layer) ids, by which these files call layers".to_owned();
                let (detector, layer) = (detector.name().into(), Some(number));
                return Err(zfinder::Error::Detector { detector, layer, reason }.into());
            };
            ids.push([*first, *last]);
        }
        let (folder, detector) = (folder.to_owned(), detector.name().to_owned());
        Ok(Self { folder, ending, header, row, detector, ids, kept: RoiBatch::new() })
    }

    /// Returns the file of an event.
    fn path(&self, event_id: u64) -> PathBuf {
        self.folder.join(format!("event{event_id:09}-{}.csv", self.ending))
    }

    fn pass_on(&mut self) -> Result<()> {
        let this = &*self;
        (0..this.kept.len()).into_par_iter().try_for_each(|index| this.event(this.kept.roi(index)))?;
        self.kept.clear();
        Ok(())
    }

    fn event(&self, roi: RoiView<'_>) -> Result<()> {
        let mut text = self.header.as_bytes().to_vec();
        for (number, s) in roi.spacepoints().enumerate() {
            let Some(sides) = self.ids.get(s.layer as usize) else {
                let reason = format!("has {} layers, and a spacepoint is of layer {}", self.ids.len(), s.layer);
                return Err(zfinder::Error::Detector { detector: self.detector.clone(), layer: None, reason }.into());
            };
            (self.row)(&mut text, number, &s, sides[usize::from(s.z > 0.0)]);
        }
        let path = self.path(roi.descriptor.id.event_id);
        let written = File::create_new(&path).and_then(|mut file| file.write_all(&text));
        written.map_err(|source| failed(&path, source))
    }
}

impl SpacepointWriter for EventFiles {
    fn write(&mut self, roi: RoiView<'_>) -> Result<()> {
        self.kept.push(*roi.descriptor, roi.spacepoints());
        if is_enough(&self.kept) { self.pass_on() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.pass_on()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zfinder::{Roi, RoiDescriptor, RoiId};

    fn roi(event_id: u64, spacepoints: Vec<Spacepoint>) -> Roi {
        Roi { descriptor: RoiDescriptor { id: RoiId { event_id, roi_id: 3 }, ..RoiDescriptor::default() }, spacepoints }
    }

    #[test]
    fn every_number_reads_back_as_the_same_bits() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut points = vec![
            Spacepoint { rho: 5e-324, phi: -0.0, z: f64::MAX, layer: 254 },
            Spacepoint { rho: 1e21, phi: 1e-7, z: 0.1 + 0.2, layer: 10 },
        ];
        // Any finite number of any magnitude.
        let mut number = || loop {
            let number = f64::from_bits(rng.u64(..));
            if number.is_finite() {
                return number;
            }
        };
        points.extend((0..2000).map(|i| Spacepoint { rho: number(), phi: number(), z: number(), layer: i % 255 }));
        let mut text = Vec::new();
        let mut writer = Box::new(CsvWriter::new(&mut text, "text"));
        writer.write((&roi(7, points.clone())).into()).expect("written");
        writer.write((&roi(8, Vec::new())).into()).expect("written");
        writer.finish().expect("written");
        let text = String::from_utf8(text).expect("text");
        assert_eq!(text.lines().next(), Some(HEADER.trim_end()));
        assert_eq!(text.lines().count(), 1 + points.len(), "an RoI without spacepoints has no row");
        for (row, point) in text.lines().skip(1).zip(&points) {
            let fields: Vec<&str> = row.split(',').collect();
            assert_eq!((fields[0], fields[1], fields[5]), ("7", "3", &*point.layer.to_string()));
            let bits = [2, 3, 4].map(|at| fields[at].parse::<f64>().expect("a number").to_bits());
            assert_eq!(bits, [point.rho, point.phi, point.z].map(f64::to_bits), "{row}");
        }
    }

    #[test]
    fn a_writer_that_cannot_write_says_so() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let error = Box::new(CsvWriter::new(Full, "full.csv")).finish().expect_err("no room");
        assert!(error.to_string().starts_with("full.csv: "), "{error}");
    }

    #[test]
    fn event_files_refuse_what_they_have_no_room_for() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let (atlas, generic) = (Detector::atlas2010(), Detector::generic());
        let error = EventFiles::trackml(dir.path(), &atlas).err().expect("no ids").to_string();
        assert!(error.contains("atlas2010") && error.contains("layer 0: no (volume, layer) ids"), "{error}");
        let error = EventFiles::acts(dir.path(), &generic, &[[0.0; 2]]).err().expect("one is not 29").to_string();
        assert!(error.contains("has 29 layers; 1 have variances"), "{error}");

        let files = || Box::new(EventFiles::trackml(dir.path(), &generic).expect("ids"));
        let point = |layer| Spacepoint { rho: 32.0, phi: 0.0, z: 1.0, layer };
        let write = |mut files: Box<EventFiles>, roi: Roi| files.write((&roi).into()).and_then(|()| files.finish());
        let error = write(files(), roi(1, vec![point(29)])).expect_err("29 is none").to_string();
        assert!(error.contains("a spacepoint is of layer 29"), "{error}");
        write(files(), roi(2, vec![point(0)])).expect("written");
        let error = write(files(), roi(2, vec![point(0)])).expect_err("it is there").to_string();
        assert!(error.contains("event000000002-hits.csv"), "{error}");
        let text = std::fs::read_to_string(dir.path().join("event000000002-hits.csv")).expect("a file");
        assert_eq!(text, "hit_id,x,y,z,volume_id,layer_id,module_id\n1,32.0,0.0,1.0,8,2,0\n");
    }
}
