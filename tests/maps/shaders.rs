//! Headers of shaders: bytes of workgroup memory, and the pieces and names that a file needs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

use naga::valid::{Capabilities, ValidationFlags, Validator};
use regex::Regex;

use crate::Finding;
use crate::index::tokens;
use crate::tree::{Line, Tree};

macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: LazyLock<Regex> = LazyLock::new(|| Regex::new($text).expect("the pattern is well-formed"));
    };
}

pattern!(ITEM, r"(?m)^\s*(?:@\w+(?:\([^)]*\))?\s*)*(fn|var|const|override|alias|struct)\s*(<[^>]*>)?\s*(\w+)([^;{]*)");
pattern!(MEMORY, r"(?s)^(none|(.+?) bytes( in f32)?)?(?:,? ?(?:plus )?that of ([\w/*, ]+))?$");

/// A file of WGSL.
struct Shader<'a> {
    file: &'a str,
    /// The folder `shaders` that the file is in, with a slash.
    root: &'a str,
    code: String,
    /// Keyword, address space and text of each item of the module, by its name.
    items: BTreeMap<String, (String, String, String)>,
    /// Line and text of `workgroup memory:` and `Needs:`.
    memory: Option<(usize, String)>,
    needs: Option<(usize, String)>,
}

impl<'a> Shader<'a> {
    fn new(file: &'a str, lines: &[Line]) -> Option<Self> {
        let root = &file[..file.rfind("shaders/")? + "shaders/".len()];
        let code = lines.iter().map(|line| line.code.as_str()).collect::<Vec<_>>().join("\n");
        let mut items = BTreeMap::new();
        for item in ITEM.captures_iter(&code).filter(|item| depth(&code[..item.get_match().start()]) == 0) {
            let start = item.get(1).map_or(0, |keyword| keyword.start());
            let end = if &item[1] == "struct" { code[start..].find('}') } else { code[start..].find(';') };
            let text = code[start..start + end.map_or(0, |end| end + 1)].to_owned();
            let space = item.get(2).map_or("", |space| space.as_str());
            items.insert(item[3].to_owned(), (item[1].to_owned(), space.to_owned(), text));
        }
        let header = |key: &str| header(lines, key);
        Some(Self { file, root, memory: header("workgroup memory:"), needs: header("Needs:"), code, items })
    }

    fn workgroup_variables(&self) -> Vec<&str> {
        let items = self.items.iter().filter(|(_, (_, space, _))| space == "<workgroup>");
        items.map(|(name, _)| name.as_str()).collect()
    }

