//! Imports of shaders: a file imports each file whose names it uses, and no other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use crate::Finding;
use crate::index::tokens;
use crate::tree::{Line, Tree};

static ITEM: LazyLock<Regex> = LazyLock::new(|| {
    let attributes = r"(?m)^\s*(?:@\w+(?:\([^)]*\))?\s*)*";
    let item = r"(?:fn|var|const|override|alias|struct)\s*(?:<[^>]*>)?\s*(\w+)";
    Regex::new(&format!("{attributes}{item}")).expect("the pattern is well-formed")
});

/// A file of WGSL.
struct Shader<'a> {
    file: &'a str,
    /// The folder `shaders` that the file is in, with a slash.
    root: &'a str,
    code: String,
    /// Names of the items of the module.
    items: BTreeSet<String>,
    /// Number of the first line that imports, from 1.
    line: usize,
    /// Paths of files and folders.
    imports: Vec<String>,
    /// Names that the file expects from the kernel that imports it.
    of_kernel: Vec<String>,
}

impl<'a> Shader<'a> {
    fn new(file: &'a str, lines: &[Line]) -> Option<Self> {
        let root = &file[..file.rfind("shaders/")? + "shaders/".len()];
        let code: Vec<&str> =
            lines.iter().map(|line| line.code.as_str()).filter(|code| !code.starts_with("#import ")).collect();
        let code = code.join("\n");
        let items = ITEM.captures_iter(&code).filter(|item| depth(&code[..item.get_match().start()]) == 0);
        let items = items.map(|item| item[1].to_owned()).collect();
        let (mut imports, mut of_kernel, mut first) = (Vec::new(), Vec::new(), None);
        for (number, line) in (1..).zip(lines) {
            let Some(import) = line.code.strip_prefix("#import ").map(str::trim) else { continue };
            first = first.or(Some(number));
            match import.strip_prefix("kernel::{").and_then(|names| names.strip_suffix('}')) {
                Some(names) => of_kernel.extend(names.split(',').map(|name| name.trim().to_owned())),
                None => imports.push(import.replace("::", "/")),
            }
        }
        // Shaders that the host puts together list their pieces in a comment.
        if let Some((number, text)) = needs(lines) {
            first = first.or(Some(number));
            let (pieces, names) = text.split_once("of the kernel ").unwrap_or((&text, ""));
            imports.extend(words(pieces));
            of_kernel.extend(words(names));
        }
        Some(Self { file, root, code, items, line: first.unwrap_or(1), imports, of_kernel })
    }

    /// Names that the file uses and does not declare itself.
    fn used(&self) -> BTreeSet<&str> {
        let tokens: Vec<&str> = tokens(&self.code).collect();
        let mut used: BTreeSet<&str> = BTreeSet::new();
        let mut local: BTreeSet<&str> = self.items.iter().map(String::as_str).collect();
        for (i, &token) in tokens.iter().enumerate() {
            let before = if i == 0 { "" } else { tokens[i - 1] };
            let after = tokens.get(i + 1).copied().unwrap_or("");
            if matches!(before, "let" | "var" | "const") || after == ":" {
                local.insert(token);
            } else if !matches!(before, "." | "@") {
                used.insert(token);
            }
        }
        &used - &local
    }
}

fn depth(code: &str) -> usize {
    code.matches('{').count() - code.matches('}').count()
}

/// Line and text after `Needs:`, to the end of the sentence or to the next key.
fn needs(lines: &[Line]) -> Option<(usize, String)> {
    let comments = lines.iter().take_while(|line| line.code.is_empty() && !line.comment.is_empty());
    let comments: Vec<&str> = comments.map(|line| line.comment.as_str()).collect();
    let first = comments.iter().position(|comment| comment.contains("Needs:"))?;
    let mut text = comments[first].split_once("Needs:")?.1.trim().to_owned();
    for comment in comments[first + 1..].iter().take_while(|comment| comment.starts_with("  ")) {
        text = format!("{text} {}", comment.trim());
    }
    let end = text.find(". ").unwrap_or(text.len());
    Some((first + 1, text[..end].trim_end_matches('.').to_owned()))
}

fn words(list: &str) -> Vec<String> {
    let list = list.replace([';', ',', '`'], " ").replace(" and ", " ").replace(" or ", " ");
    list.split_whitespace().map(str::to_owned).collect()
}

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let files = tree.files.iter().filter(|(file, _)| file.ends_with(".wgsl"));
    let shaders: Vec<Shader> = files.filter_map(|(file, lines)| Shader::new(file, lines)).collect();
    let mut findings = Vec::new();
    for shader in &shaders {
        let family: Vec<&Shader> = shaders.iter().filter(|other| other.root == shader.root).collect();
        check_imports(shader, &family, &mut findings);
    }
    findings
}

/// The files that an import names: a file or the files of a folder, below `shaders` or beside the
/// shader.
fn pieces<'a, 'b>(shader: &Shader, family: &[&'b Shader<'a>], item: &str) -> Vec<&'b Shader<'a>> {
    let folder = &shader.file[..=shader.file.rfind('/').unwrap_or(0)];
    for base in [shader.root, folder] {
        let path = format!("{base}{item}");
        let find = |is_piece: &dyn Fn(&str) -> bool| -> Vec<&'b Shader<'a>> {
            family.iter().copied().filter(|other| other.file != shader.file && is_piece(other.file)).collect()
        };
        let mut found = match path.strip_suffix('*') {
            Some(start) => find(&|other| other.starts_with(start)),
            None => find(&|other| other.strip_suffix(".wgsl") == Some(&path)),
        };
        if found.is_empty() {
            found = find(&|other| other.starts_with(&format!("{path}/")));
        }
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

fn check_imports(shader: &Shader, family: &[&Shader], findings: &mut Vec<Finding>) {
    let mut add = |name: &str, reason: String| findings.push(Finding::new(shader.file, shader.line, name, reason));
    let used = shader.used();
    let mut missing: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for other in family {
        for name in other.items.iter().filter(|name| used.contains(name.as_str())) {
            missing.entry(name).or_default().push(&other.file[shader.root.len()..]);
        }
    }
    for name in &shader.of_kernel {
        if missing.remove(name.as_str()).is_none() {
            add(name, "import: the file does not use it, or no shader defines it".into());
        }
    }
    let known = missing.clone();
    for item in &shader.imports {
        let pieces = pieces(shader, family, item);
        if pieces.is_empty() {
            add(item, "import: no such shader".into());
            continue;
        }
        let defined: Vec<&str> = pieces.iter().flat_map(|piece| &piece.items).map(String::as_str).collect();
        if !defined.iter().any(|name| known.contains_key(name)) {
            add(item, "import: the file uses nothing of it".into());
        }
        missing.retain(|name, _| !defined.contains(name));
    }
    for (name, files) in missing {
        add(name, format!("import: misses this name of {}", files.join(", ")));
    }
}
