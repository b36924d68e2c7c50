//! Diagnoses errors of the library and of files: the position in the file, help, and the exit code.

use std::error::Error as StdError;
use std::path::Path;

use command_host::{Code, Diagnosis, Excerpt, Failure};
use zfinder_io::Error;

/// Help for an input without RoIs.
pub(crate) const NO_ROI: &str = "leave --input out for a simulated sample, or give --rois that select its events";
/// Help for an engine that answers differently from the reference engine.
pub const WRONG_ANSWER: &str =
    "no figure counts where an answer is wrong; if `--encoding lossless` is wrong as well, please report it";

/// Help for events without a beam spot.
const MORE_TRACKS: &str =
    "give the position with --beam-spot X,Y, or let --beam-spot-events read more events; is this the right --detector?";

/// Diagnoses an error: its exit code, what to do, and the row of the file.
pub fn diagnose(error: &(dyn StdError + 'static)) -> Diagnosis {
    if let Some(error) = error.downcast_ref::<Error>() {
        return of_file(error);
    }
    #[cfg(feature = "serve")]
    if let Some(error) = error.downcast_ref::<zfinder_serve::Error>() {
        return of_server(error);
    }
    let of_study = error.downcast_ref::<zfinder_study::Error>();
    if let Some(zfinder_study::Error::Zfinder(error)) = of_study {
        return of_library(error);
    }
    match of_study {
        Some(zfinder_study::Error::FewTracks { .. } | zfinder_study::Error::UncertainBeamSpot { .. }) => {
            return Diagnosis { help: Some(MORE_TRACKS), ..Code::Data.into() };
        }
        Some(zfinder_study::Error::FewBarrels { .. }) => {
            return Diagnosis { help: Some("give the position: --beam-spot X,Y"), ..Code::Usage.into() };
        }
        _ => {}
    }
    error.downcast_ref::<zfinder::Error>().map_or(Code::Data.into(), of_library)
}

fn of_file(error: &Error) -> Diagnosis {
    match error {
        Error::Zfinder(error) => of_library(error),
        Error::Toml { .. } => Diagnosis {
            help: Some(
                "`zfinder find --print-config` shows every key of a configuration, `zfinder detector print generic` those of a detector",
            ),
            ..Code::Usage.into()
        },
        Error::Input { path, row, column, message } => Diagnosis {
            help: column.as_deref().and_then(help_on_column).or_else(|| help_on_names(message)),
            excerpt: if *row > 0 { excerpt(path, *row, column.as_deref()) } else { None },
            ..Code::Data.into()
        },
        Error::NoEvent { .. } => Code::Usage.into(),
        _ => Code::Data.into(),
    }
}

#[cfg(feature = "serve")]
fn of_server(error: &zfinder_serve::Error) -> Diagnosis {
    use zfinder_serve::Error as E;
    let (code, help) = match error {
        E::Finder { source, .. } => return of_library(source),
        E::Gpu(_) => (Code::Gpu, Some("`zfinder adapters` lists the adapters; --engine cpu needs none")),
        E::Listen { .. } => {
            (Code::Data, Some("another port: --grpc, --http, --metrics; 0 is any free port, off is none"))
        }
        E::Folder { .. } => (Code::Data, Some("`zfinder find --print-config` shows every key of a configuration")),
        E::Models(_) | E::Option { .. } => (Code::Usage, None),
        _ => (Code::Data, None),
    };
    Diagnosis { help, ..code.into() }
}

fn of_library(error: &zfinder::Error) -> Diagnosis {
    use zfinder::Error as E;
    let (code, help) = match error {
        E::Config { .. } => (
            Code::Usage,
            Some("`zfinder find --help` says what each option means; --print-config shows the values in use"),
        ),
        E::Detector { .. } => (Code::Usage, None),
        E::Gpu(_) => (Code::Gpu, Some("`zfinder adapters` lists the adapters; --engine cpu needs none")),
        E::Panicked { .. } | E::Thread(_) => (Code::Gpu, None),
        _ => (Code::Data, None),
    };
    Diagnosis { help, ..code.into() }
}

/// Returns help for a file whose columns have similar names.
fn help_on_names(message: &str) -> Option<&'static str> {
    message.contains("` looks like `").then_some("or give the names of the file: --columns x=X,layer=lay")
}

fn help_on_column(column: &str) -> Option<&'static str> {
    match column {
        "layer" | "layer_id" | "geometry_id_1" | "geometry_id" | "sp_vollayer" | "sp_x" => {
            Some("name the detector that the file is of: --detector atlas2010, generic, odd or FILE.toml")
        }
        _ => None,
    }
}

/// Makes a failure of a writer's error, which concerns an output.
pub(crate) fn unwritten(error: Error) -> Failure {
    match error {
        Error::Io { path, source } => Failure::output(&path.display().to_string(), &source),
        other => other.into(),
    }
}

/// Reads the row of a file, and marks the field of the column in it.
fn excerpt(path: &Path, row: u64, column: Option<&str>) -> Option<Excerpt> {
    let line = zfinder_io::line(path, row).filter(|line| !line.is_empty())?;
    let mut marked = 0..line.len();
    if let Some(column) = column {
        let header = zfinder_io::line(path, 1)?;
        let at = header.split(',').position(|name| name.trim() == column)?;
        let start: usize = line.split(',').take(at).map(|field| field.len() + 1).sum();
        let length = line.split(',').nth(at)?.len();
        marked = start..start + length;
    }
    Some(Excerpt {
        name: path.display().to_string(),
        line,
        row: usize::try_from(row).ok()?,
        marked,
        label: column.map(str::to_owned),
    })
}
