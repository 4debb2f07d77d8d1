//! The binary: reads the real environment once, hands it to the command line and turns the answer into an exit code.

use std::process::ExitCode;

use fairway::{cli, env::Env};

fn main() -> ExitCode {
    ExitCode::from(cli::main(Env::real()))
}
