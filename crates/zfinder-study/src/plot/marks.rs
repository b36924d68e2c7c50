//! Markers of vertices and titles of RoIs.

use hep_figure::{Colour, Entry, Key, Marker, Symbol};
use zfinder::Vertex;
use zfinder_io::{TruthVertex, primary_z};

use crate::inspect::Inspection;

pub(super) fn found() -> Marker {
    Marker { symbol: Symbol::Down, is_filled: true, colour: Colour::numbered(2), size: 6.0 }
}

pub(super) fn of_truth(is_hard_scatter: bool) -> Marker {
    if is_hard_scatter {
        Marker { symbol: Symbol::Diamond, is_filled: true, colour: Colour::numbered(0), size: 6.5 }
    } else {
        Marker { symbol: Symbol::Disc, is_filled: false, colour: Colour::numbered(0), size: 3.5 }
    }
}

/// Returns the legend entries of the true vertices.
pub(super) fn truth_entries(truth: &[TruthVertex]) -> Vec<Entry> {
    [(true, "true hard scatter"), (false, "true pile-up")]
        .into_iter()
        .filter(|(is_hard_scatter, _)| truth.iter().any(|vertex| vertex.is_hard_scatter == *is_hard_scatter))
        .map(|(is_hard_scatter, name)| Entry::new(Key::Marker(of_truth(is_hard_scatter)), name))
        .collect()
}

/// Returns the title of an RoI: its answer, its truth, and the configuration.
pub(super) fn title(inspection: &Inspection, found: &[Vertex], truth: &[TruthVertex]) -> String {
    let summary = &inspection.summary;
    let mut title = format!(
        "event {}, RoI {}: {}",
        summary.id.event_id,
        summary.id.roi_id,
        match found.len() {
            1 => "1 vertex".to_owned(),
            number => format!("{number} vertices"),
        }
    );
    match found.first() {
        Some(first) => title.push_str(&format!(", first z = {:.2} mm", first.z_mm)),
        None => title.push_str(&format!(" (status {})", summary.status)),
    }
    if !truth.is_empty() {
        title.push_str(&format!("; {} true", truth.len()));
    }
    if let Some(z_mm) = primary_z(truth) {
        let histogram = inspection.histogram();
        let is_outside = z_mm < histogram.low_mm || z_mm > histogram.high_mm();
        let outside = if is_outside { ", outside the histogram" } else { "" };
        title.push_str(&format!(", hard scatter {z_mm:.2} mm{outside}"));
    }
    title.push_str(&format!("; {}, {}", inspection.detector, inspection.configuration));
    title
}
