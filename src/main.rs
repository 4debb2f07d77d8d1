//! The binary: reads the real environment once, hands it to the command line and turns the answer into an exit code.

use std::process::ExitCode;

use fairway::{
    cli,
    env::Env,
    os::{gate, signals},
};

fn main() -> ExitCode {
    // A process that only waits to become a program is none of the command line's.
    match gate::serve() {
        Some(code) => ExitCode::from(code),
        None => {
            signals::know_of_children();
            ExitCode::from(cli::main(Env::real()))
        }
    }
}
