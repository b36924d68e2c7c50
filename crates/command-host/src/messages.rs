//! Messages of a command at work: notes, details, progress.

use std::fmt::Display;
use std::io::{self, IsTerminal};
use std::time::Duration;

use clap::{ArgAction, Args};
use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::note;

/// The options `-q` and `-v`, for `#[command(flatten)]` in the command itself: all subcommands have
/// them.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct MessageOptions {
    /// Nothing on standard error but warnings and errors
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "Output")]
    quiet: bool,
    /// Say on standard error what is done and how long it takes
    #[arg(short, long, global = true, action = ArgAction::SetTrue, help_heading = "Output")]
    verbose: bool,
}

impl MessageOptions {
    /// Writes a line to standard error, unless the command is to be quiet.
    pub fn note(&self, text: impl Display) {
        if !self.quiet {
            note(&text.to_string());
        }
    }

    /// Writes a line to standard error if the command is to be verbose.
    pub fn detail(&self, text: impl Display) {
        if self.verbose {
            note(&text.to_string());
        }
    }

    /// Writes a line about a step and its time if the command is to be verbose.
    pub fn timed(&self, step: impl Display, time: Duration) {
        self.detail(format_args!("{step}: {:.3} s", time.as_secs_f64()));
    }

    /// Returns a progress bar of so many `unit`s on standard error. It is hidden where standard
    /// error is no terminal, and where the command is to be quiet.
    #[must_use]
    pub fn progress(&self, length: u64, unit: &str) -> ProgressBar {
        if self.quiet || !io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let template = format!("{{bar:40}} {{human_pos}}/{{human_len}} {unit}, {{elapsed}}, {{eta}} left");
        let bar = ProgressBar::new(length);
        match ProgressStyle::with_template(&template) {
            Ok(style) => bar.with_style(style),
            Err(_) => bar,
        }
    }
}
