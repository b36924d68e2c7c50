//! Checks of the command lines that pages quote.

use std::fs;
use std::path::{Path, PathBuf};

use clap::CommandFactory;
use clap::error::ErrorKind;

/// A command line of a page.
#[derive(Debug, PartialEq, Eq)]
struct Quoted {
    line: String,
    /// Whether it stands in a block, not within a sentence.
    is_in_block: bool,
}

/// Parses the command lines of a program that the pages of a folder quote, and returns their
/// number. Laboratory records in the folder `lab` are left out: they quote the options of their
/// day.
///
/// A command line within a sentence may leave out arguments: it may be the name of a subcommand.
///
/// # Panics
/// If the command does not accept a line, or if a page cannot be read.
pub fn check_quoted_lines<C: CommandFactory>(folder: &Path, program: &str) -> usize {
    let mut seen = 0;
    for page in pages(folder) {
        let text = fs::read_to_string(&page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
        for quoted in quoted(&text, program) {
            let place = format!("{}: `{}`", page.display(), quoted.line);
            let words = shlex::split(&quoted.line).unwrap_or_else(|| panic!("{place}: an open quotation mark"));
            seen += 1;
            let Err(error) = C::command().try_get_matches_from(words) else { continue };
            let is_accepted = match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => true,
                ErrorKind::MissingRequiredArgument => !quoted.is_in_block,
                _ => false,
            };
            assert!(is_accepted, "{place}: {error}");
        }
    }
    seen
}

fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("an entry of the folder").path());
    let paths = paths.filter(|path| path.file_name().is_some_and(|name| name != "lab"));
    let pages = paths.flat_map(|path| if path.is_dir() { pages(&path) } else { vec![path] });
    pages.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect()
}

/// Returns the command lines of a page, up to a comment, a pipe or another command.
fn quoted(text: &str, program: &str) -> Vec<Quoted> {
    let mut all = Vec::new();
    let mut add = |line: &str, is_in_block: bool| {
        let line = line.trim().trim_start_matches("$ ");
        let ends = [" #", " | ", " > ", " && "].iter().filter_map(|end| line.find(end));
        let line = &line[..ends.min().unwrap_or(line.len())];
        let is_of_program = line.strip_prefix(program).is_some_and(|rest| rest.starts_with(' '));
        if is_of_program {
            all.push(Quoted { line: line.to_owned(), is_in_block });
        }
    };
    for (number, piece) in text.split("```").enumerate() {
        if number % 2 == 1 {
            piece.replace("\\\n", " ").lines().for_each(|line| add(line, true));
        } else {
            piece.split('`').skip(1).step_by(2).for_each(|code| add(&code.replace('\n', " "), false));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use clap::{Parser, Subcommand};

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(subcommand)]
        command: Command,
    }

    #[derive(Subcommand)]
    enum Command {
        Add { number: u32 },
    }

    fn check(text: &str) -> usize {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("lab")).expect("a folder");
        fs::write(folder.path().join("lab/old.md"), "`sum subtract`").expect("written");
        fs::write(folder.path().join("page.md"), text).expect("written");
        check_quoted_lines::<Cli>(folder.path(), "sum")
    }

    #[test]
    fn lines_are_found_and_parsed() {
        let text =
            "`sum add` adds, as in `sum\nadd 3`.\n```sh\nsum add 1 # one\nsum add \\\n  '2' | head\nsummary\n```\n";
        assert_eq!(check(text), 4);
        for wrong in ["`sum add three`", "`sum add 3 --fast`", "`sum subtract`", "```sh\nsum add\n```"] {
            assert!(std::panic::catch_unwind(|| check(wrong)).is_err(), "{wrong}");
        }
    }
}
