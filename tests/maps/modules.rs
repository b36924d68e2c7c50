//! Maps: lists of modules in documentation of crates, and the tree of design.md.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use crate::Finding;
use crate::imports::ImportGraph;
use crate::index::tokens;
use crate::tree::{Line, Tree};

/// The page with the tree of the project.
pub(crate) const DESIGN: &str = "docs/explanation/design.md";

/// Folders whose modules and folders the tree of design.md names one by one.
const LISTED: &[&str] = &["src", "src/engine", "shaders", "crates"];

static GROUP: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"((?:\[?`\w+`\]?(?:, | and )?)+):").expect("the pattern is well-formed"));
static NAME: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"`(\w+)`").expect("the pattern is well-formed"));

static FILE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"`(src/engine/[\w/]+\.rs)`").expect("the pattern is well-formed"));
static MODULE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\s*(?:pub(?:\(\w+\))? )?mod \w+;$").expect("the pattern is well-formed"));

/// Checks each "Map" in the documentation of a crate against the modules that the file declares.
pub(crate) fn check_maps(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, lines) in tree.scanned().filter(|(file, _)| file.ends_with("/lib.rs")) {
        let heading = lines.iter().position(|line| line.comment.trim() == "# Map");
        let Some(heading) = heading else { continue };
        let modules = modules(lines);
        let mut named: Vec<String> = Vec::new();
        let end =
            lines[heading + 1..].iter().position(|line| line.comment.trim().starts_with('#') || !line.code.is_empty());
        let end = end.map_or(lines.len(), |end| heading + 1 + end);
        for (number, line) in (heading + 1..).zip(&lines[heading..end]) {
            for name in GROUP
                .captures_iter(&line.comment)
                .flat_map(|group| NAME.captures_iter(group.get(1).expect("is not optional").as_str()))
            {
                let name = &name[1];
                let defined =
                    lines.iter().any(|line| line.code.starts_with("pub use") && tokens(&line.code).any(|t| t == name));
                if !modules.contains(name) && !defined {
                    findings.push(Finding::new(file, number, name, "the map names a module that does not exist"));
                } else if named.iter().any(|known| known == name) {
                    findings.push(Finding::new(file, number, name, "the map names it twice"));
                }
                named.push(name.to_owned());
            }
        }
        for module in modules.iter().filter(|module| !named.contains(module)) {
            findings.push(Finding::new(file, heading + 1, module, "the map misses this module"));
        }
    }
    findings
}

/// Modules that a file declares, without tests.
fn modules(lines: &[Line]) -> BTreeSet<String> {
    let mut modules = BTreeSet::new();
    let mut test = false;
    for line in lines {
        let code = line.code.trim();
        let item = code.trim_start_matches("pub(crate) ").trim_start_matches("pub ");
        if let Some(name) = item.strip_prefix("mod ").filter(|_| !test && !line.code.starts_with(' ')) {
            modules.insert(name.trim_end_matches([';', '{', ' ']).to_owned());
        }
        if !code.is_empty() {
            test = code.starts_with("#[cfg(test)") || test && code.starts_with("#[");
        }
    }
    modules
}

/// Checks that every entry of the tree exists, and that the tree has every module and folder.
pub(crate) fn check_tree(tree: &Tree) -> Vec<Finding> {
    let Some(lines) = tree.files.get(DESIGN) else {
        return vec![Finding::new(DESIGN, 0, "the tree", "no such page")];
    };
    let mut findings = Vec::new();
    let mut entries: BTreeSet<String> = BTreeSet::new();
    let start = lines.iter().position(|line| line.comment.starts_with("```text")).map_or(0, |at| at + 1);
    // Folders above an entry, with their indentation.
    let mut above: Vec<(usize, String)> = Vec::new();
    for (number, line) in (start + 1..).zip(&lines[start..]) {
        let text = &line.comment;
        if text.starts_with("```") {
            break;
        }
        let indent = text.len() - text.trim_start().len();
        above.retain(|(outer, _)| *outer < indent);
        let folder = above.last().map_or(String::new(), |(_, folder)| folder.clone());
        // Several folders, or files of Rust, can share a line.
        let is_entry = |word: &&str| word.ends_with('/') || word.ends_with(".rs");
        for (nth, name) in text.split_whitespace().take_while(is_entry).enumerate() {
            let path = format!("{folder}{name}");
            if !tree.paths.contains(path.trim_end_matches('/')) {
                findings.push(Finding::new(DESIGN, number, name, "the tree names a path that does not exist"));
            }
            if nth == 0 {
                above.push((indent, path.clone()));
            }
            entries.insert(path.trim_end_matches('/').to_owned());
        }
    }
    for path in &tree.paths {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let is_module =
            name.ends_with(".rs") && !matches!(name, "mod.rs" | "test_cases.rs") && !name.ends_with("tests.rs");
        let is_folder = tree.paths.contains(path) && !name.contains('.');
        if LISTED.contains(&folder) && (is_module || is_folder) && !entries.contains(path) {
            findings.push(Finding::new(DESIGN, start, path, "the tree misses it"));
        }
    }
    findings
}

/// Most files of a reading order.
const MOST_FILES: usize = 18;

/// Checks each reading order of the design against the imports: it names every file of the engine,
/// and every file of `src/engine` that these import.
pub(crate) fn check_reading_orders(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.files.get(DESIGN) else { return Vec::new() };
    let graph = ImportGraph::new(tree, "src");
    let mut findings = Vec::new();
    for engine in ["cpu", "gpu"] {
        let heading = format!("## Reading order of the {} engine", engine.to_uppercase());
        let Some(first) = page.iter().position(|line| line.comment.trim() == heading) else { continue };
        let mut add = |name: &str, reason: String| findings.push(Finding::new(DESIGN, first + 1, name, reason));
        let section = page[first + 1..].iter().take_while(|line| !line.comment.starts_with("## "));
        let section: Vec<&str> = section.map(|line| line.comment.as_str()).collect();
        let section = section.join("\n");
        let (order, others) = section.split_once("Not on the path:").unwrap_or((&section, ""));
        let others = others.split("\n\n").next().unwrap_or_default();
        let named =
            |text: &str| -> BTreeSet<String> { FILE.captures_iter(text).map(|file| file[1].to_owned()).collect() };
        let (order, others) = (named(order), named(others));
        let folder = format!("src/engine/{engine}/");
        let mut path = graph.reached(|file| file.starts_with(&folder) && !others.contains(file));
        path.retain(|file| file.starts_with("src/engine/") && !others.contains(file) && !is_list(&tree.files[file]));
        for file in path.difference(&order) {
            add(file, "the reading order misses this file".into());
        }
        for file in order.iter().chain(&others).filter(|file| !tree.files.contains_key(*file)) {
            add(file, "the reading order names a file that does not exist".into());
        }
        if order.len() > MOST_FILES {
            add(engine, format!("the reading order has {} files, more than {MOST_FILES}", order.len()));
        }
    }
    findings
}

/// Whether a file only declares modules.
fn is_list(lines: &[Line]) -> bool {
    lines.iter().all(|line| line.code.is_empty() || MODULE.is_match(&line.code))
}
