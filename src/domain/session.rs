//! A session: a provider attached to a lane. Two axes: whether it lives, and what it does.

use super::{LaneName, Role, SessionId, TaskId, closed_set::closed_set, id::Label};
use crate::env::Timestamp;

closed_set! {
    /// Whether it lives.
    SessionStatus {
        Starting => "starting",
        Running => "running",
        Stale => "stale",
        Ended => "ended",
        Failed => "failed",
    }
}

impl SessionStatus {
    /// Ended and failed: a new launch is a new session.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Ended | Self::Failed)
    }
}

closed_set! {
    /// What it does, as reported; never guessed.
    Activity {
        Unknown => "unknown",
        Idle => "idle",
        Busy => "busy",
        RequiresAction => "requires_action",
        Stopping => "stopping",
    }
}

/// A session.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// Its short id, and its name in the backend.
    pub id: SessionId,
    /// `UUIDv7`, from launch to exit.
    pub run_id: String,
    /// The role it works in.
    pub role: Role,
    /// The lane it is attached to.
    pub lane: Option<LaneName>,
    /// The task it was started for.
    pub task: Option<TaskId>,
    /// The provider, a label.
    pub provider: Option<Label>,
    /// The backend: a built-in's or configured one's name, or `exec:/path`.
    pub backend: Option<String>,
    /// Its name in the backend, when that is not its id.
    pub session_name: Option<String>,
    /// The provider's own id for it.
    pub external_session_id: Option<String>,
    /// Whether it lives.
    pub status: SessionStatus,
    /// What it does.
    pub activity: Activity,
    /// What it waits for, when it requires action.
    pub waiting_for: Option<String>,
    /// Where the activity was reported from.
    pub activity_source: Option<String>,
    /// When the activity was reported.
    pub activity_at: Option<Timestamp>,
    /// The host and pid namespace it runs in.
    pub host: String,
    /// Its root process.
    pub pid: Option<i64>,
    /// That process's start time, in the kernel's ticks since boot.
    pub pid_started: Option<i64>,
    /// The boot that pid and start time belong to.
    pub boot_id: Option<String>,
    /// The multiplexer's socket.
    pub socket: Option<String>,
    /// The multiplexer's pane.
    pub pane: Option<String>,
    /// The transcript's file.
    pub transcript: Option<String>,
    /// The worktree's folder.
    pub worktree: Option<String>,
    /// The branch.
    pub branch: Option<String>,
    /// The adapter script that started it, with which every later call is made.
    pub adapter_script: Option<String>,
    /// The adapter's state folder, likewise.
    pub adapter_state: Option<String>,
    /// When it was started.
    pub started_at: Timestamp,
    /// When it last gave a sign of life.
    pub last_heartbeat_at: Option<Timestamp>,
    /// When it became final.
    pub ended_at: Option<Timestamp>,
    /// Its program's exit code.
    pub exit_code: Option<i64>,
    /// Why it is stale, failed or ended.
    pub reason: Option<String>,
    /// How full its context is, 0 to 1.
    pub context_usage: Option<f64>,
    /// Grows with every change; a mark made from an older look fails.
    pub version: i64,
}
