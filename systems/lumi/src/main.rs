//! The command `lumi`.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
