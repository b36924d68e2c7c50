//! Reads the primary vertex of each event from a TTree.

use std::path::Path;

use column_names::{event_column, quoted};

use super::checksum;
use super::read::{Fault, open, trees};
use super::tree::{Column, Layout, damaged, kind};
use crate::error::{Error, Result};
use crate::guard::quietly;
use crate::source::failed;
use crate::truth_vertex::{EventVertices, TruthVertex};

const TRUTH: &str = "truth_pv_z";

/// Returns the truth of the tree of this name, or else of the only tree that has the branches.
pub(super) fn truth(path: &Path, tree: Option<&str>) -> Result<Option<EventVertices>> {
    std::fs::File::open(path).map_err(|source| failed(path, source))?;
    let read = quietly(|| read_truth(path, tree)).unwrap_or_else(|panic| Err(Fault::from(damaged(&panic))));
    read.map_err(|Fault { entry, branch, message }| {
        let message = entry.map_or_else(|| message.clone(), |entry| format!("entry {entry}: {message}"));
        Error::Input { path: path.to_owned(), row: 0, column: branch, message }
    })
}

fn read_truth(path: &Path, wanted: Option<&str>) -> Result<Option<EventVertices>, Fault> {
    checksum::verify(path)?;
    let mut fitting = Vec::new();
    let trees = trees(&mut open(path)?)?;
    for (name, tree) in &trees {
        let is_scalar = |branch: &str, whole: bool| {
            let kind = tree.branch(branch).and_then(kind);
            kind.is_some_and(|(layout, element)| layout == Layout::Scalar && element.is_whole() == whole)
        };
        let names: Vec<&str> = tree.branches().map(oxyroot::Branch::name).collect();
        // A tree whose event number is doubtful is no tree of truth.
        let event = event_column(names.iter().copied()).ok().flatten().filter(|event| is_scalar(event, true));
        if let Some(event) = event.filter(|_| is_scalar(TRUTH, false)) {
            fitting.push((name, tree, event.to_owned()));
        }
    }
    // Truth may be in a tree of its own.
    if fitting.iter().any(|(name, ..)| Some(name.as_str()) == wanted) {
        fitting.retain(|(name, ..)| Some(name.as_str()) == wanted);
    }
    let (_, tree, event) = match fitting.as_slice() {
        [] => return Ok(None),
        [only] => only,
        several => {
            let names = quoted(several.iter().map(|(name, ..)| name.as_str()));
            return Err(format!("the trees {names} have `{TRUTH}`; name the one that is to be read (--tree)").into());
        }
    };
    let column = |name: &str| Column::open(tree, name).ok_or_else(|| format!("branch `{name}` cannot be read"));
    let (mut event, mut z) = (column(event)?, column(TRUTH)?);
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
