//! The command `helmholtz`.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