    /// Names that the file uses and does not declare itself.
    fn used(&self) -> BTreeSet<&str> {
        let tokens: Vec<&str> = tokens(&self.code).collect();
        let mut used: BTreeSet<&str> = BTreeSet::new();
        let mut local: BTreeSet<&str> = self.items.keys().map(String::as_str).collect();
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

/// The text after a key of the header, to the end of its sentence or to the next key.
fn header(lines: &[Line], key: &str) -> Option<(usize, String)> {
    let comments = lines.iter().take_while(|line| line.code.is_empty() && !line.comment.is_empty());
    let comments: Vec<&str> = comments.map(|line| line.comment.as_str()).collect();
    let first = comments.iter().position(|comment| comment.contains(key))?;
    let mut text = comments[first].split_once(key)?.1.trim().to_owned();
    for comment in comments[first + 1..].iter().take_while(|comment| comment.starts_with("  ")) {
        text = format!("{text} {}", comment.trim());
    }
    let end = text.find(". ").unwrap_or(text.len());
    Some((first + 1, text[..end].trim_end_matches('.').to_owned()))
}

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let files = tree.files.iter().filter(|(file, _)| file.ends_with(".wgsl"));
    let shaders: Vec<Shader> = files.filter_map(|(file, lines)| Shader::new(file, lines)).collect();
    let mut findings = Vec::new();
    for shader in &shaders {
        let family: Vec<&Shader> = shaders.iter().filter(|other| other.root == shader.root).collect();
        check_needs(shader, &family, &mut findings);
        check_memory(shader, &family, &mut findings);
    }
    findings
}

/// The files that an item of `Needs:` names: a file or the files of a folder, beside the shader or
/// from `shaders`.
fn pieces<'a, 'b>(shader: &Shader, family: &[&'b Shader<'a>], item: &str) -> Vec<&'b Shader<'a>> {
    let folder = &shader.file[..=shader.file.rfind('/').unwrap_or(0)];
    for base in [folder, shader.root] {
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

/// Items of `Needs:`, and names after `of the kernel`.
fn needed(shader: &Shader) -> (Vec<String>, Vec<String>) {
    let text = shader.needs.as_ref().map_or("", |(_, text)| text);
    let (items, names) = text.split_once("of the kernel ").unwrap_or((text, ""));
    let split = |list: &str| -> Vec<String> {
        let list = list.replace([';', ',', '`'], " ").replace(" and ", " ").replace(" or ", " ");
        list.split_whitespace().map(str::to_owned).collect()
    };
    (split(items), split(names))
}

fn check_needs(shader: &Shader, family: &[&Shader], findings: &mut Vec<Finding>) {
    let line = shader.needs.as_ref().map_or(1, |(line, _)| *line);
    let mut add = |name: &str, reason: String| findings.push(Finding::new(shader.file, line, name, reason));
    let (items, names) = needed(shader);
    let used = shader.used();
    let mut missing: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for other in family {
        for name in other.items.keys().filter(|name| used.contains(name.as_str())) {
            missing.entry(name).or_default().push(&other.file[shader.root.len()..]);
        }
    }
    for name in &names {
        if missing.remove(name.as_str()).is_none() {
            add(name, "Needs: the file does not use it, or no shader defines it".into());
        }
    }
    let known = missing.clone();
    for item in &items {
        let pieces = pieces(shader, family, item);
        if pieces.is_empty() {
            add(item, "Needs: no such shader".into());
            continue;
        }
        let defined: Vec<&str> = pieces.iter().flat_map(|piece| piece.items.keys()).map(String::as_str).collect();
        if !defined.iter().any(|name| known.contains_key(name)) {
            add(item, "Needs: the file uses nothing of it".into());
        }
        missing.retain(|name, _| !defined.contains(name));
    }
    for (name, files) in missing {
        add(name, format!("Needs: misses this name of {}", files.join(", ")));
    }
}

fn check_memory(shader: &Shader, family: &[&Shader], findings: &mut Vec<Finding>) {
    let line = shader.memory.as_ref().map_or(1, |(line, _)| *line);
    let mut add = |name: &str, reason: String| findings.push(Finding::new(shader.file, line, name, reason));
    let text = shader.memory.as_ref().map_or("", |(_, text)| text);
    let is_kernel = shader.code.contains("@compute");
    let Some(stated) = MEMORY.captures(text).filter(|_| !(is_kernel && text.is_empty())) else {
        return add(text, "workgroup memory: expected `none` or `4 NAME + 8 bytes, plus that of PIECE`".into());
    };
    // Kernels also name the pieces that declare workgroup memory.
    let others = stated.get(4).map_or("", |others| others.as_str()).split([',', ' ']);
    let others: Vec<&str> = others.filter(|other| !matches!(*other, "" | "and")).collect();
    let mut owners = if is_kernel { owners(shader, family) } else { BTreeSet::new() };
    for other in others {
        let count = owners.len();
        for piece in pieces(shader, family, other) {
            owners.remove(piece.file);
        }
        if owners.len() == count {
            add(other, "workgroup memory: nothing that the file needs declares any there".into());
        }
    }
    for owner in owners {
        add(owner, "workgroup memory: misses this piece".into());
    }
    let formula = stated.get(2).map_or("0", |formula| formula.as_str());
    // The second values differ from one another, so that only the right names give the right sum.
    for scale in [0, 1] {
        match measure(shader, family, scale) {
            Err(reason) => return add("workgroup memory", reason),
            Ok((bytes, values)) => {
                let sum = evaluate(formula, &values);
                if sum != Some(bytes) {
                    return add(formula, format!("workgroup memory: the file declares {bytes} bytes with {values:?}"));
                }
            }
        }
    }
}

/// Files with workgroup variables that a kernel needs, directly or not.
fn owners<'a>(shader: &Shader, family: &[&Shader<'a>]) -> BTreeSet<&'a str> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut owners = BTreeSet::new();
    let mut open: Vec<&Shader> = vec![shader];
    while let Some(next) = open.pop() {
        for piece in needed(next).0.iter().flat_map(|item| pieces(next, family, item)) {
            if seen.insert(piece.file) {
                open.push(piece);
                owners.extend((!piece.workgroup_variables().is_empty()).then_some(piece.file));
            }
        }
    }
    owners
}

