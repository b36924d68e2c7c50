//! The command `transport`.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
