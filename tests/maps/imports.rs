//! The import graph of a crate: which file imports from which, by `use` lines and paths.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use crate::tree::Tree;

static USE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\buse\s+([^;]+);").expect("the pattern is well-formed"));
static PATH: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b(?:crate|super)(?:\s*::\s*\w+)+").expect("the pattern is well-formed"));
static VISIBILITY: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"pub\(in [\w:]+\)").expect("the pattern is well-formed"));
static TEST_MODULE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*mod \w+ \{").expect("the pattern is well-formed")
});

/// A module by its names from the crate's root on.
type Module = Vec<String>;

/// Files of a crate, and the files that each imports from. Tests are left out.
#[derive(Debug, Default)]
pub(crate) struct ImportGraph {
    imports: BTreeMap<String, BTreeSet<String>>,
}

impl ImportGraph {
    /// Reads the files below a folder `src`.
    pub(crate) fn new(tree: &Tree, src: &str) -> Self {
        let below = format!("{src}/");
        let files =
            tree.files.keys().filter(|file| file.starts_with(&below) && file.ends_with(".rs") && !is_test(file));
        let modules: BTreeMap<Module, &String> = files.map(|file| (module_of(&file[below.len()..]), file)).collect();
        let imports = |(module, file): (&Module, &&String)| {
            let text: Vec<&str> = tree.files[*file].iter().map(|line| line.code.as_str()).collect();
            let imported = imported(&text.join("\n"), module, &modules);
            let files = imported.into_iter().map(|module| modules[&module].clone()).filter(|other| other != *file);
            ((*file).clone(), files.collect())
        };
        Self { imports: modules.iter().map(imports).collect() }
    }

    /// Returns the files that import from each other, directly or by way of other files, as one
    /// list for each circle.
    pub(crate) fn circles(&self) -> Vec<Vec<String>> {
        let reached: BTreeMap<&String, BTreeSet<&String>> =
            self.imports.keys().map(|file| (file, self.reached_from(file))).collect();
        let mut circles: BTreeSet<Vec<String>> = BTreeSet::new();
        for (file, others) in reached.iter().filter(|(file, others)| others.contains(*file)) {
            let circle = others.iter().filter(|other| reached[*other].contains(file));
            circles.insert(circle.map(|other| (*other).clone()).collect());
        }
        circles.into_iter().collect()
    }

    /// Returns the floor of each file: 0 for a file that imports nothing, otherwise one above the
    /// highest floor that it imports from. Files of circles have no floor.
    pub(crate) fn floors(&self) -> BTreeMap<&String, usize> {
        let mut floors = BTreeMap::new();
        loop {
            let before = floors.len();
            for (file, imports) in &self.imports {
                let below: Option<Vec<usize>> = imports.iter().map(|other| floors.get(other).copied()).collect();
                if let Some(below) = below {
                    floors.insert(file, below.into_iter().max().map_or(0, |floor| floor + 1));
                }
            }
            if floors.len() == before {
                return floors;
            }
        }
    }

    /// Returns some files, and all files that they import from, directly or by way of other files.
    pub(crate) fn reached(&self, is_first: impl Fn(&String) -> bool) -> BTreeSet<String> {
        let first: BTreeSet<&String> = self.imports.keys().filter(|file| is_first(file)).collect();
        let others = first.iter().flat_map(|file| self.reached_from(file));
        others.chain(first.iter().copied()).cloned().collect()
    }

    fn reached_from(&self, file: &String) -> BTreeSet<&String> {
        let mut reached = BTreeSet::new();
        let mut next: Vec<&String> = self.imports[file].iter().collect();
        while let Some(other) = next.pop() {
            if reached.insert(other) {
                next.extend(&self.imports[other]);
            }
        }
        reached
    }
}

fn is_test(file: &str) -> bool {
    file.ends_with("_tests.rs") || file.ends_with("/tests.rs") || file.contains("/tests/")
}

/// Returns the module of a file below `src`.
fn module_of(file: &str) -> Module {
    let mut names: Module = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if names.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        names.pop();
    }
    names
}

/// Returns the modules that a file names. A path to an item names the module of the item.
fn imported(text: &str, module: &Module, modules: &BTreeMap<Module, &String>) -> BTreeSet<Module> {
    let text = TEST_MODULE.find(text).map_or(text, |test| &text[..test.start()]);
    let mut paths = Vec::new();
    for used in USE.captures_iter(text) {
        expand(&used[1], &mut Vec::new(), &mut paths);
    }
    let rest = USE.replace_all(text, "");
    let rest = VISIBILITY.replace_all(&rest, "");
    paths.extend(PATH.find_iter(&rest).map(|path| names(path.as_str())));
    paths.iter().filter_map(|path| resolve(path, module, modules)).collect()
}

fn names(path: &str) -> Vec<String> {
    path.split("::").map(|name| name.split_whitespace().next().unwrap_or_default().to_owned()).collect()
}

/// Writes out the braces of a `use`.
fn expand(used: &str, before: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    let used = used.trim();
    let Some((head, list)) = used.split_once('{') else {
        let mut path = before.clone();
        path.extend(names(used));
        paths.push(path);
        return;
    };
    let depth = before.len();
    before.extend(names(head.trim().trim_end_matches("::")).into_iter().filter(|name| !name.is_empty()));
    let (mut open, mut first) = (0, 0);
    let list = list.trim_end().strip_suffix('}').unwrap_or(list);
    for (at, c) in list.char_indices().chain([(list.len(), ',')]) {
        match c {
            '{' => open += 1,
            '}' => open -= 1,
            ',' if open == 0 => {
                if !list[first..at].trim().is_empty() {
                    expand(&list[first..at], before, paths);
                }
                first = at + 1;
            }
            _ => {}
        }
    }
    before.truncate(depth);
}

/// Returns the module that a path names; None for another crate.
fn resolve(path: &[String], module: &Module, modules: &BTreeMap<Module, &String>) -> Option<Module> {
    let supers = path.iter().take_while(|name| *name == "super").count();
    let mut found = match path.first()?.as_str() {
        "crate" => path[1..].to_vec(),
        "super" => [&module[..module.len().checked_sub(supers)?], &path[supers..]].concat(),
        "self" => [module, &path[1..]].concat(),
        first => {
            let child = [module.as_slice(), &[first.to_owned()]].concat();
            if !modules.contains_key(&child) {
                return None;
            }
            [module.as_slice(), path].concat()
        }
    };
    while !modules.contains_key(&found) {
        found.pop()?;
    }
    // The root declares modules and re-exports their items.
    (!found.is_empty()).then_some(found)
}
