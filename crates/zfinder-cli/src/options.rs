//! Options that are keys of the configuration, presets, and option values that `bench` shares.

use std::fs::File;
use std::io::{self, Read, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use zfinder::config::{ConfigChanges, Group, Key, Kind, Value, Word};
use zfinder::{Config, Preset, StreamOptions, ZFinderBuilder};

use super::beam_spot::BeamPosition;
use command_host::Failure;

/// The default of `--beam-spot-events`.
const BEAM_SPOT_EVENTS: NonZeroUsize = NonZeroUsize::new(100).expect("the default is not 0");

/// Options of one configuration.
#[derive(Args)]
pub(super) struct ConfigOptions {
    /// Preset to start from [default: that of --config, else auto]
    #[arg(long, value_parser = words::<Preset>(Preset::WORDS), help_heading = "Configuration")]
    preset: Option<Preset>,
    /// TOML file with any of the keys that --print-config shows
    ///
    /// Keys that it leaves out have the values of its key `preset`, of --preset, or of auto. The
    /// options below change it.
    #[arg(long, value_name = "FILE.toml", help_heading = "Configuration")]
    config: Option<PathBuf>,
    /// Print the configuration that results, as TOML for --config, and exit
    #[arg(long, help_heading = "Configuration")]
    pub(super) print_config: bool,

    #[command(flatten)]
    keys: KeyOptions,
}

/// Options that are keys of the configuration: one for each of [`Config::KEYS`] but `preset`, in
/// kebab-case; a unit `-mm` may be left out or written.
pub(super) struct KeyOptions {
    values: Vec<(&'static Key, Value)>,
    /// `--beam-spot`, which has a value that is not of the key.
    beam_spot: Option<BeamPosition>,
    beam_spot_events: NonZeroUsize,
}

/// The key whose option has a value of its own, `auto`.
const BEAM_SPOT: &str = "beam_spot_mm";
const BEAM_SPOT_EVENTS_OPTION: &str = "beam_spot_events";
/// Keys that `-h` shows. `--help` shows all.
const SHORT_HELP: [&str; 5] = ["peaks", "z_min_mm", "z_max_mm", "all_vertices", BEAM_SPOT];

fn keys() -> impl Iterator<Item = &'static Key> {
    Config::KEYS.iter().filter(|key| key.name != "preset")
}

/// Returns the option of a key.
fn argument(key: &'static Key) -> Arg {
    let unit = if key.unit.is_empty() { String::new() } else { format!(", in {}", key.unit) };
    let argument = Arg::new(key.name)
        .long(key.short_name().replace('_', "-"))
        .help(format!("{}{unit}", key.summary()))
        .help_heading(key.group.as_str())
        .hide_short_help(!SHORT_HELP.contains(&key.name));
    let argument = match key.short_name() == key.name {
        true => argument,
        false => argument.alias(key.name.replace('_', "-")),
    };
    if key.name == BEAM_SPOT {
        let help =
            format!("{}{unit}; auto: found from tracks of the first events, with its slope and width", key.summary());
        let parser = clap::value_parser!(BeamPosition);
        return argument.help(help).value_name("X,Y|auto").allow_hyphen_values(true).value_parser(parser);
    }
    let name = if key.unit.is_empty() { "NUMBER".into() } else { key.unit.to_uppercase() };
    let argument = match key.kind {
        Kind::Word(words) => {
            let parser = PossibleValuesParser::new(possible_values(words)).map(Value::Word);
            return argument.value_name(key.name.to_uppercase()).value_parser(parser);
        }
        Kind::WholeOrWord(_) => argument.value_name("N|WORD").help(format!("{}: {}", key.summary(), key.range())),
        Kind::Whole { .. } => argument.value_name("N"),
        Kind::Pair { .. } => argument.value_name("X,Y").allow_hyphen_values(true),
        // A flag that is off in the preset `default` may be given without a value.
        Kind::Flag if key.get(&Config::preset(Preset::Default)) == Value::Flag(false) => {
            argument.value_name("BOOL").num_args(0..=1).default_missing_value("true").require_equals(true)
        }
        Kind::Flag => argument.value_name("BOOL"),
        _ => argument.value_name(name).allow_negative_numbers(true),
    };
    argument.value_parser(move |text: &str| key.parse(text))
}

/// Returns the words of an option with their meanings, for help and completions. Underscores stand
/// for hyphens, too.
fn possible_values(words: &'static [Word]) -> impl Iterator<Item = PossibleValue> {
    words.iter().map(|word| {
        let value = PossibleValue::new(word.word).help(word.summary());
        if word.word.contains('-') { value.alias(word.word.replace('-', "_")) } else { value }
    })
}

/// Parses an option whose values are words.
pub(super) fn words<T>(words: &'static [Word]) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = zfinder::Error> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(possible_values(words)).try_map(|word| word.parse())
}

impl Args for KeyOptions {
    fn augment_args(command: Command) -> Command {
        let events = Arg::new(BEAM_SPOT_EVENTS_OPTION)
            .long("beam-spot-events")
            .value_name("N")
            .value_parser(clap::value_parser!(NonZeroUsize))
            .help(format!(
                "Most events that --beam-spot auto reads before the search begins; it keeps them in memory \
                 [default: {BEAM_SPOT_EVENTS}]"
            ))
            .help_heading(Group::Search.as_str())
            .hide_short_help(true);
        keys().fold(command, |command, key| command.arg(argument(key))).arg(events)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for KeyOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let value = |key: &'static Key| Some((key, matches.get_one::<Value>(key.name)?.clone()));
        Ok(Self {
            values: keys().filter(|key| key.name != BEAM_SPOT).filter_map(value).collect(),
            beam_spot: matches.get_one(BEAM_SPOT).copied(),
            beam_spot_events: matches.get_one(BEAM_SPOT_EVENTS_OPTION).copied().unwrap_or(BEAM_SPOT_EVENTS),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Parses `--threads`. A large number only costs memory, and systems refuse it.
pub(super) fn threads(text: &str) -> Result<NonZeroUsize, String> {
    let most = ZFinderBuilder::most_threads();
    let threads: NonZeroUsize = text.parse().map_err(|error| format!("{error}"))?;
    if threads.get() > most {
        return Err(format!("{most} is the most: 8 for each core, or 64"));
    }
    Ok(threads)
}

/// Parses the number of batches in flight, each of which has a thread.
pub(super) fn in_flight(text: &str) -> Result<NonZeroUsize, String> {
    let batches: NonZeroUsize = text.parse().map_err(|error| format!("{error}"))?;
    if batches.get() > StreamOptions::MOST_IN_FLIGHT {
        return Err(format!("{} is the most, because each batch has a thread", StreamOptions::MOST_IN_FLIGHT));
    }
    Ok(batches)
}

/// Parses two numbers with a comma between them.
pub(super) fn pair(text: &str) -> Result<[f64; 2], String> {
    let numbers = text.split_once(',').and_then(|(x, y)| Some([x.trim().parse().ok()?, y.trim().parse().ok()?]));
    numbers.ok_or_else(|| "two numbers with a comma between them are expected, as in 0.97,-0.18".into())
}

impl ConfigOptions {
    pub(super) fn config(&self) -> Result<Config, Failure> {
        self.config_or(Preset::Auto)
    }

    /// Returns the configuration, with this preset instead of the default of
    /// [`ConfigOptions::config`].
    pub(super) fn config_or(&self, unnamed: Preset) -> Result<Config, Failure> {
        self.keys.over(self.preset, unnamed, self.config.as_deref())
    }

    /// Returns the number of events for finding the beam spot; None if the beam spot is given.
    pub(super) fn beam_spot_events(&self) -> Option<NonZeroUsize> {
        self.keys.beam_spot_events()
    }

    /// Returns the file of `--config`.
    pub(super) fn file(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// Prints the configuration to standard output as TOML.
    pub(super) fn print(&self, config: &Config) -> Result<(), Failure> {
        if self.beam_spot_events().is_some() {
            return Err(Failure::usage(
                "--print-config reads no events, from which --beam-spot auto finds the beam spot",
                "run `zfinder find --beam-spot auto` without it: a note says the beam spot as options",
            ));
        }
        let written = io::stdout().lock().write_all(zfinder_io::config_to_toml(config).as_bytes());
        written.map_err(|source| Failure::output("standard output", &source))
    }
}

impl KeyOptions {
    /// Applies preset, then file, then options, and validates the result. `unnamed` is the preset
    /// if neither `preset` nor the file names one.
    pub(super) fn over(&self, preset: Option<Preset>, unnamed: Preset, file: Option<&Path>) -> Result<Config, Failure> {
        let mut config = match file {
            None => Config::preset(preset.unwrap_or(unnamed)),
            Some(path) => of_file(path, preset, unnamed)?,
        };
        for (key, value) in &self.values {
            key.set(&mut config, value)?;
        }
        if let Some(BeamPosition::At(position)) = self.beam_spot {
            config.beam_spot_mm = position;
        }
        let is_of_beam = |(key, _): &(&Key, Value)| ["beam_spot_tilt", "beam_width_mm"].contains(&key.name);
        if self.beam_spot_events().is_some() && self.values.iter().any(is_of_beam) {
            return Err(Failure::usage(
                "--beam-spot auto finds the slope and the width of the beam, too",
                "leave out --beam-spot-tilt and --beam-width, or give the beam position",
            ));
        }
        config.validate()?;
        Ok(config)
    }

    /// Returns the number of events for finding the beam spot; None if the beam spot is given.
    pub(super) fn beam_spot_events(&self) -> Option<NonZeroUsize> {
        (self.beam_spot == Some(BeamPosition::Auto)).then_some(self.beam_spot_events)
    }
}

/// Returns the configuration of a file over this preset, else over the preset that the file names,
/// else over `unnamed`.
fn of_file(path: &Path, preset: Option<Preset>, unnamed: Preset) -> Result<Config, Failure> {
    let changes: ConfigChanges = toml::from_str(&read_text(path)?)
        .map_err(|error| zfinder_io::Error::Toml { what: path.display().to_string(), message: error.to_string() })?;
    if let (Some(named), Some(preset)) = (changes.preset(), preset)
        && named != preset
    {
        return Err(Failure::usage(
            format!("{} starts from the preset {named}, and --preset is {preset}", path.display()),
            "leave --preset out, or the key `preset` of the file",
        ));
    }
    let mut config = Config::preset(changes.preset().or(preset).unwrap_or(unnamed));
    changes.apply(&mut config);
    Ok(config)
}

/// Reads a configuration, a detector or a report.
pub(super) fn read_text(path: &Path) -> Result<String, Failure> {
    /// Limit for a file, because a device may be endless.
    const MOST_BYTES: u64 = 1 << 26;
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_string(&mut text));
    let read = read.and_then(|length| match length as u64 {
        0..=MOST_BYTES => Ok(text),
        _ => Err(io::Error::other(format!("is longer than {} MiB", MOST_BYTES >> 20))),
    });
    read.map_err(|source| zfinder_io::Error::Io { path: path.to_owned(), source }.into())
}
