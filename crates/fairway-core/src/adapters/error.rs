//! The errors of calls to a backend script.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why an operation of a script did not succeed.
#[derive(Debug, Error)]
pub enum AdapterError {
    /// The script reported a failure.
    #[error("{} failed at {operation}: {why}", .script.display())]
    Failed { script: PathBuf, operation: &'static str, why: String },
    /// The script took too long and was ended.
    #[error("{} did not finish {operation} within {seconds} s", .script.display())]
    TimedOut { script: PathBuf, operation: &'static str, seconds: u64 },
    /// The script does not know the operation.
    #[error("{} does not know {operation}", .script.display())]
    Unsupported { script: PathBuf, operation: &'static str },
    /// The script cannot perform the operation now.
    #[error("{} cannot {operation} now: {why}", .script.display())]
    Busy { script: PathBuf, operation: &'static str, why: String },
    /// A live session of that name exists.
    #[error("{} has a session of that name: {why}", .script.display())]
    SessionExists { script: PathBuf, why: String },
    /// The script cannot be run at all.
    #[error("{} cannot be run: {source}", .script.display())]
    CannotRun { script: PathBuf, source: io::Error },
    /// The session's program has ended already.
    #[error("{session} was started, but {why}{}", screen_suffix(.screen))]
    ProgramEnded { session: String, why: String, screen: String },
    /// The script does not conform to the protocol.
    #[error("{} breaks the contract at {operations}", .script.display())]
    ContractBroken { script: PathBuf, operations: String },
    /// A signal to this process interrupted the check of the script.
    #[error("interrupted by {signal}; {} was not checked to the end, and what it had started is stopped", .script.display())]
    Interrupted { script: PathBuf, signal: String },
    /// A repeated launch found that the first one failed or was interrupted.
    #[error("{why}")]
    PreviousFailed { why: String, retryable: bool },
}

impl AdapterError {
    /// The code of this error in messages and JSON, as the documentation lists it. It never changes.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Failed { .. } | Self::CannotRun { .. } => "adapter_failed",
            Self::TimedOut { .. } => "adapter_timeout",
            Self::Unsupported { .. } => "adapter_unsupported",
            Self::Busy { .. } => "adapter_busy",
            Self::SessionExists { .. } => "session_exists",
            Self::ProgramEnded { .. } => "program_failed",
            Self::ContractBroken { .. } => "contract_broken",
            Self::Interrupted { .. } => "interrupted",
            Self::PreviousFailed { .. } => "launch_failed",
        }
    }

    /// The error message without the text of the program's screen. That text may hold secrets, so it must not get into the store.
    pub fn reason(&self) -> String {
        match self {
            Self::ProgramEnded { session, why, .. } => format!("{session} was started, but {why}"),
            other => other.to_string(),
        }
    }

    /// Whether the call that failed may succeed when it is repeated later.
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::Busy { .. } | Self::PreviousFailed { retryable: true, .. })
    }

    /// Whether a `start` that failed with this error may have left a session behind. The caller should then end the session with
    /// `stop`.
    pub const fn may_leave_session(&self) -> bool {
        matches!(self, Self::Failed { .. } | Self::TimedOut { .. } | Self::ProgramEnded { .. })
    }
}

/// The last lines of a screen, as the end of a sentence.
fn screen_suffix(screen: &str) -> String {
    let lines: Vec<&str> = screen.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() { String::new() } else { format!("; it last showed: {}", lines.join(" | ")) }
}