/// A sum of products of numbers and names.
fn evaluate(formula: &str, values: &HashMap<String, u64>) -> Option<u64> {
    let factor = |word: &str| word.replace(',', "").parse().ok().or_else(|| values.get(word).copied());
    let term = |text: &str| text.split_whitespace().map(factor).try_fold(1, |product, value| Some(product * value?));
    formula.split('+').map(term).try_fold(0, |sum, value| Some(sum + value?))
}

/// Bytes of the workgroup variables of a file, by naga, and the values of constants and overrides.
fn measure(shader: &Shader, family: &[&Shader], scale: u64) -> Result<(u64, HashMap<String, u64>), String> {
    let mut texts: BTreeMap<&str, &str> = BTreeMap::new();
    let mut open: Vec<&str> = shader.workgroup_variables();
    if open.is_empty() {
        return Ok((0, HashMap::new()));
    }
    let own = open.clone();
    // Of swapped files, the first defines a name: `real` is f32.
    while let Some(name) = open.pop() {
        let folder = &shader.file[..=shader.file.rfind('/').unwrap_or(0)];
        let mut order = vec![shader];
        order.extend(family.iter().filter(|other| other.file.starts_with(folder)));
        order.extend(family);
        let item = order.iter().find_map(|other| other.items.get_key_value(name));
        if let Some((name, (keyword, _, text))) = item.filter(|(_, (keyword, ..))| keyword != "fn")
            && (keyword == "var") == own.contains(&name.as_str())
            && texts.insert(name, text).is_none()
        {
            open.extend(tokens(text).filter(|token| token.starts_with(char::is_alphabetic)));
        }
    }
    // naga drops what no entry point uses.
    let mut text: String = texts.values().map(|text| format!("{text}\n")).collect();
    text.push_str("@compute @workgroup_size(1) fn main() {\n");
    for (name, item) in &texts {
        match item.split([' ', '<']).next() {
            Some("var") => text.push_str(&format!("let use_{name} = &{name};\n")),
            Some("const" | "override") => text.push_str(&format!("let use_{name} = {name};\n")),
            _ => {}
        }
    }
    text.push('}');
    let module = naga::front::wgsl::parse_str(&text).map_err(|error| error.emit_to_string(&text))?;
    let info = Validator::new(ValidationFlags::all(), Capabilities::all()).validate(&module);
    let info = info.map_err(|error| error.emit_to_string(&text))?;
    let mut values = naga::back::PipelineConstants::default();
    for (nth, (_, constant)) in (1_u64..).zip(module.overrides.iter()) {
        let Some(name) = constant.name.clone() else { continue }; // the length of an array
        let literal = texts.get(name.as_str()).is_none_or(|text| !text.contains('=') || !text.contains('*'));
        if literal && (scale > 0 || constant.init.is_none()) {
            values.insert(name, (64 * (nth + scale)) as f64);
        }
    }
    let (module, _) =
        naga::back::pipeline_constants::process_overrides(&module, &info, None, &values).map_err(|e| e.to_string())?;
    let variables =
        module.global_variables.iter().filter(|(_, variable)| variable.space == naga::AddressSpace::WorkGroup);
    let sizes = variables.map(|(_, variable)| module.types[variable.ty].inner.try_size(module.to_ctx()));
    let bytes = sizes.map(|size| size.map(u64::from)).sum::<Option<u64>>().ok_or("a variable is too large")?;
    let constants = module.constants.iter().filter_map(|(_, constant)| {
        let value = match module.global_expressions[constant.init] {
            naga::Expression::Literal(naga::Literal::U32(value)) => value,
            naga::Expression::Literal(naga::Literal::I32(value)) => value as u32,
            _ => return None,
        };
        Some((constant.name.clone()?, u64::from(value)))
    });
    Ok((bytes, constants.collect()))
}
