//! Each rule finds a name that is planted in a small project, and nothing else.

use crate::imports::ImportGraph;
use crate::tree::Tree;
use crate::{findings, modules};

const LIB: &str = "//! A project.\n//!\n//! # Map\n//!\n//! - `shape`, `parts`: shapes.\n\nmod parts;\nmod shape;\n";
const SHAPE: &str = "//! Shapes; see `shaders/sum.wgsl`.\npub struct Shape { width: u32 }\nimpl Shape {\n    /// Area of `Shape::width`.\n    pub fn area(&self) -> u32 { self.width }\n}\npub enum Side { Left, Right(u32) }\n";
const PARTS: &str =
    "// `area()` in `src/shape.rs`, `Side::Right`, `parts::part_count`, `--part-count`\nfn part_count() {}\n";
const TYPES: &str = "// Types.\nalias real = f32;\nconst LANES: u32 = 4u;\n";
const SUM: &str = "// Sums.\n\n#import shared::types\n#import steps::pick\n\noverride SIZE: u32 = 8;\nvar<workgroup> wg_sums: array<real, SIZE>;\nvar<workgroup> wg_lanes: array<u32, LANES>;\n@compute @workgroup_size(1) fn sum() { wg_sums[0] = pick(0u); }\n";
const PICK: &str = "// Picks.\n\n#import shared::types\n#import kernel::{wg_sums}\n\nfn pick(at: u32) -> real { return wg_sums[at]; }\n";
/// A shader whose host puts the pieces together.
const TAKE: &str =
    "// Takes.\n// Needs: shared/types; of the kernel wg_sums.\n\nfn take(at: u32) -> real { return wg_sums[at]; }\n";
const DESIGN: &str = "# Design\n\n```text\nsrc/            the library\n  lib.rs        root\n  parts.rs  shape.rs\nshaders/\n  shared/  steps/\n```\n";

/// The project with another text for some of its files.
fn check(changed: &[(&str, &str)]) -> Vec<String> {
    let files = [
        ("src/lib.rs", LIB),
        ("src/shape.rs", SHAPE),
        ("src/parts.rs", PARTS),
        ("shaders/shared/types.wgsl", TYPES),
        ("shaders/sum.wgsl", SUM),
        ("shaders/steps/pick.wgsl", PICK),
        ("shaders/take.wgsl", TAKE),
        (modules::DESIGN, DESIGN),
    ];
    let mut tree = Tree::default();
    for (name, text) in files.iter().chain(changed) {
        tree.add(name, text);
    }
    findings(&tree).iter().map(|finding| format!("{}:{}: {}", finding.file, finding.line, finding.name)).collect()
}

/// Replaces a part of a file, and returns what is found.
fn plant(name: &str, text: &str, from: &str, to: &str) -> Vec<String> {
    assert!(text.contains(from), "{from}");
    check(&[(name, &text.replace(from, to))])
}

/// Adds a comment to a file, and returns the names that are found.
fn comment(text: &str) -> Vec<String> {
    let found = check(&[("src/parts.rs", &format!("{PARTS}// {text}\n"))]);
    found.iter().map(|found| found.strip_prefix("src/parts.rs:3: ").unwrap_or(found).to_owned()).collect()
}

#[test]
fn a_sound_project_has_no_findings() {
    assert_eq!(check(&[]), [""; 0]);
}

#[test]
fn a_missing_path_is_found() {
    assert_eq!(comment("`sums/*.wgsl`, sums/first.wgsl, `src/gone/`"), ["src/gone/", "sums/*.wgsl", "sums/first.wgsl"]);
    assert_eq!(comment("`steps/*.wgsl`, `shape.rs`, src/shape.rs, `src/`, https://a.b/c/d.rs"), [""; 0]);
}

#[test]
fn a_missing_member_is_found() {
    assert_eq!(comment("`Shape::way`, `Side::Up`, Shape::height"), ["Shape::height", "Shape::way", "Side::Up"]);
    assert_eq!(comment("`std::mem::gone`, `Shape::area(&self)`, `crate::shape::Shape`"), [""; 0]);
}

#[test]
fn a_missing_identifier_is_found() {
    assert_eq!(
        comment("`part_sum`, `Gone`, `gone()`, `self.gone_too`"),
        ["Gone", "gone()", "part_sum", "self.gone_too"]
    );
    assert_eq!(comment("`--gone`, `sum --part-count 3`"), ["--gone"]);
    assert_eq!(comment("`area` in `src/parts.rs`"), ["area"]);
    assert_eq!(comment("the module `gone`, the `absent` module, the module `shape`"), ["absent", "gone"]);
}

#[test]
fn names_in_strings_and_blocks_of_code_are_no_comments() {
    let text =
        "fn f() { let s = \"// `gone_a`\"; let c = '\"'; }\n/// ```\n/// `gone_b`\n/// ```\nfn g() {} // `gone_c`\n";
    assert_eq!(check(&[("src/parts.rs", &format!("{PARTS}{text}"))]), ["src/parts.rs:7: gone_c"]);
    assert_eq!(check(&[("scripts/run.py", "a = 1  # `gone_d`\n")]), ["scripts/run.py:1: gone_d"]);
}

