//! Chooses the TTree or the RNTuple of a file.

use std::path::Path;

use column_names::quoted;
use oxyroot::ReaderTree;

use super::checksum;
use super::read::{get_tree, layout};
use super::tree::damaged;
use super::{ntuple, truth};
use crate::column_map::ColumnMap;
use crate::error::{Error, Result};
use crate::event::ReadOptions;
use crate::guard::quietly;
use crate::schema::WANTED;

/// A set of entries in a ROOT file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entries {
    Tree(String),
    NTuple(String),
}

impl Entries {
    fn name(&self) -> &str {
        match self {
            Self::Tree(name) | Self::NTuple(name) => name,
        }
    }

    fn in_words(&self) -> String {
        match self {
            Self::Tree(name) => format!("tree `{name}`"),
            Self::NTuple(name) => format!("RNTuple `{name}`"),
        }
    }
}

/// Returns the trees and RNTuples of a file in the order of its keys, each once, and the names and
/// classes of its other objects.
fn list(path: &Path) -> Result<(Vec<Entries>, Vec<String>)> {
    let (mut entries, mut others) = (Vec::new(), Vec::new());
    for object in ntuple::open_file(path)?.objects() {
        let name = object.path().to_owned();
        // A key that was written again has the same name.
        let found = match object.class() {
            "TTree" => Entries::Tree(name),
            _ if object.is_ntuple() => Entries::NTuple(name),
            class => {
                others.push(format!("{class} `{name}`"));
                continue;
            }
        };
        if !entries.contains(&found) {
            entries.push(found);
        }
    }
    Ok((entries, others))
}

/// Opens a tree.
///
/// # Errors
/// The reason, after "tree `name`".
fn open_tree(path: &Path, name: &str) -> Result<ReaderTree, String> {
    if name.contains('/') {
        return Err(
            "is in a folder, and trees are read at the top of a file: copy it there, or write an RNTuple, which \
                    is read in folders"
                .into(),
        );
    }
    quietly(|| get_tree(path, name)).unwrap_or_else(|panic| {
        // oxyroot panics at compressions that it does not know.
        checksum::verify(path)?;
        Err(damaged(&panic))
    })
}

/// Returns the reason why a tree or an RNTuple holds no spacepoints.
fn check(path: &Path, entries: &Entries, columns: &ColumnMap) -> Result<(), String> {
    match entries {
        Entries::Tree(name) => open_tree(path, name).and_then(|tree| layout(&tree, columns).map(drop)),
        Entries::NTuple(name) => ntuple::check(path, name, columns),
    }
}

/// Returns whether any tree or RNTuple of a file has the columns of spacepoints.
pub(super) fn has_spacepoints(path: &Path) -> bool {
    let columns = ColumnMap::default();
    list(path).is_ok_and(|(all, _)| all.iter().any(|entries| check(path, entries, &columns).is_ok()))
}

/// Returns the tree or RNTuple that the options name, or else the only one with the columns of
/// spacepoints.
///
/// # Errors
/// A file without one, or with several, and a name that is missing.
pub(super) fn find_spacepoints(path: &Path, options: &ReadOptions) -> Result<Entries> {
    let wanted = options.tree.as_deref();
    let refuse = |message: String| Error::Input { path: path.to_owned(), row: 0, column: None, message };
    let (all, others) = list(path)?;
    if all.is_empty() {
        let there = if others.is_empty() { "nothing".into() } else { others.join(", ") };
        return Err(refuse(format!("there is no TTree and no RNTuple; the file has {there}")));
    }
    let named: Vec<&Entries> = all.iter().filter(|entries| wanted.is_none_or(|name| entries.name() == name)).collect();
    if let Some(wanted) = wanted.filter(|_| named.is_empty()) {
        let names = quoted(all.iter().map(Entries::name));
        return Err(refuse(format!("there is no tree and no RNTuple `{wanted}`; the file has {names}")));
    }
    let (mut reasons, mut fitting) = (Vec::new(), Vec::new());
    for entries in named {
        match check(path, entries, &options.columns) {
            Ok(()) => fitting.push(entries),
            Err(reason) => reasons.push(format!("{} {reason}", entries.in_words())),
        }
    }
    match fitting.as_slice() {
        [only] => Ok((*only).clone()),
        [] => {
            let has_columns = |reason: &String| reason.contains(" lacks ") || reason.contains(" has ");
            let wanted = match reasons.iter().any(has_columns) {
                true => format!(
                    "; wanted, as numbers of one spacepoint an entry, or as lists of numbers but for the ids: {WANTED}"
                ),
                false => String::new(),
            };
            Err(refuse(format!("{}{wanted}", reasons.join("; "))))
        }
        several => {
            let names = several.iter().map(|entries| entries.in_words()).collect::<Vec<_>>().join(" and ");
            Err(refuse(format!(
                "the file holds several sets of spacepoints: {names}; name the one that is to be read (--tree)"
            )))
        }
    }
}

/// Returns the tree or RNTuple that the options name, or else the only one with the columns of the
/// truth. None without such columns.
///
/// # Errors
/// A file with several.
pub(super) fn find_truth(path: &Path, options: &ReadOptions) -> Result<Option<Entries>> {
    let (wanted, columns) = (options.tree.as_deref(), &options.columns);
    let mut fitting = list(path)?.0;
    fitting.retain(|entries| match entries {
        Entries::Tree(name) => open_tree(path, name).is_ok_and(|tree| truth::has_truth(&tree, columns)),
        Entries::NTuple(name) => ntuple::has_truth(path, name, columns),
    });
    // Truth may be in a tree of its own.
    if fitting.iter().any(|entries| Some(entries.name()) == wanted) {
        fitting.retain(|entries| Some(entries.name()) == wanted);
    }
    match fitting.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only.clone())),
        several => {
            let names = quoted(several.iter().map(Entries::name));
            let message = format!("{names} have `{}`; name the one that is to be read (--tree)", truth::TRUTH);
            Err(Error::Input { path: path.to_owned(), row: 0, column: None, message })
        }
    }
}
