//! The names that sources define: by a scan of words and braces, without types.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::tree::Tree;

#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Every word of code and strings.
    pub(crate) words: HashSet<String>,
    /// Members of a type or trait: fields, variants, functions, constants.
    members: HashMap<String, HashSet<String>>,
    /// Traits that a type implements, and supertraits.
    traits: HashMap<String, HashSet<String>>,
    /// The files that define a name.
    defined: HashMap<String, BTreeSet<String>>,
    pub(crate) modules: HashSet<String>,
    /// Packages and their dependencies, with `_` for `-`.
    pub(crate) packages: HashSet<String>,
    /// Packages of this project.
    own: HashSet<String>,
    /// `--option` in strings, scripts and attributes.
    options: HashSet<String>,
}

/// Splits into words and single other characters.
pub(crate) fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let first = rest.chars().next()?;
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let end = if is_word(first) { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (token, tail) = rest.split_at(end);
        rest = tail;
        Some(token)
    })
}

impl Index {
    pub(crate) fn new(tree: &Tree) -> Self {
        let mut index = Self::default();
        for path in &tree.paths {
            index.words.extend(tokens(path).map(str::to_owned));
        }
        for (name, lines) in tree.sources() {
            for text in lines.iter().flat_map(|line| [&line.code, &line.strings]) {
                for token in tokens(text) {
                    if !index.words.contains(token) {
                        index.words.insert(token.to_owned());
                    }
                }
                for (at, _) in text.match_indices("--") {
                    index.options.insert(option(&text[at..]).to_owned());
                }
            }
            for line in lines.iter().filter(|line| line.code.contains("long")) {
                index.options.extend(line.strings.split_whitespace().map(|word| format!("--{word}")));
            }
            if name.ends_with(".rs") {
                let code: Vec<&str> = lines.iter().map(|line| line.code.as_str()).collect();
                index.rust(name, &code.join("\n"));
                let stem = name.trim_end_matches(".rs").trim_end_matches("/mod");
                index.modules.insert(stem.rsplit('/').next().unwrap_or(stem).to_owned());
            } else if name.ends_with("Cargo.toml") {
                index.manifest(lines.iter().map(|line| line.code.as_str()));
            }
        }
        index
    }

