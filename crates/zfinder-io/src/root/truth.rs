//! Reads the primary vertex of each event from a TTree.

use std::path::Path;

use column_names::event_column;
use oxyroot::ReaderTree;

use super::checksum;
use super::read::{Fault, get_tree};
use super::tree::{Column, Layout, damaged, kind};
use crate::column_map::ColumnMap;
use crate::error::{Error, Result};
use crate::guard::quietly;
use crate::truth_vertex::{EventVertices, TruthVertex};

/// The branch of the z of the primary vertex \[mm\].
pub(super) const TRUTH: &str = "truth_pv_z";

/// Returns the names in the file of the event number and of the truth, if both are among these.
pub(super) fn names(in_file: Vec<String>, columns: &ColumnMap) -> Option<[String; 2]> {
    let columns = columns.of_those(in_file.iter().map(String::as_str));
    let names = columns.names(in_file).ok()?;
    // A tree whose event number is doubtful is no tree of truth.
    let event = event_column(names.iter().map(|(known, _)| known.as_str())).ok().flatten()?;
    let in_file = |wanted| Some(names.iter().find(|(known, _)| known == wanted)?.1.clone());
    Some([in_file(event)?, in_file(TRUTH)?])
}

/// Returns the branches of the event number and of the truth if a tree has both.
fn branches(tree: &ReaderTree, columns: &ColumnMap) -> Option<[String; 2]> {
    let is_scalar =
        |branch: &String| tree.branch(branch).and_then(kind).is_some_and(|(layout, _)| layout == Layout::Scalar);
    let branches = names(tree.branches().map(|branch| branch.name().to_owned()).collect(), columns)?;
    branches.iter().all(is_scalar).then_some(branches)
}

pub(super) fn has_truth(tree: &ReaderTree, columns: &ColumnMap) -> bool {
    branches(tree, columns).is_some()
}

/// Returns the truth of a tree.
pub(super) fn truth(path: &Path, tree: &str, columns: &ColumnMap) -> Result<Option<EventVertices>> {
    let read = quietly(|| read_truth(path, tree, columns)).unwrap_or_else(|panic| Err(Fault::from(damaged(&panic))));
    read.map_err(|Fault { entry, branch, message }| {
        let message = entry.map_or_else(|| message.clone(), |entry| format!("entry {entry}: {message}"));
        Error::Input { path: path.to_owned(), row: 0, column: branch, message }
    })
}

fn read_truth(path: &Path, tree: &str, columns: &ColumnMap) -> Result<Option<EventVertices>, Fault> {
    checksum::verify(path)?;
    let tree = &get_tree(path, tree)?;
    let Some([event, z]) = branches(tree, columns) else { return Ok(None) };
    let column = |name: &str| Column::open(tree, name).ok_or_else(|| format!("branch `{name}` cannot be read"));
    let (mut event, mut z) = (column(&event)?, column(&z)?);
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
