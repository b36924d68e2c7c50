//! The command `p2r`.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
