//! Names in comments and pages must exist: files, types, functions, options, modules and shaders.
//! Imports inside of a crate point one way.

mod imports;
mod index;
mod modules;
mod names;
mod self_tests;
mod shaders;
mod tree;

use std::fmt;
use std::path::Path;

use crate::imports::ImportGraph;
use crate::index::Index;
use crate::tree::Tree;

/// A name that does not exist, or a statement that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    file: String,
    line: usize,
    name: String,
    reason: String,
}

impl Finding {
    pub(crate) fn new(file: &str, line: usize, name: &str, reason: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, name: name.to_owned(), reason: reason.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.file, self.line, self.name, self.reason)
    }
}

/// Returns everything that comments and pages state wrongly, in the order of files.
pub(crate) fn findings(tree: &Tree) -> Vec<Finding> {
    let index = Index::new(tree);
    let mut findings = names::check(tree, &index);
    findings.extend(modules::check_maps(tree));
    findings.extend(modules::check_tree(tree));
    findings.extend(modules::check_reading_orders(tree));
    findings.extend(shaders::check(tree));
    findings.extend(import_circles(tree));
    findings.sort();
    findings.dedup();
    findings
}

/// Crates without import circles.
const ONE_WAY: &[&str] = &["src", "crates/kernel-host/src", "crates/zfinder-io/src"];

/// Returns a finding for each circle of files that import from each other.
fn import_circles(tree: &Tree) -> Vec<Finding> {
    let circles = ONE_WAY.iter().flat_map(|src| ImportGraph::new(tree, src).circles());
    circles
        .map(|circle| Finding::new(&circle[0], 1, "use", format!("import circle of {}", circle.join(", "))))
        .collect()
}

#[test]
fn comments_and_pages_name_what_exists() {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the package is two folders below the root");
    let findings = findings(&Tree::read(root));
    let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
    assert!(findings.is_empty(), "\n{}\n{} findings", lines.join("\n"), findings.len());
}
