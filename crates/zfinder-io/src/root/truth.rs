//! Reads the primary vertex of each event from a TTree.

use std::path::Path;

use column_names::event_column;
use oxyroot::ReaderTree;

use super::checksum;
use super::read::{Fault, get_tree};
use super::tree::{Column, Layout, damaged, kind};
use crate::error::{Error, Result};
use crate::guard::quietly;
use crate::truth_vertex::{EventVertices, TruthVertex};

/// The branch of the z of the primary vertex \[mm\].
pub(super) const TRUTH: &str = "truth_pv_z";

/// Returns the column of the event number if a tree has it and the truth.
fn event_of(tree: &ReaderTree) -> Option<String> {
    let is_scalar =
        |branch: &str| tree.branch(branch).and_then(kind).is_some_and(|(layout, _)| layout == Layout::Scalar);
    let names: Vec<&str> = tree.branches().map(oxyroot::Branch::name).collect();
    // A tree whose event number is doubtful is no tree of truth.
    let event = event_column(names.iter().copied()).ok().flatten()?;
    (is_scalar(event) && is_scalar(TRUTH)).then(|| event.to_owned())
}

pub(super) fn has_truth(tree: &ReaderTree) -> bool {
    event_of(tree).is_some()
}

/// Returns the truth of a tree.
pub(super) fn truth(path: &Path, tree: &str) -> Result<Option<EventVertices>> {
    let read = quietly(|| read_truth(path, tree)).unwrap_or_else(|panic| Err(Fault::from(damaged(&panic))));
    read.map_err(|Fault { entry, branch, message }| {
        let message = entry.map_or_else(|| message.clone(), |entry| format!("entry {entry}: {message}"));
        Error::Input { path: path.to_owned(), row: 0, column: branch, message }
    })
}

fn read_truth(path: &Path, tree: &str) -> Result<Option<EventVertices>, Fault> {
    checksum::verify(path)?;
    let tree = &get_tree(path, tree)?;
    let Some(event) = event_of(tree) else { return Ok(None) };
    let column = |name: &str| Column::open(tree, name).ok_or_else(|| format!("branch `{name}` cannot be read"));
    let (mut event, mut z) = (column(&event)?, column(TRUTH)?);
    let mut vertices = Vec::new();
    let mut entry = 0;
    while let Some(bytes) = event.bytes(entry)? {
        let event_id = event.whole_number(entry, &bytes)?;
        let mut number = Vec::with_capacity(1);
        z.element.append_numbers(&z.needed_bytes(entry)?, &mut number);
        match number.first() {
            Some(&z_mm) if z_mm.is_finite() => {
                vertices.push((event_id, vec![TruthVertex { z_mm, is_hard_scatter: true, ..TruthVertex::default() }]));
            }
            other => return Err(z.fault(entry, format!("{} is not finite", other.copied().unwrap_or(f64::NAN)))),
        }
        entry += 1;
    }
    Ok(Some(vertices))
}