    fn manifest<'a>(&mut self, lines: impl Iterator<Item = &'a str>) {
        let mut section = "";
        for line in lines {
            if line.starts_with('[') {
                section = line;
            } else if let Some((key, value)) = line.split_once('=') {
                let is_name = section == "[package]" && key.trim() == "name";
                let name = if is_name { value } else { key };
                let name = name.trim().trim_matches('"').split('.').next().unwrap_or("").replace('-', "_");
                if is_name {
                    self.own.insert(name.clone());
                }
                if is_name || section.contains("dependencies") {
                    self.packages.insert(name);
                }
            }
        }
    }

    /// Whether this is the name of a package of others.
    pub(crate) fn is_foreign(&self, name: &str) -> bool {
        self.packages.contains(name) && !self.own.contains(name)
    }

    fn rust(&mut self, file: &str, code: &str) {
        let tokens: Vec<&str> = tokens(code).collect();
        let at = |i: usize| tokens.get(i).copied().unwrap_or("");
        for (i, &token) in tokens.iter().enumerate() {
            let before = at(i.wrapping_sub(1));
            match token {
                "macro_rules" => self.define(at(i + 2), file),
                "struct" | "enum" | "union" | "trait" | "mod" | "fn" | "const" | "static" | "type" => {
                    self.define(if at(i + 1) == "mut" { at(i + 2) } else { at(i + 1) }, file);
                }
                // A field.
                _ if at(i + 1) == ":" && at(i + 2) != ":" && before != ":" => self.define(token, file),
                _ => {}
            }
            let (owner, traits) = match token {
                "mod" => {
                    self.modules.insert(at(i + 1).to_owned());
                    continue;
                }
                // The macro `words` implements functions for `$name`.
                "enum" if at(i + 2) == "for" => (at(i + 1), vec!["name"]),
                "struct" | "enum" | "union" => (at(i + 1), Vec::new()),
                "trait" => (at(i + 1), tokens[i + 2..].iter().copied().take_while(|&t| t != "{").collect()),
                "impl" if matches!(before, "" | "}" | ";" | "]" | "{" | "unsafe") => implementation(&tokens[i + 1..]),
                _ => continue,
            };
            self.traits.entry(owner.to_owned()).or_default().extend(traits.into_iter().map(str::to_owned));
            let members = body(&tokens[i + 1..], token == "enum");
            for member in &members {
                self.define(member, file);
            }
            self.members.entry(owner.to_owned()).or_default().extend(members.into_iter().map(str::to_owned));
        }
    }

    fn define(&mut self, name: &str, file: &str) {
        // Most names come again.
        if !self.defines(file, name) {
            self.defined.entry(name.to_owned()).or_default().insert(file.to_owned());
        }
    }

    /// Whether a file defines a name; in other languages than Rust, whether anything does.
    pub(crate) fn defines(&self, file: &str, name: &str) -> bool {
        self.defined.get(name).is_some_and(|files| files.contains(file))
    }

    pub(crate) fn is_defined(&self, name: &str) -> bool {
        self.defined.contains_key(name) || self.modules.contains(name)
    }

    /// Whether a type or trait of the project has a member; `None` for another name.
    pub(crate) fn has_member(&self, owner: &str, member: &str) -> Option<bool> {
        let members = self.members.get(owner)?;
        let traits = self.traits.get(owner).into_iter().flatten();
        let of_traits = |name: &String| self.members.get(name).is_some_and(|members| members.contains(member));
        Some(members.contains(member) || DERIVED.contains(&member) || traits.into_iter().any(of_traits))
    }

    /// Whether a command or a script of the project knows `--option`.
    pub(crate) fn has_option(&self, option: &str) -> bool {
        let field = option.trim_start_matches('-').replace('-', "_");
        self.options.contains(option) || self.defined.contains_key(&field)
    }
}

/// Functions of traits that types derive.
const DERIVED: &[&str] = &["default", "clone", "parse"];

/// `--option` at the start of a text.
pub(crate) fn option(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_')).unwrap_or(text.len());
    text[..end].trim_end_matches('-')
}

/// The type and the trait of an `impl`.
fn implementation<'a>(tokens: &[&'a str]) -> (&'a str, Vec<&'a str>) {
    let (mut angles, mut name, mut implemented) = (0_i32, "", Vec::new());
    for (i, &token) in tokens.iter().enumerate() {
        match token {
            "<" => angles += 1,
            ">" if tokens[i.saturating_sub(1)] != "-" => angles -= 1,
            "{" | "where" if angles <= 0 => break,
            "for" if angles <= 0 => implemented.push(std::mem::take(&mut name)),
            _ if angles <= 0 && token.starts_with(char::is_alphabetic) => name = token,
            _ => {}
        }
    }
    (name, implemented)
}

/// Functions, constants, types, fields or variants of the next block of braces.
fn body<'a>(tokens: &[&'a str], is_enum: bool) -> Vec<&'a str> {
    let (mut depth, mut members) = (0_usize, Vec::new());
    for (i, &token) in tokens.iter().enumerate() {
        let (before, after) = (tokens[i.saturating_sub(1)], tokens.get(i + 1).copied().unwrap_or(""));
        match token {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth = depth.saturating_sub(1),
            _ if depth != 1 => {}
            _ if matches!(before, "fn" | "const" | "type") || (is_enum && matches!(before, "{" | "," | "]")) => {
                members.push(token);
            }
            _ if after == ":" && before != ":" => members.push(token),
            _ => {}
        }
        if depth == 0 && matches!(token, "}" | ";") {
            break;
        }
    }
    members
}
