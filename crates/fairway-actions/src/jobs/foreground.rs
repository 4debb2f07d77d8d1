//! Runs a command while the caller waits: no job, no supervisor, only its output.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;

use super::sandboxed;
use crate::App;
use fairway_core::config::show_duration;
use fairway_core::domain::Refusal;
use fairway_core::domain::job::DEFAULT_OUTPUT_BYTES;
use fairway_core::domain::secrets::mask;
use fairway_core::os::exit_reason::ExitReason;
use fairway_core::os::head_tail_buffer::HeadTailBuffer;
use fairway_core::os::run_streaming::{self, StreamedProgram};
use fairway_core::wire::ForegroundView;

#[derive(Debug, Clone)]
pub struct ForegroundRequest {
    pub argv: Vec<OsString>,
    /// The working directory; by default the caller's.
    pub cwd: Option<PathBuf>,
    pub timeout: Duration,
    /// Maximum output kept, in bytes; by default [`DEFAULT_OUTPUT_BYTES`].
    pub max_output_bytes: Option<u64>,
}

/// Runs a command to its end. The output holds both streams in the order of writing; of a long output the head and the tail
/// are kept. All processes that the command started end with it.
///
/// # Errors
/// `usage` for an argument with a NUL byte; `interrupted` when this process receives a termination signal. A command that
/// cannot be started is not an error: the answer has `success: false`.
pub fn run(app: &App, request: &ForegroundRequest) -> Result<ForegroundView> {
    if request.argv.iter().any(|arg| arg.as_encoded_bytes().contains(&0)) {
        return Err(Refusal::Usage { why: "an argument of the command contains a NUL byte".into() }.into());
    }
    if request.max_output_bytes == Some(0) {
        return Err(Refusal::invalid("max_output_bytes", "must be greater than zero").into());
    }
    let max_bytes = usize::try_from(request.max_output_bytes.unwrap_or(DEFAULT_OUTPUT_BYTES)).unwrap_or(usize::MAX);
    let buffer = Arc::new(Mutex::new(HeadTailBuffer::new(max_bytes)));
    let shared = Arc::clone(&buffer);
    let dir = request.cwd.as_ref().map_or_else(|| app.env.cwd.clone(), |cwd| app.env.cwd.join(cwd));
    let argv = sandboxed::argv(app, &dir, &[], request.argv.clone())?;
    let program = StreamedProgram {
        argv: &argv,
        env: &[],
        dir: &dir,
        timeout: Some(request.timeout),
        merge_output: true,
        is_alone: true,
    };
    let ran = run_streaming::run(&program, move |_, bytes| {
        shared.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
    });
    let error = match ran {
        Ok(ran) => failure_message(ran.exit, request.timeout),
        Err(error) if error.is_not_started() => Some(error.to_string()),
        Err(error) => return Err(error.into()),
    };
    let output = buffer.lock().unwrap_or_else(PoisonError::into_inner).to_bytes();
    Ok(ForegroundView { success: error.is_none(), output: mask(&String::from_utf8_lossy(&output)), error })
}

fn failure_message(exit: ExitReason, timeout: Duration) -> Option<String> {
    match exit {
        ExitReason::Code(0) => None,
        ExitReason::Code(code) => Some(format!("exit code {code}")),
        ExitReason::Signal(signal) => Some(format!("ended by signal {signal}")),
        ExitReason::TimedOut => Some(format!("timed out after {}", show_duration(timeout))),
    }
}
