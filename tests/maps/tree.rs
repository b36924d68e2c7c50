//! The files of the project, and each line's code, strings and comment.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Folders and files whose comments and pages are checked, as far as they exist.
pub(crate) const SCANNED: &[&str] = &[
    "src/",
    "shaders/",
    "crates/",
    "python/",
    "web/",
    "examples/",
    "benches/",
    "fuzz/",
    "tests/",
    "docs/",
    "systems/",
    "lab/",
    "data/",
    "packaging/",
    "scripts/",
    ".ci/",
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "Cargo.toml",
    ".cargo/",
];

/// Historical records, generated code, fixtures, and planted stale names.
const NOT_SCANNED: &[&str] = &[
    "docs/SUMMARY.md",
    "lab/records/",
    "crates/zfinder-serve/src/generated/",
    "fuzz/corpus/",
    "tests/maps/self_tests.rs",
];

/// Files whose words do not define names. A planted fault repeats code that may be gone.
const NO_SOURCE: &[&str] = &["tests/maps/self_tests.rs", "lab/planted-faults.txt", "CHANGELOG.md"];

/// A line of a file. A line of a page is all `comment`, and one of an unknown format all `code`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    /// Code without comments and contents of strings.
    pub(crate) code: String,
    pub(crate) strings: String,
    pub(crate) comment: String,
}

#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) files: BTreeMap<String, Vec<Line>>,
    /// Files and folders, also those that hold no text.
    pub(crate) paths: BTreeSet<String>,
}

impl Tree {
    /// Reads every file that git tracks or would track.
    pub(crate) fn read(root: &Path) -> Self {
        let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let output = Command::new("git").args(arguments).current_dir(root).output().expect("git runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut tree = Self::default();
        for name in String::from_utf8(output.stdout).expect("names are UTF-8").split_terminator('\0') {
            let Ok(bytes) = std::fs::read(root.join(name)) else { continue }; // deleted
            tree.add(name, &String::from_utf8(bytes).unwrap_or_default());
        }
        tree
    }

    pub(crate) fn add(&mut self, name: &str, text: &str) {
        for (end, _) in name.match_indices('/') {
            self.paths.insert(name[..end].to_owned());
        }
        self.paths.insert(name.to_owned());
        self.files.insert(name.to_owned(), lines(name, text));
    }

    /// The files whose comments are checked.
    pub(crate) fn scanned(&self) -> impl Iterator<Item = (&str, &[Line])> {
        let listed = |name: &str, list: &[&str]| list.iter().any(|start| name.starts_with(start));
        let files = self.files.iter().map(|(name, lines)| (name.as_str(), lines.as_slice()));
        files.filter(move |(name, _)| listed(name, SCANNED) && !listed(name, NOT_SCANNED))
    }

    /// The files that define names.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&str, &[Line])> {
        let files = self.files.iter().map(|(name, lines)| (name.as_str(), lines.as_slice()));
        files.filter(|(name, _)| !NO_SOURCE.contains(name) && !name.ends_with(".md"))
    }

    /// The existing paths that a path in a comment of `from` can mean: from the root, from a folder
    /// above the comment, or from `src` or `shaders` in one of these.
    pub(crate) fn resolve(&self, from: &str, path: &str) -> Vec<&str> {
        let path = path.trim_start_matches("./").trim_end_matches('/');
        let mut bases: Vec<&str> = from.match_indices('/').map(|(end, _)| &from[..=end]).rev().collect();
        bases.push("");
        for base in bases {
            for inner in ["", "src/", "shaders/"] {
                let mut full = format!("{base}{inner}{path}");
                while let Some((start, end)) = full.split_once("/../").map(|(s, e)| (s.to_owned(), e.to_owned())) {
                    full = start.rsplit_once('/').map_or(end.clone(), |(above, _)| format!("{above}/{end}"));
                }
                let found: Vec<&str> = self.matches(&full);
                if !found.is_empty() {
                    return found;
                }
            }
        }
        Vec::new()
    }

    pub(crate) fn matches(&self, full: &str) -> Vec<&str> {
        let Some(star) = full.find('*') else {
            return self.paths.get(full).map(|path| vec![path.as_str()]).unwrap_or_default();
        };
        let below = self.paths.range(full[..star].to_owned()..).take_while(|path| path.starts_with(&full[..star]));
        below.filter(|path| glob(full, path)).map(String::as_str).collect()
    }
}

/// Whether a name matches a pattern whose `*` stands for a part of one segment, and `**` for more.
fn glob(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => {
            let Some(name) = name.strip_prefix(start) else { return false };
            let (rest, deep) = rest.strip_prefix('*').map_or((rest, false), |rest| (rest, true));
            let most = if deep { name.len() } else { name.find('/').unwrap_or(name.len()) };
            (0..=most).any(|end| name.is_char_boundary(end) && glob(rest, &name[end..]))
        }
    }
}

