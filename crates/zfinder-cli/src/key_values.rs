//! Shows the values of the configuration's keys in the help.

use std::ffi::OsString;

use zfinder::{Config, Preset};

/// Returns the command line with the values that the keys of the configuration have in the preset
/// of these arguments, else in auto: `[auto: 4]` in the help of `--peaks`.
pub(super) fn with_values(command: clap::Command, arguments: &[OsString]) -> clap::Command {
    let words: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    let named = words.iter().enumerate().find_map(|(at, word)| match word.strip_prefix("--preset") {
        Some("") => words.get(at + 1)?.parse().ok(),
        Some(value) => value.strip_prefix('=')?.parse().ok(),
        None => None,
    });
    let preset: Preset = named.unwrap_or(Preset::Auto);
    let config = Config::preset(preset);
    // `zfinder simulate` has options of the same names that are no keys.
    let has_keys = |sub: &&clap::Command| sub.get_arguments().any(|argument| argument.get_long() == Some("z-bin"));
    let subcommands: Vec<String> =
        command.get_subcommands().filter(has_keys).map(|sub| sub.get_name().to_owned()).collect();
    let with_value = |argument: clap::Arg| {
        let key = Config::KEYS.iter().find(|key| argument.get_id() == key.name && key.name != "preset");
        match (key, argument.get_help()) {
            (Some(key), Some(help)) => {
                let help = format!("{help} [{preset}: {}]", key.get(&config).argument());
                argument.help(help)
            }
            _ => argument,
        }
    };
    subcommands.into_iter().fold(command, |command, name| command.mut_subcommand(name, |sub| sub.mut_args(with_value)))
}
