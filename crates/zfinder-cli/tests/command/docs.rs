//! Tests that the pages name only existing commands, options, examples and names of code.
//! `scripts/check-style` checks links and style, and `scripts/test-docs` runs the blocks of the
//! pages.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{stdout, zfinder};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Markdown files of the book, by name, without laboratory records.
fn book() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of the book") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// Returns every user page.
fn pages() -> Vec<PathBuf> {
    let others =
        ["README.md", "CONTRIBUTING.md", "data/README.md", "packaging/README.md"].map(|name| root().join(name));
    others.into_iter().chain(book()).collect()
}

/// Splits the text into pieces. Code blocks come with the word after the backticks.
fn blocks(text: &str) -> Vec<(Option<String>, String)> {
    let mut blocks = vec![(None, String::new())];
    for line in text.lines() {
        let inside = blocks.last().is_some_and(|(block, _)| block.is_some());
        match line.trim_start().strip_prefix("```") {
            Some(_) if inside => blocks.push((None, String::new())),
            Some(word) => blocks.push((Some(word.trim().to_owned()), String::new())),
            None => {
                if let Some((_, piece)) = blocks.last_mut() {
                    piece.push_str(line);
                    piece.push('\n');
                }
            }
        }
    }
    blocks
}

/// A subcommand's options, and whether each takes a value.
type Options = BTreeMap<String, bool>;

/// Reads `--help` of a subcommand, or of `plot histogram` and the like. None if the subcommand does
/// not exist.
fn options(subcommand: &str) -> Option<Options> {
    let words: Vec<&str> = subcommand.split(' ').chain(["--help"]).collect();
    let output = zfinder(&words);
    if output.status.code() != Some(0) {
        return None;
    }
    let mut options = Options::from([("--help".into(), false), ("--version".into(), false)]);
    let mut last_takes_value = false;
    for line in stdout(&output).lines() {
        if let Some((_, alias)) = line.split_once("[alias: ") {
            options.insert(alias.trim_end_matches(']').to_owned(), last_takes_value);
        }
        // `  -o, --output <FILE>`: the first word of a description is not an option.
        let Some(first) = line.split_whitespace().next().filter(|first| first.starts_with('-')) else { continue };
        if line.len() - line.trim_start().len() > 6 {
            continue;
        }
        let takes_value = line.contains('<');
        last_takes_value = takes_value;
        for word in line.split_whitespace().take_while(|word| word.starts_with('-')) {
            options.insert(name(word), takes_value);
        }
        options.insert(name(first), takes_value);
    }
    Some(options)
}

/// Returns the name in `--output,`, `--verbose...` or `--show[=<N>]`.
fn name(word: &str) -> String {
    word.split('[').next().unwrap_or(word).trim_end_matches([',', '.']).to_owned()
}

/// Returns the command lines of zfinder that a page quotes, without comments and with continued
/// lines joined.
fn quoted(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for (block, piece) in blocks(text) {
        if block.is_none() {
            let quoted = piece.split('`').skip(1).step_by(2).filter(|code| code.starts_with("zfinder "));
            lines.extend(quoted.map(|code| code.replace('\n', " ")));
            continue;
        }
        let Some("" | "sh" | "bash" | "console") = block.as_deref() else { continue };
        for line in piece.replace("\\\n", " ").lines() {
            // In a session, lines without a prompt are output.
            if block.as_deref() == Some("console") && !line.starts_with("$ ") {
                continue;
            }
            for part in line.split('|').map(str::trim) {
                let part = part.strip_prefix("$ ").unwrap_or(part);
                let part = match part.strip_prefix("cargo run") {
                    // The laboratory and the sister systems have their own tests.
                    Some(rest) if ["--example", "--manifest-path"].iter().all(|of| !rest.contains(of)) => {
                        rest.split_once(" -- ").map(|(_, rest)| rest)
                    }
                    _ => part.strip_prefix("zfinder "),
                };
                lines.extend(part.map(|part| format!("zfinder {part}")));
            }
        }
    }
    let without_comment = |line: String| line.split(" #").next().unwrap_or_default().trim().to_owned();
    lines.into_iter().map(without_comment).collect()
}

