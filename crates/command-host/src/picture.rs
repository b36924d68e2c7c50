//! Pictures as files, and their options.

use std::path::Path;

use clap::Args;
use hep_figure::{Figure, Format, Options};

use crate::failure::{Code, Failure};
use crate::output::Output;

/// Options of a picture, the same in every command that draws.
#[derive(Args, Clone, Debug, Default, PartialEq)]
#[command(next_help_heading = "Picture")]
pub struct PictureOptions {
    /// Size in pixels at 100 dpi; letters and lines scale with it. A PDF has 72 points for 100
    /// pixels
    #[arg(long, value_name = "WIDTHxHEIGHT", value_parser = size)]
    size: Option<(u32, u32)>,
    /// Dots per inch of a PNG: 300 gives three times the pixels of --size [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(20..=2400))]
    dpi: Option<u32>,
    /// Experiment above the frame, in bold letters
    #[arg(long, value_name = "TEXT", value_parser = label)]
    label: Option<String>,
    /// Status after --label, in oblique letters, for example Simulation
    #[arg(long, value_name = "TEXT", value_parser = label)]
    label_text: Option<String>,
    /// Logarithmic x axis of the first panel
    #[arg(long)]
    log_x: bool,
    /// Logarithmic y axis of the first panel
    #[arg(long)]
    log_y: bool,
    /// Range of x of the first panel
    #[arg(long, value_name = "LOW,HIGH", value_parser = range, allow_hyphen_values = true)]
    x_range: Option<(f64, f64)>,
    /// Range of y of the first panel
    #[arg(long, value_name = "LOW,HIGH", value_parser = range, allow_hyphen_values = true)]
    y_range: Option<(f64, f64)>,
    /// Draw this panel alone; a wrong name lists the panels
    #[arg(long, value_name = "NAME")]
    panel: Option<String>,
}

/// Refuses a text that fits no picture. Fitting it would take minutes.
fn label(text: &str) -> Result<String, String> {
    const MOST: usize = 200;
    match text.chars().count() {
        count if count > MOST => Err(format!("a label has {MOST} characters at most, not {count}")),
        _ => Ok(text.to_owned()),
    }
}

fn size(text: &str) -> Result<(u32, u32), String> {
    let sides =
        text.split_once(['x', 'X']).and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    let fits = |side: &u32| (50..=20_000).contains(side);
    sides
        .filter(|(width, height)| fits(width) && fits(height))
        .ok_or_else(|| "a size is WIDTHxHEIGHT, for example 800x600, each from 50 to 20000".to_owned())
}

fn range(text: &str) -> Result<(f64, f64), String> {
    let ends = text
        .split_once(',')
        .and_then(|(low, high)| Some((low.trim().parse::<f64>().ok()?, high.trim().parse::<f64>().ok()?)));
    let (low, high) = ends.ok_or("a range is LOW,HIGH, for example 0,1.2")?;
    if low < high && (high - low).is_finite() { Ok((low, high)) } else { Err("LOW must be below HIGH".to_owned()) }
}

impl PictureOptions {
    /// Opens the output file of a picture. Wrong endings and files that cannot be created are
    /// refused before anything is computed.
    ///
    /// # Errors
    /// [`Code::Usage`] if the ending is not that of a picture; [`Code::Data`] if the file cannot be
    /// created.
    pub fn open(&self, path: &Path, program: &str) -> Result<Picture, Failure> {
        let format = Format::from_path(path).ok_or_else(|| {
            Failure::usage(
                format!("the ending of `{}` is not that of a picture", path.display()),
                "end the name in .png, .svg or .pdf",
            )
        })?;
        for (range, log, axis) in [(self.x_range, self.log_x, 'x'), (self.y_range, self.log_y, 'y')] {
            if log && range.is_some_and(|(low, _)| low <= 0.0) {
                let what = format!("--{axis}-range begins at 0 or below, and --log-{axis} needs a range above 0");
                return Err(Failure::new(Code::Usage, what));
            }
        }
        let options = Options {
            size: self.size,
            dpi: self.dpi.unwrap_or(100),
            label: self.label.clone(),
            label_text: self.label_text.clone(),
            log_x: self.log_x,
            log_y: self.log_y,
            x_range: self.x_range,
            y_range: self.y_range,
            panel: self.panel.clone(),
        };
        Ok(Picture { output: Output::open(Some(path), program)?, format, options })
    }

