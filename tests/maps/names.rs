//! Names in comments and pages: paths, members of types, identifiers, options, modules.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::Finding;
use crate::index::{Index, option};
use crate::tree::{Line, Tree};

/// Endings of paths that are checked wherever they stand.
const ENDINGS: &str = "rs|wgsl|cu|py|js|mjs|h|hpp|proto|md|html|css";

/// Words of other programs that no source of this project uses.
const FOREIGN: &[&str] = &[
    "display_name",        // Jupytext
    "innerWidth",          // browsers
    "ttbar_pu200",         // a sample of ColliderML
    "HoughVertexFinder",   // ACTS
    "write_page_checksum", // a property of pyarrow
    "shm_open",            // POSIX
    // Functions of the program that the report of the system `helmholtz` describes.
    "expression_1",
    "expression_2",
    "rhs_1",
    "zero_1",
];

/// Consecutive lines of comment: their text, and the number of each line.
#[derive(Debug, Default)]
pub(crate) struct Block {
    pub(crate) text: String,
    /// Where each line begins, and its number.
    starts: Vec<(usize, usize)>,
}

impl Block {
    pub(crate) fn line(&self, at: usize) -> usize {
        self.starts.iter().rev().find(|(start, _)| *start <= at).map_or(0, |(_, number)| *number)
    }
}

/// Joins lines of comment into paragraphs, without blocks of code.
pub(crate) fn blocks(lines: &[Line]) -> Vec<Block> {
    let mut blocks = vec![Block::default()];
    let mut fence = false;
    for (number, line) in (1..).zip(lines) {
        let comment = line.comment.trim();
        let toggles = comment.starts_with("```") || comment.starts_with("~~~");
        let trailing = !line.code.trim().is_empty();
        fence ^= toggles;
        if comment.is_empty() || fence || toggles || trailing {
            blocks.push(Block::default());
        }
        if fence || toggles || comment.is_empty() {
            continue;
        }
        if let Some(block) = blocks.last_mut() {
            block.starts.push((block.text.len(), number));
            block.text.push_str(comment);
            block.text.push('\n');
        }
        if trailing {
            blocks.push(Block::default());
        }
    }
    blocks
}

macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: LazyLock<Regex> = LazyLock::new(|| Regex::new($text).expect("the pattern is well-formed"));
    };
}

pattern!(SPAN, "``?([^`]+)``?");
pattern!(WORD, r"^[A-Za-z_]\w*$");
pattern!(RUST_PATH, r"^&?(?:mut )?[A-Za-z_]\w*(::[A-Za-z_]\w*|::<[\w, ]+>|<[\w, '&]+>)+(\(.*\)|!)?$");
pattern!(DOTTED, r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$");
pattern!(BARE, &format!(r"(?:[\w.*-]+/)+[\w.*-]+\.(?:{ENDINGS})\b|\b[\w*-]+\.(?:rs|wgsl|cu)\b"));
pattern!(BARE_NAME, r"\b[a-z][a-z0-9]{2,}(?:_[a-z0-9]{2,})+\b");
pattern!(BARE_MEMBER, r"\b[A-Za-z_]\w*(?:::[A-Za-z_]\w*)+");
pattern!(PLACE, r"`?\b([\w:]*\w)(?:\(\))?`?,?\s+(?:in|of)\s+`?([\w./-]+\.rs)\b");
pattern!(
    KINDS,
    r"\b(module|crate|function|kernel|shader|package)s?\s+`([a-z][\w-]*)`|`([a-z][\w-]*)`\s+(module|crate|function|kernel|shader|package)\b"
);

/// Checks the comments of every file.
pub(crate) fn check(tree: &Tree, index: &Index) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, lines) in tree.scanned() {
        for block in blocks(lines) {
            check_block(tree, index, file, &block, &mut findings);
        }
    }
    findings
}

fn check_block(tree: &Tree, index: &Index, file: &str, block: &Block, findings: &mut Vec<Finding>) {
    let mut add =
        |at: usize, name: &str, reason: String| findings.push(Finding::new(file, block.line(at), name, reason));
    let mut prose = block.text.clone();
    for span in SPAN.captures_iter(&block.text) {
        let (whole, inner) = (span.get_match(), span[1].split_whitespace().collect::<Vec<_>>().join(" "));
        if let Err(reason) = check_span(tree, index, file, &inner) {
            add(whole.start(), &inner, reason);
        }
        prose.replace_range(whole.range(), &" ".repeat(whole.len()));
    }
    for path in BARE.find_iter(&prose) {
        let before = &prose[..path.start()];
        let address =
            before.rsplit(char::is_whitespace).next().is_some_and(|word| word.contains(":/") || word.contains('<'));
        if !address && tree.resolve(file, path.as_str()).is_empty() && !is_file_name(tree, path.as_str()) {
            add(path.start(), path.as_str(), "no such file".into());
        }
    }
    // Most blocks have none of the following.
    let pieces = |pattern: &Regex, part: &str| -> Vec<Captures> {
        if block.text.contains(part) { pattern.captures_iter(&block.text).collect() } else { Vec::new() }
    };
    for path in prose.contains("::").then(|| BARE_MEMBER.find_iter(&prose)).into_iter().flatten() {
        if let Err(reason) = rust_path(index, path.as_str()) {
            add(path.start(), path.as_str(), reason);
        }
    }
    // Shorter names with `_` are symbols of formulas.
    let is_source = [".rs", ".wgsl", ".cu", ".py"].iter().any(|ending| file.ends_with(ending));
    for name in is_source.then(|| BARE_NAME.find_iter(&prose)).into_iter().flatten() {
        if !known_word(index, name.as_str()) {
            add(name.start(), name.as_str(), "no source has this word".into());
        }
    }
    for place in pieces(&PLACE, ".rs") {
        let path_like = |name: &str| name.contains('_') || name.contains("::") || name.contains(char::is_uppercase);
        if !place.get_match().as_str().starts_with('`') && !path_like(&place[1]) {
            continue;
        }
        let name = place[1].rsplit("::").next().unwrap_or("").to_owned();
        let mut files = tree.resolve(file, &place[2]).into_iter();
        if files.next().is_some_and(|path| !index.defines(path, &name)) {
            add(place.get_match().start(), &place[1], format!("{} does not define it", &place[2]));
        }
    }
    for kind in pieces(&KINDS, "`") {
        let (word, name) = match kind.get(1) {
            Some(word) => (word.as_str(), &kind[2]),
            None => (&kind[4], &kind[3]),
        };
        let plain = name.replace('-', "_");
        let known = match word {
            "module" => index.modules.contains(name) || index.packages.contains(&plain),
            "crate" | "package" => index.packages.contains(&plain),
            _ => index.words.contains(name),
        };
        if !known {
            add(kind.get_match().start(), name, format!("no such {word}"));
        }
    }
}

