//! Writes histograms of z as CSV and as UHI JSON.

use std::io::{self, Write};

use serde::Serialize;

use crate::inspect::Inspection;

/// The header of the CSV of [`HistogramWriter`]. New columns will be added at the end.
pub const HISTOGRAM_CSV_HEADER: &str = "event_id,roi_id,z_low_mm,z_high_mm,weight,z_sum_mm,pairs";

/// Formats of histograms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistogramFormat {
    /// A row for each bin of each RoI.
    Csv,
    /// One JSON document with histograms named `event_3_roi_0`, each in UHI schema 1
    /// (<https://uhi.readthedocs.io>), which scikit-hep's hist and boost-histogram read. Values are
    /// weights. Metadata are the RoI's numbers, status, spacepoints and background.
    Uhi,
}

/// Writes the histograms of RoIs one after another: for each RoI the sum of its histograms
/// ([`Inspection::histogram`]). An RoI without histograms is left out.
///
/// ```
/// use zfinder::{Detector, Engine, Roi, ZFinder};
/// use zfinder_study::histogram_writer::{HistogramFormat, HistogramWriter};
/// use zfinder_study::inspect::Inspect;
///
/// let finder = ZFinder::builder(Detector::atlas2010()).engine(Engine::Reference).build()?;
/// let mut out = Vec::new();
/// let mut writer = HistogramWriter::new(HistogramFormat::Csv);
/// writer.write(&mut out, &finder.inspect(&Roi::default())?)?;
/// writer.finish(&mut out)?;
/// let text = String::from_utf8(out)?;
/// assert_eq!(text.lines().count(), 1 + 1335);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct HistogramWriter {
    format: HistogramFormat,
    written: usize,
}

#[derive(Serialize)]
struct Uhi<'a> {
    uhi_schema: u32,
    writer_info: WriterInfo,
    metadata: Metadata,
    axes: [Axis; 1],
    storage: Storage<'a>,
}

#[derive(Serialize)]
struct WriterInfo {
    zfinder: Version,
}

#[derive(Serialize)]
struct Version {
    version: &'static str,
}

#[derive(Serialize)]
struct Metadata {
    event_id: u64,
    roi_id: u64,
    status: &'static str,
    spacepoints: u64,
    /// Number of histograms in the sum.
    histograms: usize,
    /// Absent without a background, because the schema has no null.
    #[serde(skip_serializing_if = "Option::is_none")]
    background: Option<f64>,
}

#[derive(Serialize)]
struct Axis {
    #[serde(rename = "type")]
    kind: &'static str,
    lower: f64,
    upper: f64,
    bins: usize,
    underflow: bool,
    overflow: bool,
    circular: bool,
    metadata: AxisMetadata,
}

#[derive(Serialize)]
struct AxisMetadata {
    name: &'static str,
    label: &'static str,
}

#[derive(Serialize)]
struct Storage<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    values: &'a [u64],
}

impl HistogramWriter {
    /// Makes a writer.
    pub fn new(format: HistogramFormat) -> Self {
        Self { format, written: 0 }
    }

    /// Writes the histogram of an RoI. In CSV the header comes before the first.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write(&mut self, out: &mut dyn Write, inspection: &Inspection) -> io::Result<()> {
        if inspection.histograms.is_empty() {
            return Ok(());
        }
        self.begin(out)?;
        match self.format {
            HistogramFormat::Csv => write_csv(out, inspection)?,
            HistogramFormat::Uhi => {
                let id = inspection.summary.id;
                let comma = if self.written > 0 { "," } else { "" };
                write!(out, "{comma}\n\"event_{}_roi_{}\": ", id.event_id, id.roi_id)?;
                write_uhi(out, inspection)?;
            }
        }
        self.written += 1;
        Ok(())
    }

    /// Ends the document, which is incomplete before.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.begin(out)?;
        match self.format {
            HistogramFormat::Csv => Ok(()),
            HistogramFormat::Uhi => out.write_all(b"\n}\n"),
        }
    }

    fn begin(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.format {
            _ if self.written > 0 => Ok(()),
            HistogramFormat::Csv => writeln!(out, "{HISTOGRAM_CSV_HEADER}"),
            HistogramFormat::Uhi => out.write_all(b"{"),
        }
    }
}

fn write_csv(out: &mut dyn Write, inspection: &Inspection) -> io::Result<()> {
    let (id, histogram) = (inspection.summary.id, inspection.histogram());
    for (bin, (weight, z_sum)) in histogram.weights.iter().zip(&histogram.z_sums_mm).enumerate() {
        let ((low, high), pairs) = (histogram.edges_mm(bin), histogram.pairs[bin]);
        let [low, high] = [low, high].map(rounded);
        writeln!(out, "{},{},{low},{high},{weight},{z_sum},{pairs}", id.event_id, id.roi_id)?;
    }
    Ok(())
}

fn write_uhi(out: &mut dyn Write, inspection: &Inspection) -> io::Result<()> {
    let (summary, histogram) = (&inspection.summary, inspection.histogram());
    let uhi = Uhi {
        uhi_schema: 1,
        writer_info: WriterInfo { zfinder: Version { version: env!("CARGO_PKG_VERSION") } },
        metadata: Metadata {
            event_id: summary.id.event_id,
            roi_id: summary.id.roi_id,
            status: summary.status.as_str(),
            spacepoints: summary.spacepoints,
            histograms: inspection.histograms.len(),
            background: inspection.background,
        },
        axes: [Axis {
            kind: "regular",
            lower: rounded(histogram.low_mm),
            upper: rounded(histogram.high_mm()),
            bins: histogram.weights.len(),
            underflow: false,
            overflow: false,
            circular: false,
            metadata: AxisMetadata { name: "z", label: "z [mm]" },
        }],
        storage: Storage { kind: "int", values: &histogram.weights },
    };
    Ok(serde_json::to_writer(out, &uhi)?)
}

/// Rounds an edge \[mm\] to a femtometre, which removes the digits of rounding errors.
fn rounded(edge_mm: f64) -> f64 {
    (edge_mm * 1e12).round() / 1e12
}