#[test]
fn a_map_of_modules_is_complete() {
    assert_eq!(plant("src/lib.rs", LIB, "`parts`", "`plot`"), ["src/lib.rs:3: parts", "src/lib.rs:5: plot"]);
    assert_eq!(plant("src/lib.rs", LIB, "`parts`", "`parts`, `shape`"), ["src/lib.rs:5: shape"]);
}

#[test]
fn the_tree_of_the_design_is_complete() {
    assert_eq!(
        plant(modules::DESIGN, DESIGN, "  shared/  steps/\n", "  shared/\n"),
        ["docs/explanation/design.md:3: shaders/steps"]
    );
    let found = plant(modules::DESIGN, DESIGN, "parts.rs", "plot.rs");
    assert_eq!(found, ["docs/explanation/design.md:3: src/parts.rs", "docs/explanation/design.md:6: plot.rs"]);
}

#[test]
fn a_reading_order_is_complete() {
    let order = "\n## Reading order of the CPU engine\n\n| `src/engine/cpu/sums.rs`, `src/engine/records.rs` | sums |\n\nNot on the path: `src/engine/cpu/time.rs`.\n";
    let check = |order: &str| {
        check(&[
            ("src/engine/cpu/mod.rs", "mod sums;\nmod time;\n"),
            ("src/engine/cpu/sums.rs", "use crate::engine::records::Sum;\nuse crate::shape::Shape;\n"),
            ("src/engine/cpu/time.rs", "use crate::engine::cpu::sums::Sum;\n"),
            ("src/engine/records.rs", "struct Sum;\n"),
            (modules::DESIGN, &format!("{}{order}", DESIGN.replace("  parts.rs", "  engine/  parts.rs"))),
        ])
        .into_iter()
        .filter(|finding| finding.contains("design.md:11:"))
        .collect::<Vec<_>>()
    };
    assert_eq!(check(order), [""; 0]);
    let missing = |file: &str| vec![format!("docs/explanation/design.md:11: src/engine/{file}")];
    assert_eq!(check(&order.replace(", `src/engine/records.rs`", "")), missing("records.rs"));
    assert_eq!(check(order.split("Not on").next().unwrap_or_default()), missing("cpu/time.rs"));
    assert_eq!(check(&order.replace("records", "cpu/gone")), [missing("cpu/gone.rs"), missing("records.rs")].concat());
}

#[test]
fn imports_are_exact() {
    assert_eq!(
        plant("shaders/sum.wgsl", SUM, "#import shared::types\n", ""),
        ["shaders/sum.wgsl:3: LANES", "shaders/sum.wgsl:3: real"]
    );
    let gone = plant("shaders/sum.wgsl", SUM, "#import steps", "#import gone\n#import steps");
    assert_eq!(gone, ["shaders/sum.wgsl:3: gone"]);
    assert_eq!(plant("shaders/sum.wgsl", SUM, "steps::pick", "steps"), [""; 0]);
    for (file, text, line, names) in
        [("shaders/steps/pick.wgsl", PICK, 3, "{wg_sums"), ("shaders/take.wgsl", TAKE, 2, "kernel wg_sums")]
    {
        let path = |name: &str| [format!("{file}:{line}: {name}")];
        assert_eq!(plant(file, text, "real {", "f32 {"), path("shared/types"));
        assert_eq!(plant(file, text, names, &format!("{names}, size")), path("size"));
    }
}

#[test]
fn a_file_lies_above_its_imports() {
    let mut tree = Tree::default();
    tree.add("src/parts.rs", PARTS);
    tree.add("src/shape.rs", &format!("use crate::parts::part_count;\n{SHAPE}"));
    tree.add("src/side/mod.rs", "use std::fmt;\nuse crate::{parts, shape::{Shape, Side}};\n");
    let graph = ImportGraph::new(&tree, "src");
    assert_eq!(graph.floors().into_values().collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn an_import_circle_is_found() {
    let circle = |parts: &str| {
        check(&[
            ("src/shape.rs", &format!("use crate::parts::part_count;\n{SHAPE}")),
            ("src/parts.rs", &format!("{parts}{PARTS}")),
        ])
    };
    assert_eq!(circle(""), [""; 0]);
    for parts in [
        "use crate::shape::Shape;\n",
        "use {std::fmt, super::shape::{self, Side}};\n",
        "const AREA: u32 = crate::shape::WIDTH;\n",
    ] {
        assert_eq!(circle(parts), ["src/parts.rs:1: use"], "{parts}");
    }
    assert_eq!(circle("#[cfg(test)]\nmod tests {\n    use crate::shape::Shape;\n}\n"), [""; 0]);
}
