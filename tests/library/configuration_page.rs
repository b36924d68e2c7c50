//! The tables of `docs/reference/configuration.md` are those of [`Config::KEYS`].
//!
//! `ZFINDER_WRITE_PAGES=1 cargo test -p zfinder-tests --test library configuration_page` writes
//! them.

use std::fmt::Write;

use zfinder::config::{Group, Key, Kind};
use zfinder::{Config, Preset};

/// Where the tables begin and end in the page.
const BEGIN: &str = "<!-- written by tests/library/configuration_page.rs -->\n";
const END: &str = "<!-- end -->\n";

/// Returns the tables of all groups.
fn tables() -> String {
    let mut text = String::new();
    let keys = |group| Config::KEYS.iter().filter(move |key| key.group == group && key.name != "preset");
    for group in Group::ALL {
        let heading = group.as_str();
        writeln!(text, "\n## {heading}\n\n| key | option | values | `default` | `auto` | meaning |").expect("a string");
        text.push_str("|---|---|---|---|---|---|\n");
        keys(group).for_each(|key| text.push_str(&row(key)));
    }
    text.push_str("\n## Words\n\n| key | word | meaning |\n|---|---|---|\n");
    for key in Group::ALL.into_iter().flat_map(keys) {
        let (Kind::Word(words) | Kind::WholeOrWord(words)) = key.kind else { continue };
        for word in words {
            let (name, meaning) = (key.name, cell(&word.summary()));
            writeln!(text, "| `{name}` | `{}` | {meaning} |", word.word).expect("a string");
        }
    }
    text.push('\n');
    text
}

fn row(key: &Key) -> String {
    let [default, auto] = [Preset::Default, Preset::Auto].map(|preset| key.get(&Config::preset(preset)).argument());
    let (name, option) = (key.name, key.short_name().replace('_', "-"));
    let (range, meaning) = (cell(&key.range()), cell(&key.summary()));
    format!("| `{name}` | `--{option}` | {range} | {default} | {auto} | {meaning} |\n")
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[test]
fn the_page_of_keys_is_the_table_of_keys() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/configuration.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let (before, rest) = page.split_once(BEGIN).expect("the mark of the tables");
    let (tables_of_page, after) = rest.split_once(END).expect("the mark of their end");
    let wanted = tables();
    if std::env::var_os("ZFINDER_WRITE_PAGES").is_some() {
        std::fs::write(path, format!("{before}{BEGIN}{wanted}{END}{after}")).expect("a writable page");
    } else {
        assert_eq!(tables_of_page, wanted, "write the page as this file says");
    }
}