/// Splits a text into lines, and each line into code, strings and comment.
pub(crate) fn lines(name: &str, text: &str) -> Vec<Line> {
    let kind = Path::new(name).extension().map_or("", |kind| kind.to_str().unwrap_or(""));
    match kind {
        "rs" | "wgsl" | "c" | "cu" | "h" | "hpp" | "cpp" | "js" | "mjs" | "proto" => slashes(text, kind),
        "py" | "toml" | "sh" | "yml" | "yaml" | "cfg" => hashes(text),
        "" if text.starts_with("#!") => hashes(text),
        "md" => text.lines().map(|line| Line { comment: line.to_owned(), ..Line::default() }).collect(),
        // The columns and the first events of a table suffice.
        "csv" => text.lines().take(20).map(|line| Line { code: line.to_owned(), ..Line::default() }).collect(),
        "svg" | "lock" => Vec::new(),
        _ => text.lines().map(|line| Line { code: line.to_owned(), ..Line::default() }).collect(),
    }
}

fn slashes(text: &str, kind: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut line = Line::default();
    let mut rest = text;
    // The end of the string or comment that a position is in.
    let mut string: Option<String> = None;
    let mut comment: Option<&str> = None;
    while let Some(next) = rest.chars().next() {
        let mut step = next.len_utf8();
        if next == '\n' {
            lines.push(std::mem::take(&mut line));
            comment = comment.filter(|&end| end != "\n");
        } else if let Some(end) = comment {
            if rest.starts_with(end) {
                (comment, step) = (None, end.len());
            } else {
                step = run(rest, |c| c != '\n' && c != '*');
                line.comment.push_str(&rest[..step]);
            }
        } else if let Some(end) = &string {
            if next == '\\' && end.len() == 1 {
                step += rest[1..].chars().next().filter(|&c| c != '\n').map_or(0, char::len_utf8);
                line.strings.push(' ');
            } else if rest.starts_with(end.as_str()) {
                step = end.len();
                string = None;
            } else {
                step = run(rest, |c| c.is_alphanumeric());
                line.strings.push_str(&rest[..step]);
            }
        } else if rest.starts_with("//") {
            step = rest.len() - rest.trim_start_matches('/').trim_start_matches('!').len();
            comment = Some("\n");
        } else if rest.starts_with("/*") {
            (comment, step) = (Some("*/"), 2);
        } else if let Some(hashes) = raw_string(rest, &line.code) {
            step = hashes + 2;
            string = Some(format!("\"{}", "#".repeat(hashes)));
        } else if next == '"' || (kind.ends_with("js") && (next == '`' || next == '\'')) {
            string = Some(next.to_string());
            line.strings.push(' ');
            line.code.push(next);
        } else if next == '\'' {
            // A character, not a lifetime.
            let inner = rest[1..].chars().next().unwrap_or(' ');
            let start = if inner == '\\' { 3 } else { 1 + inner.len_utf8() };
            let end = rest.get(start..).and_then(|tail| tail.find('\''));
            step = match end {
                Some(0) => start + 1,
                Some(end) if inner == '\\' && end < 10 => start + end + 1,
                _ => 1,
            };
            line.code.push(' ');
        } else {
            step = run(rest, |c| c.is_alphanumeric() || c == '_');
            line.code.push_str(&rest[..step]);
        }
        rest = &rest[step..];
    }
    lines.push(line);
    lines
}

/// The length of the first character and of those after it that go with it.
fn run(rest: &str, goes_on: impl Fn(char) -> bool) -> usize {
    let first = rest.chars().next().map_or(0, char::len_utf8);
    first + rest[first..].find(|c| !goes_on(c)).unwrap_or(rest.len() - first)
}

/// The number of hash signs, if a raw string begins here.
fn raw_string(rest: &str, before: &str) -> Option<usize> {
    let rest = rest.strip_prefix('r')?;
    let inside_a_name = before.ends_with(|c: char| (c.is_alphanumeric() && c != 'b') || c == '_');
    let tail = rest.trim_start_matches('#');
    (!inside_a_name && tail.starts_with('"')).then(|| rest.len() - tail.len())
}

fn hashes(text: &str) -> Vec<Line> {
    // Inside of `"""`: whether the string is documentation.
    let mut inside = None;
    let split = |raw: &str| {
        let mut line = Line::default();
        let documents = raw.trim_start().trim_start_matches(['r', 'f']).starts_with("\"\"\"");
        let before = inside;
        if raw.matches("\"\"\"").count() % 2 == 1 {
            inside = if inside.is_some() { None } else { Some(documents) };
        }
        if before.unwrap_or(documents) {
            line.comment = raw.replace("\"\"\"", "");
            return line;
        }
        let comment = raw.char_indices().find(|&(at, c)| {
            let start = &raw[..at];
            let quoted = ['"', '\''].iter().any(|&quote| start.matches(quote).count() % 2 == 1);
            c == '#' && !quoted && (start.is_empty() || start.ends_with(char::is_whitespace))
        });
        let at = comment.filter(|_| before.is_none()).map_or(raw.len(), |(at, _)| at);
        line.code = raw[..at].to_owned();
        line.comment = raw[at..].trim_start_matches('#').to_owned();
        line
    };
    text.lines().map(split).collect()
}