fn is_file_name(tree: &Tree, name: &str) -> bool {
    !name.contains('/') && !tree.matches(name).is_empty()
        || !name.contains(['/', '*']) && tree.paths.iter().any(|path| path.rsplit('/').next() == Some(name))
}

fn check_span(tree: &Tree, index: &Index, file: &str, span: &str) -> Result<(), String> {
    for (at, _) in span.match_indices("--") {
        let option = option(&span[at..]);
        let starts = at == 0 || span[..at].ends_with([' ', '[', '(', '=', '"']);
        // Options of cargo itself are not checked.
        if starts && !span.starts_with("cargo ") && option.len() > 3 && !index.has_option(option) {
            return Err(format!("no command or script has {option}"));
        }
    }
    if span.contains(' ') && !RUST_PATH.is_match(span) {
        return Ok(());
    }
    if is_path(tree, file, span) {
        let known = !tree.resolve(file, span).is_empty() || is_file_name(tree, span);
        return if known { Ok(()) } else { Err("no such file or folder".into()) };
    }
    if RUST_PATH.is_match(span) {
        return rust_path(index, span);
    }
    let called = span.ends_with("()");
    let name = span.trim_end_matches("()").trim_end_matches('!');
    let name = if DOTTED.is_match(name) { name.rsplit('.').next().unwrap_or("") } else { name };
    let has_case = name.contains(char::is_lowercase) && name.contains(char::is_uppercase);
    let checked = WORD.is_match(name) && (called || name.contains('_') || has_case);
    if !checked || known_word(index, name) { Ok(()) } else { Err("no source has this word".into()) }
}

/// Whether a source has a word, or words with this beginning or end.
fn known_word(index: &Index, name: &str) -> bool {
    let known = match (name.starts_with('_'), name.ends_with('_')) {
        (_, true) => index.words.iter().any(|word| word.starts_with(name)),
        (true, _) => index.words.iter().any(|word| word.ends_with(name)),
        _ => index.words.contains(name) || is_composed(index, name) || name.ends_with("NNN"),
    };
    known || FOREIGN.contains(&name)
}

/// Whether code composes a name of a stem and a suffix, such as `_low`.
fn is_composed(index: &Index, name: &str) -> bool {
    let mut cuts = name.match_indices('_').map(|(at, _)| name.split_at(at));
    cuts.any(|(stem, suffix)| index.words.contains(stem) && index.words.contains(suffix))
}

/// Whether a span names a file or folder of the project.
fn is_path(tree: &Tree, file: &str, span: &str) -> bool {
    static SHAPE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\.{0,2}[\w./*-]+$").expect("well-formed"));
    if !SHAPE.is_match(span) || span.starts_with('/') || span.starts_with("...") {
        return false;
    }
    let ending = span.rsplit_once('.').map_or("", |(_, ending)| ending);
    match span.split_once('/') {
        // Of other files with a plain name, most are examples.
        None => matches!(ending, "rs" | "wgsl" | "cu"),
        Some((first, _)) => ENDINGS.split('|').any(|known| known == ending) || !tree.resolve(file, first).is_empty(),
    }
}

fn rust_path(index: &Index, span: &str) -> Result<(), String> {
    let plain = span.split(['(', '<', '!']).next().unwrap_or("").trim_start_matches(['&', ':']);
    let segments: Vec<&str> = plain.split("::").filter(|segment| !segment.is_empty()).collect();
    let (Some(&first), Some(&last)) = (segments.first(), segments.last()) else { return Ok(()) };
    if matches!(first, "std" | "core" | "alloc" | "f32" | "f64" | "u32" | "u64" | "str") || segments.len() == 1 {
        return Ok(());
    }
    if index.is_foreign(first) && index.words.contains(last) {
        return Ok(());
    }
    let owner = segments[segments.len() - 2];
    match index.has_member(owner, last) {
        Some(true) => Ok(()),
        Some(false) if !index.modules.contains(owner) => Err(format!("{owner} has no {last}")),
        _ if index.packages.contains(first) && index.words.contains(last) => Ok(()),
        _ if matches!(owner, "crate" | "self" | "super" | "Self") || index.modules.contains(owner) => {
            if index.is_defined(last) { Ok(()) } else { Err(format!("nothing defines {last}")) }
        }
        // A type of another crate.
        _ => match segments.iter().find(|&&segment| !index.words.contains(segment)) {
            Some(word) => Err(format!("no source has the word {word}")),
            None => Ok(()),
        },
    }
}
