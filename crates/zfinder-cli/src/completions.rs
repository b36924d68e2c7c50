//! `zfinder completions` and `zfinder man`: what shells and `man` want to know of the command line.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;

use command_host::Failure;

/// Prints what a shell needs to complete the command line
#[derive(Args)]
#[command(after_help = "For bash, for example:
  zfinder completions bash > ~/.local/share/bash-completion/completions/zfinder")]
pub(super) struct Completions {
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the manual page, or writes one for each subcommand too
#[derive(Args)]
#[command(after_help = "Examples:
  zfinder man | man -l -
  zfinder man ~/.local/share/man/man1")]
pub(super) struct Man {
    /// Folder to write zfinder.1, zfinder-find.1 and so on into
    folder: Option<PathBuf>,
}

impl Completions {
    pub(super) fn run(self, mut command: Command) -> Result<(), Failure> {
        let name = command.get_name().to_owned();
        // Into memory first: writing that fails is an error here, and a panic there.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, name, &mut script);
        print(&script)
    }
}

impl Man {
    pub(super) fn run(self, command: Command) -> Result<(), Failure> {
        let Some(folder) = self.folder else {
            let mut page = Vec::new();
            let rendered = clap_mangen::Man::new(command).render(&mut page);
            rendered.map_err(|source| Failure::output("standard output", &source))?;
            return print(&page);
        };
        let written = clap_mangen::generate_to(command, &folder);
        written.map_err(|source| Failure::output(&folder.display().to_string(), &source))
    }
}

fn print(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let written = out.write_all(bytes).and_then(|()| out.flush());
    written.map_err(|source| Failure::output("standard output", &source))
}