#[test]
fn quoted_command_lines_are_understood() {
    let mut known: BTreeMap<String, Option<Options>> = BTreeMap::new();
    let mut seen = 0;
    for page in pages() {
        for line in quoted(&read(&page)) {
            let place = format!("{}: `{line}`", page.display());
            let mut words = line.split_whitespace().skip(1);
            let Some(subcommand) = words.next().filter(|word| !word.starts_with('-')) else { continue };
            let mut subcommand = subcommand.to_owned();
            // Subcommands with subcommands.
            if ["plot", "detector"].contains(&subcommand.as_str()) {
                let part = words.next().unwrap_or_else(|| panic!("{place}: {subcommand} what?"));
                subcommand = format!("{subcommand} {part}");
            }
            let options = known.entry(subcommand).or_insert_with_key(|name| options(name));
            let options = options.as_ref().unwrap_or_else(|| panic!("{place}: there is no such subcommand"));
            for word in words.filter(|word| word.starts_with('-') && *word != "-" && *word != "--") {
                let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
                let takes_value = options.get(name).unwrap_or_else(|| panic!("{place}: there is no option {name}"));
                assert!(value.is_none() || *takes_value, "{place}: {name} takes no value");
            }
            seen += 1;
        }
    }
    assert!(seen > 15 && known.len() >= 4, "{seen} command lines of {:?}", known.keys());
}

#[test]
fn every_example_is_shown() {
    let shown: String = book().iter().map(|page| read(page)).collect();
    let entries = fs::read_dir(root().join("examples")).expect("the examples");
    for entry in entries {
        let name = entry.expect("an entry").file_name().into_string().expect("a plain name");
        assert!(shown.contains(&format!("examples/{name}")), "no page of the book names {name}");
    }
}

#[test]
fn the_helpers_tell_good_from_bad() {
    let text = "Text.\n\n```sh\nzfinder find x | head # zfinder no\ncargo run --release -- adapters\n```\n# Heading\n`zfinder bench --quick`\n";
    assert_eq!(quoted(text), ["zfinder find x", "zfinder adapters", "zfinder bench --quick"]);
    assert!(options("no-such-subcommand").is_none());
    let find = options("find").expect("a subcommand");
    assert_eq!((find.get("--peaks"), find.get("-o"), find.get("--quiet")), (Some(&true), Some(&true), Some(&false)));
}

/// Runs a script of the repository on a page with this text. Returns its exit code and its output.
#[cfg(unix)]
fn script(arguments: &[&str], page: &str) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("page.md");
    fs::write(&path, page).expect("a page");
    let mut command = std::process::Command::new("python3");
    command.arg(root().join(arguments[0])).args(&arguments[1..]).arg(&path);
    // The script expects `zfinder` in `debug` of this folder.
    let built = Path::new(env!("CARGO_BIN_EXE_zfinder")).ancestors().nth(2).expect("the target's folder");
    let output = command.env("CARGO_TARGET_DIR", built).output().expect("python3");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

#[cfg(unix)]
#[test]
fn prose_that_breaks_a_rule_is_found() {
    let long = "word ".repeat(41);
    let wide = "x".repeat(101);
    let page = format!(
        "# A page\n\nWhat is done is good.\n\nThere are none that fail, and the peak is held against it.\n\n{long}.\n\n{wide}\n\n\
         [gone](gone.md) and [no heading](#nowhere).\n\n```\ncode\n```\n"
    );
    let (code, findings) = script(&["scripts/check-style"], &page);
    assert_eq!(code, Some(1), "{findings}");
    for rule in [
        ":3: names no subject",
        ":5: litotes",
        ":5: use compares",
        ":7: sentence over 40 words",
        ":9: line over 100 characters",
        ":11: dead link: gone.md",
        ":11: dead link: #nowhere",
        ":13: code block without a language",
    ] {
        assert!(findings.contains(rule), "{rule}: {findings}");
    }
    let words = "A word is short.\n".repeat(600);
    let (code, findings) = script(&["scripts/check-style"], &words);
    assert!(code == Some(1) && findings.contains("page over 2000 words"), "{findings}");
    let good = "# A page\n\nThe planner rejects invalid spacepoints. [This page](#a-page) has one heading.\n";
    assert_eq!(script(&["scripts/check-style"], good), (Some(0), String::new()));
}

#[cfg(unix)]
#[test]
fn commands_of_pages_that_fail_are_found() {
    let run = |page: &str| script(&["scripts/test-docs"], page);
    let good = "```console\n$ zfinder --version\nzfinder ...\n$ echo a; echo b\n...\nb\n```\n";
    assert_eq!(run(good).0, Some(0), "{:?}", run(good));
    for (page, finding) in [
        ("```console\n$ echo a\nb\n```\n", "expected"),
        ("```console\n$ echo a; echo b\na\n```\n", "expected"),
        ("```sh\nfalse\n```\n", "exit code 1, expected 0"),
        ("<!-- docs-test: exit 2 -->\n```sh\ntrue\n```\n", "exit code 0, expected 2"),
        ("<!-- docs-test: skip: -->\n```sh\ntrue\n```\n", "skip needs a reason"),
        ("<!-- docs-test: never -->\n```sh\ntrue\n```\n", "unknown mark"),
        ("```klingon\ntrue\n```\n", "no test knows the language"),
    ] {
        let (code, findings) = run(page);
        assert!(code == Some(1) && findings.contains(finding), "{page}: {code:?} {findings}");
    }
}
