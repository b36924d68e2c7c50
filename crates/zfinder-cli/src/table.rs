//! The table of `find`, written row by row, with true vertices.

use std::io::{self, Write};

use zfinder::{Config, RoiResult};
use zfinder_io::TruthTable;
use zfinder_study::evaluate::WITHIN_MM;

/// Counts of true vertices that were found.
#[derive(Default)]
pub(super) struct Score {
    /// RoIs whose event has a hard scatter in the truth.
    rois: u64,
    /// RoIs whose first vertex is near.
    first: u64,
    /// RoIs with any near vertex.
    any: u64,
    without_truth: u64,
}

impl Score {
    pub(super) fn add(&mut self, truth: &TruthTable, result: RoiResult<'_>) {
        let Some(z) = truth.hard_scatter_z(result.id()) else {
            self.without_truth += 1;
            return;
        };
        let near = |vertex: zfinder::Vertex| (vertex.z_mm - z).abs() < WITHIN_MM;
        self.rois += 1;
        self.first += u64::from(result.vertices().first().is_some_and(near));
        self.any += u64::from(result.vertices().iter().any(near));
    }

    pub(super) fn summary(&self, config: &Config) -> String {
        let percent = |n: u64| 100.0 * n as f64 / self.rois.max(1) as f64;
        let mut text = format!(
            "{} RoI{} with truth: first vertex within {WITHIN_MM} mm of the true hard scatter in {} ({:.1} %)",
            self.rois,
            if self.rois == 1 { "" } else { "s" },
            self.first,
            percent(self.first),
        );
        let others = match (config.all_vertices, config.peaks) {
            (true, _) => Some("any".to_owned()),
            (false, 1) => None,
            (false, peaks) => Some(format!("any of at most {peaks}")),
        };
        if let Some(others) = others {
            text.push_str(&format!(", {others} in {} ({:.1} %)", self.any, percent(self.any)));
        }
        if self.without_truth > 0 {
            text.push_str(&format!("; {} without truth", self.without_truth));
        }
        text
    }
}

pub(super) fn header(out: &mut dyn Write, truth: bool) -> io::Result<()> {
    write!(out, "{:>10} {:>6} {:>6} {:>10} {:>8}", "event_id", "roi_id", "vertex", "z_mm", "error_mm")?;
    if truth {
        write!(out, " {:>10} {:>9}", "true_z_mm", "delta_mm")?;
    }
    writeln!(out, " {:>8} {:>12}  status", "weight", "significance")
}

/// Writes a row for each vertex of an RoI, or one without a vertex.
pub(super) fn rows(out: &mut dyn Write, truth: Option<&TruthTable>, result: RoiResult<'_>) -> io::Result<()> {
    (0..result.vertices().len().max(1)).try_for_each(|number| {
        row(out, truth, result, number)?;
        writeln!(out)
    })
}

/// Writes the row of the first vertex of an RoI, and why it is wrong.
pub(super) fn wrong_row(
    out: &mut dyn Write,
    truth: Option<&TruthTable>,
    result: RoiResult<'_>,
    reason: &str,
) -> io::Result<()> {
    row(out, truth, result, 0)?;
    writeln!(out, ", wrong: {reason}")
}

fn row(out: &mut dyn Write, truth: Option<&TruthTable>, result: RoiResult<'_>, number: usize) -> io::Result<()> {
    let id = result.id();
    let vertex = result.vertices().get(number);
    write!(out, "{:>10} {:>6}", id.event_id, id.roi_id)?;
    match vertex {
        Some(vertex) => write!(out, " {number:>6} {:>10.3} {:>8.3}", vertex.z_mm, vertex.z_error_mm)?,
        None => write!(out, " {:>6} {:>10} {:>8}", "-", "-", "-")?,
    }
    if let Some(truth) = truth {
        // The first row of an RoI shows the true vertex.
        let true_z = truth.hard_scatter_z(id).filter(|_| number == 0);
        match true_z {
            Some(z) => write!(out, " {z:>10.3}")?,
            None => write!(out, " {:>10}", "")?,
        }
        match true_z.zip(vertex) {
            Some((z, vertex)) => write!(out, " {:>9.3}", vertex.z_mm - z)?,
            None => write!(out, " {:>9}", "")?,
        }
    }
    match vertex {
        // A sum of probabilities has many digits.
        Some(vertex) if vertex.weight.fract() != 0.0 => write!(out, " {:>8.1}", vertex.weight)?,
        Some(vertex) => write!(out, " {:>8}", vertex.weight)?,
        None => write!(out, " {:>8}", "-")?,
    }
    match vertex.and_then(|vertex| vertex.significance) {
        Some(significance) => write!(out, " {significance:>12.1}")?,
        None => write!(out, " {:>12}", "-")?,
    }
    let is_insignificant = number == 0 && vertex.is_some_and(|vertex| !vertex.is_significant());
    write!(out, "  {}{}", result.status(), if is_insignificant { ", insignificant" } else { "" })
}
