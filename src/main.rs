//! The command `zfinder`.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
