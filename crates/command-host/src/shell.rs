//! `completions` and `man`: the command line for shells and for `man`.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::Failure;

/// Prints what a shell needs to complete the command line
#[derive(Args, Debug)]
#[command(after_help = "For bash, write it to ~/.local/share/bash-completion/completions/, named as the command.")]
pub struct Completions {
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the manual page, or writes one for each subcommand too
#[derive(Args, Debug)]
#[command(after_help = "`man -l -` shows the page from standard input; ~/.local/share/man/man1 is a folder for pages.")]
pub struct Man {
    /// Folder to write a page for each subcommand into
    folder: Option<PathBuf>,
}

impl Completions {
    /// Prints the completions of a command.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub fn run(&self, mut command: Command) -> Result<(), Failure> {
        let name = command.get_name().to_owned();
        // Into memory first, because `generate` panics where writing fails.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, name, &mut script);
        print(&script)
    }
}

impl Man {
    /// Prints the page of a command, or writes all pages.
    ///
    /// # Errors
    /// [`Code::Data`](crate::Code::Data) if the output cannot be written.
    pub fn run(&self, command: Command) -> Result<(), Failure> {
        let Some(folder) = &self.folder else {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            return print(&page);
        };
        let written = clap_mangen::generate_to(command, folder);
        written.map_err(|source| Failure::output(&folder.display().to_string(), &source))
    }
}

fn print(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    Ok(out.write_all(bytes).and_then(|()| out.flush())?)
}
