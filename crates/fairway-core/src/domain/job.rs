//! A job: a background command that outlives the call that started it.

use std::fmt;

use super::excerpt::excerpt;
pub use super::status::JobStatus;
use super::string_enum::string_enum;
use super::{Refusal, RoutingKey};
use crate::env::Timestamp;

string_enum! {
    /// The treatment of a job whose supervisor died: it runs again, or never a second time.
    RecoveryPolicy { Requeue => "requeue", Lost => "lost" }
}

string_enum! {
    /// The type of an item of a job's output.
    ItemType { Stdout => "stdout", Stderr => "stderr", Event => "event" }
}

/// How often a job is started at most.
pub const MAX_ATTEMPTS: i64 = 3;

/// How much of a job's output is kept by default, in bytes.
pub const DEFAULT_OUTPUT_BYTES: u64 = 1 << 20;

/// A job's id: a `UUIDv7`, in lower case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(uuid::Uuid);

impl JobId {
    pub const fn new(id: uuid::Uuid) -> Self {
        Self(id)
    }

    /// Fails with [`Refusal::Invalid`] when the text is not a UUID.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        uuid::Uuid::parse_str(text)
            .map(Self)
            .map_err(|_| Refusal::invalid("job id", format!("'{}' is not a UUID", excerpt(text))))
    }

    pub const fn bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// The short form that people type: the last eight digits, which are random.
    pub fn short(&self) -> String {
        let text = self.to_string();
        text.get(text.len().saturating_sub(8)..).unwrap_or_default().to_owned()
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.to_string())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    pub rows: u16,
    pub cols: u16,
}

pub const DEFAULT_TERMINAL_SIZE: TerminalSize = TerminalSize { rows: 24, cols: 80 };

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its place in the order in which jobs were requested.
    pub seq: i64,
    pub id: JobId,
    /// The key under which its messages wait; the session need not be known to Fairway.
    pub session: Option<RoutingKey>,
    /// Jobs of one queue run one after another; a job without a queue starts at once.
    pub queue: Option<String>,
    pub status: JobStatus,
    /// The command, as a person would type it.
    pub command: String,
    pub cwd: String,
    /// Whether the caller continued without waiting.
    pub background: bool,
    pub pty: Option<TerminalSize>,
    /// How long it may run, in milliseconds.
    pub timeout_ms: Option<i64>,
    /// How much of its output is kept, in bytes.
    pub max_output_bytes: i64,
    /// The treatment of the job when its supervisor dies.
    pub recovery: RecoveryPolicy,
    /// The number of this start, from 1.
    pub attempt: i64,
    /// The host and pid namespace that its process ids belong to.
    pub host: String,
    /// The id of that host; `None` in a row of an earlier version, which matches by name.
    pub host_id: Option<String>,
    /// The boot that its process ids belong to.
    pub boot_id: String,
    /// The process that is responsible for it: the supervisor, or the process that creates it.
    pub supervisor_pid: Option<i64>,
    /// The start time of that process, in the kernel's ticks since boot.
    pub supervisor_started: Option<i64>,
    /// Its root process.
    pub pid: Option<i64>,
    /// The start time of the root process, in the kernel's ticks since boot.
    pub pid_started: Option<i64>,
    pub exit_code: Option<i64>,
    /// The signal that ended it.
    pub signal: Option<i64>,
    /// How much it printed, in bytes. While it runs, the number in the output store is the right one.
    pub output_bytes: i64,
    /// Whether something of its output was left out.
    pub truncated: bool,
    /// Why it failed, was canceled or lost, in a sentence.
    pub error_message: Option<String>,
    pub actor: String,
    pub queued_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    pub updated_at: Timestamp,
}

/// The end of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobResult {
    /// A final status.
    pub status: JobStatus,
    /// Its exit code, when it ended by itself.
    pub exit_code: Option<i64>,
    /// The signal that ended it.
    pub signal: Option<i64>,
    /// The reason, when the job did not simply exit with a code.
    pub error_message: Option<String>,
}

impl JobResult {
    /// A result with neither an exit code nor a signal; `reason` becomes its error message.
    pub fn without_exit(status: JobStatus, reason: impl Into<String>) -> Self {
        Self { status, exit_code: None, signal: None, error_message: Some(reason.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_is_read_in_any_case_and_shown_in_one() {
        let id = JobId::parse("0193B0C0-7E6A-7A5B-8C3D-AABBCCDDEEFF").unwrap();
        assert_eq!(id.to_string(), "0193b0c0-7e6a-7a5b-8c3d-aabbccddeeff");
        assert_eq!(id.short(), "ccddeeff");
        assert!(JobId::parse("\u{1b}x").unwrap_err().to_string().contains("\\u{1b}"));
    }
}
