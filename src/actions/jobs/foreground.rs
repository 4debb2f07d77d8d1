//! A command that is run at once, while the caller waits: no record, no supervisor, only what it printed.

use std::{
    ffi::OsString,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::Result;

use crate::{
    actions::App,
    config::show_duration,
    domain::{Refusal, job::DEFAULT_OUTPUT_BYTES, secrets::mask},
    os::{
        head_tail_buffer::HeadTailBuffer,
        run_streaming::{self, Program, ProgramExit},
    },
    wire::ForegroundView,
};

/// What is to be run.
#[derive(Debug, Clone)]
pub struct ForegroundRequest {
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// Where, when not here.
    pub cwd: Option<PathBuf>,
    /// How long it may take.
    pub timeout: Duration,
}

/// Runs it to its end. Both streams are kept in the order in which they were written, their beginning and their end where that is too
/// much; whatever it started is ended with it.
///
/// # Errors
/// `usage` when no program can be given these words; `interrupted` when we are told to stop. A command that cannot be started
/// is no error: the answer says so.
pub fn run(app: &App, order: &ForegroundRequest) -> Result<ForegroundView> {
    if order.argv.iter().any(|word| word.as_encoded_bytes().contains(&0)) {
        return Err(Refusal::Usage { why: "the command holds a NUL, which no program can be given".into() }.into());
    }
    let most = usize::try_from(DEFAULT_OUTPUT_BYTES).unwrap_or(usize::MAX);
    let kept = Arc::new(Mutex::new(HeadTailBuffer::new(most)));
    let seen = Arc::clone(&kept);
    let dir = order.cwd.as_ref().map_or_else(|| app.env.cwd.clone(), |cwd| app.env.cwd.join(cwd));
    let program = Program { argv: &order.argv, dir: &dir, timeout: Some(order.timeout), merge_output: true };
    let ran = run_streaming::run(&program, move |_, bytes| {
        seen.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
    });
    let error = match ran {
        Ok(ran) => failure_message(ran.exit, order.timeout),
        Err(error) if error.is_not_started() => Some(error.to_string()),
        Err(error) => return Err(error.into()),
    };
    let output = kept.lock().unwrap_or_else(PoisonError::into_inner).to_bytes();
    Ok(ForegroundView { success: error.is_none(), output: mask(&String::from_utf8_lossy(&output)), error })
}

fn failure_message(ending: ProgramExit, timeout: Duration) -> Option<String> {
    match ending {
        ProgramExit::Exited(0) => None,
        ProgramExit::Exited(code) => Some(format!("exit code {code}")),
        ProgramExit::Signaled(signal) => Some(format!("ended by signal {signal}")),
        ProgramExit::TimedOut => Some(format!("ended after its time of {}", show_duration(timeout))),
    }
}
