//! The binary: reads the real environment once, hands it to the command line and turns the answer into an exit code.

use std::process::ExitCode;

use fairway::{cli, hooks};
use fairway_core::env::Env;
use fairway_core::os::{held_process, signals};

fn main() -> ExitCode {
    // A process that waits to exec another program does not parse the command line.
    // An agent waits for a hook's answer before every tool: it does not wait for a parser as well. Nor does a version.
    let words = || std::env::args_os().skip(1);
    let outside = || cli::call_outside_of_sandbox(words());
    let fast = held_process::main_if_held()
        .or_else(outside)
        .or_else(|| hooks::fast_path(words()))
        .or_else(|| cli::version_fast_path(words()));
    match fast {
        Some(code) => ExitCode::from(code),
        None => {
            signals::enable_sigchld();
            ExitCode::from(cli::main(Env::from_process()))
        }
    }
}
