//! Options that choose the engine and the number type.

use std::marker::PhantomData;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, value_parser};
use kernel_host::{AdapterChoice, Engine, Precision};

/// The help texts of `--engine`.
pub trait Engines {
    /// The help of `--engine`: "What computes".
    const WHAT: &str;
    /// The help of `--engine cpu`.
    const CPU: &str = "All cores";
    /// The help of `--engine reference`, for a system that has one.
    const REFERENCE: Option<&str> = None;
}

/// The options `--engine` and `--adapter`, with the help texts of `E`, for `#[command(flatten)]`.
#[derive(Debug)]
pub struct EngineOptions<E> {
    engine: Name,
    adapter: Option<AdapterChoice>,
    of: PhantomData<fn() -> E>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Auto,
    Gpu,
    Cpu,
    Reference,
}

impl<E> EngineOptions<E> {
    /// Returns the chosen engine. `--adapter` implies the GPU, except with an engine that has no
    /// adapter.
    #[must_use]
    pub fn engine(&self) -> Engine {
        match (&self.adapter, self.engine) {
            (_, Name::Cpu) => Engine::Cpu,
            (_, Name::Reference) => Engine::Reference,
            (Some(adapter), _) => Engine::Gpu(adapter.clone()),
            (None, Name::Gpu) => Engine::Gpu(AdapterChoice::Hardware),
            (None, Name::Auto) => Engine::Auto,
        }
    }
}

/// Implemented by hand, because the derived implementation would have the same help for every
/// system.
impl<E: Engines> Args for EngineOptions<E> {
    fn augment_args(command: Command) -> Command {
        let mut names = vec![
            PossibleValue::new("auto").help("A hardware GPU if there is one, else the CPU"),
            PossibleValue::new("gpu").help("A hardware GPU, or the one of --adapter"),
            PossibleValue::new("cpu").help(E::CPU),
        ];
        names.extend(E::REFERENCE.map(|help| PossibleValue::new("reference").help(help)));
        let name = PossibleValuesParser::new(names).map(|name| match name.as_str() {
            "gpu" => Name::Gpu,
            "cpu" => Name::Cpu,
            "reference" => Name::Reference,
            _ => Name::Auto,
        });
        let option = |name| Arg::new(name).long(name).help_heading("Engine");
        command.arg(option("engine").help(E::WHAT).value_name("ENGINE").value_parser(name).default_value("auto")).arg(
            option("adapter")
                .help("GPU by index, part of its name, or PCI id")
                .value_name("INDEX|NAME|PCI")
                .value_parser(value_parser!(AdapterChoice)),
        )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<E> FromArgMatches for EngineOptions<E> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let engine = matches.get_one("engine").copied().unwrap_or(Name::Auto);
        Ok(Self { engine, adapter: matches.get_one("adapter").cloned(), of: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Returns the value parser of `--precision`. `f64_help` is the help of `f64`.
pub fn precision_parser(f64_help: &'static str) -> impl TypedValueParser<Value = Precision> {
    let values = [PossibleValue::new("f32").help("32 bits"), PossibleValue::new("f64").help(f64_help)];
    PossibleValuesParser::new(values).try_map(|name| name.parse())
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;

    struct Two;

    impl Engines for Two {
        const WHAT: &str = "What adds";
    }

    struct Three;

    impl Engines for Three {
        const WHAT: &str = "What fits";
        const CPU: &str = "All cores, f32";
        const REFERENCE: Option<&str> = Some("One core, f64");
    }

    #[derive(Parser)]
    struct Cli<E: Engines + Send + Sync + 'static> {
        #[command(flatten)]
        engine: EngineOptions<E>,
    }

    fn asked<E: Engines + Send + Sync + 'static>(words: &[&str]) -> Option<Engine> {
        let cli = Cli::<E>::try_parse_from([&["it"], words].concat()).ok()?;
        Some(cli.engine.engine())
    }

    #[test]
    fn options_are_engines() {
        let named = Engine::Gpu(AdapterChoice::Name("radeon".to_owned()));
        for (words, engine) in [
            (&[][..], Some(Engine::Auto)),
            (&["--engine", "auto"], Some(Engine::Auto)),
            (&["--engine", "gpu"], Some(Engine::Gpu(AdapterChoice::Hardware))),
            (&["--engine", "cpu", "--adapter", "radeon"], Some(Engine::Cpu)),
            (&["--adapter", "radeon"], Some(named.clone())),
            (&["--engine", "gpu", "--adapter", "radeon"], Some(named)),
            (&["--engine", "abacus"], None),
        ] {
            assert_eq!(asked::<Two>(words), engine, "{words:?}");
            assert_eq!(asked::<Three>(words), engine, "{words:?}");
        }
        let reference = ["--engine", "reference"];
        assert_eq!((asked::<Two>(&reference), asked::<Three>(&reference)), (None, Some(Engine::Reference)));
    }

    #[test]
    fn number_types_are_parsed() {
        #[derive(Debug, Parser)]
        struct Cli {
            #[arg(long, value_parser = precision_parser("64 bits, slowly"))]
            precision: Precision,
        }
        let parsed = |name| Cli::try_parse_from(["it", "--precision", name]).map(|cli| cli.precision);
        assert_eq!(parsed("f32").expect("a number type"), Precision::F32);
        assert_eq!(parsed("f64").expect("a number type"), Precision::F64);
        let message = parsed("f16").expect_err("unknown").to_string();
        assert!(message.contains("[possible values: f32, f64]"), "{message}");
    }

    #[test]
    fn the_help_is_that_of_the_system() {
        let help = |mut command: Command| {
            command.clone().debug_assert();
            command.render_long_help().to_string()
        };
        let (two, three) = (help(Cli::<Two>::command()), help(Cli::<Three>::command()));
        assert!(two.contains("What adds") && two.contains("All cores\n") && !two.contains("reference"), "{two}");
        assert!(
            three.contains("What fits") && three.contains("All cores, f32") && three.contains("One core"),
            "{three}"
        );
    }
}
