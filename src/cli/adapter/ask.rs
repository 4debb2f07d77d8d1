//! `fairway adapter ask`

use std::{ffi::OsString, io::Read, path::PathBuf, time::Duration};

use anyhow::Result;

use crate::{
    actions::backend::server,
    cli::{context::Context, exit::Exit},
    os::capture::End,
};

/// The exit codes of shells and of `timeout`.
const TIMED_OUT: Exit = 124;
const NO_PROGRAM: Exit = 127;
const SIGNAL: i32 = 128;

/// Run a command of a multiplexer for a limited time, with no descriptor of the caller and nothing of a session around it
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The limit, in milliseconds
    #[arg(long, value_name = "N", default_value_t = 1_500)]
    limit_ms: u64,
    /// A file that those who ask the same server take turns with
    #[arg(long, value_name = "FILE")]
    turn: Option<PathBuf>,
    /// Give it this command's stdin
    #[arg(long)]
    stdin: bool,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let mut stdin = std::io::stdin().lock();
        let stdin = self.stdin.then_some(&mut stdin as &mut dyn Read);
        let limit = Duration::from_millis(self.limit_ms);
        let _turn = match &self.turn {
            Some(file) => match server::turn(file)? {
                Some(turn) => Some(turn),
                None => {
                    ctx.out.complain(&format!("others ask all the time: {}", file.display()));
                    return Ok(TIMED_OUT);
                }
            },
            None => None,
        };
        let Some(done) = server::ask(&ctx.env, &self.words, limit, stdin)? else {
            let first = self.words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
            ctx.out.complain(&format!("there is no program '{first}'"));
            return Ok(NO_PROGRAM);
        };
        ctx.out.bytes(&done.stdout)?;
        let said = String::from_utf8_lossy(&done.stderr);
        if !said.trim().is_empty() {
            ctx.out.complain(said.trim());
        }
        Ok(match done.end {
            End::Exit(code) => Exit::try_from(code).unwrap_or(1),
            End::Signal(signal) => Exit::try_from(SIGNAL + signal).unwrap_or(1),
            End::TimedOut => TIMED_OUT,
        })
    }
}