    /// Refuses options of a picture if the command draws none.
    ///
    /// # Errors
    /// [`Code::Usage`].
    pub fn check(&self, has_picture: bool) -> Result<(), Failure> {
        if has_picture || *self == Self::default() {
            return Ok(());
        }
        Err(Failure::usage("options of a picture, and no picture", "name its file with --plot"))
    }

    /// Opens the output file of an optional picture.
    ///
    /// # Errors
    /// Errors of [`open`](Self::open); [`Code::Usage`] if there are options but no picture.
    pub fn open_optional(&self, path: Option<&Path>, program: &str) -> Result<Option<Picture>, Failure> {
        self.check(path.is_some())?;
        path.map(|path| self.open(path, program)).transpose()
    }
}

/// An output file for a figure.
pub struct Picture {
    output: Output,
    format: Format,
    options: Options,
}

impl Picture {
    /// Returns the format.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// Draws, and finishes the file.
    ///
    /// # Errors
    /// [`Code::Usage`] if the figure refuses an option; [`Code::Data`] if the file cannot be
    /// written.
    pub fn draw(mut self, figure: &Figure) -> Result<(), Failure> {
        let content = figure.render(self.format, &self.options).map_err(|error| Failure::new(Code::Usage, error))?;
        self.output.write(|out| out.write_all(&content))?;
        self.output.finish()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use hep_figure::{Axis, Panel};

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        picture: PictureOptions,
    }

    fn parsed(options: &[&str]) -> Result<PictureOptions, String> {
        let all = std::iter::once("draws").chain(options.iter().copied());
        Cli::try_parse_from(all).map(|cli| cli.picture).map_err(|error| error.to_string())
    }

    #[test]
    fn options_parse_and_wrong_ones_are_refused() {
        let options = parsed(&["--size", "800x600", "--dpi", "300", "--x-range", "-1.5,2", "--log-y", "--label", "X"]);
        let options = options.expect("options");
        assert_eq!((options.size, options.dpi, options.x_range), (Some((800, 600)), Some(300), Some((-1.5, 2.0))));
        for (wrong, message) in [
            (["--x-range", "2,1"], "LOW must be below HIGH"),
            (["--y-range", "nan,1"], "LOW must be below HIGH"),
            (["--y-range", "1"], "a range is LOW,HIGH"),
            (["--size", "800"], "a size is WIDTHxHEIGHT"),
            (["--size", "1x1"], "each from 50"),
            (["--dpi", "1"], "20..=2400"),
            (["--label", "a".repeat(201).as_str()], "200 characters at most, not 201"),
        ] {
            let error = parsed(&wrong).expect_err("refused");
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn pictures_are_files_of_three_formats() {
        let folder = tempfile::tempdir().expect("a folder");
        let figure = Figure::new("", Panel::new("a", Axis::new("x", 0.0, 1.0), Axis::new("y", 0.0, 1.0)));
        let drawn = |name: &str, options: &[&str]| {
            let path = folder.path().join(name);
            let picture = parsed(options).expect("options").open(&path, "draws")?;
            picture.draw(&figure).map(|()| std::fs::read(path).expect("a file"))
        };
        for (name, begin) in [("a.PNG", &b"\x89PNG\r\n\x1a\n"[..]), ("a.svg", b"<svg "), ("a.pdf", b"%PDF-")] {
            assert!(drawn(name, &[]).expect("drawn").starts_with(begin), "{name}");
        }
        let code = |name, options: &[&str]| drawn(name, options).map(drop).map_err(|failure| failure.code());
        assert_eq!(code("a.jpg", &[]), Err(Some(Code::Usage)));
        assert_eq!(code("none/a.png", &[]), Err(Some(Code::Data)));
        assert_eq!(code("b.png", &["--panel", "b"]), Err(Some(Code::Usage)));
        assert_eq!(code("b.png", &["--log-x", "--x-range", "-1,1"]), Err(Some(Code::Usage)));
        assert!(!folder.path().join("b.png").exists());
        let none = parsed(&["--log-x"]).expect("options").open_optional(None, "draws");
        assert!(none.is_err_and(|failure| failure.code() == Some(Code::Usage)));
    }
}
