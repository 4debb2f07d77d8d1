//! Sessions as documents.

use serde::Serialize;

use super::values::time;
use crate::domain::sandbox::SandboxClass;
use crate::domain::session::{Activity, STRUCTURED_BACKEND, Session, SessionStatus};

/// A session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SessionView {
    /// Its id, and its name in the backend.
    pub id: String,
    /// A UUID, the same from launch to exit.
    pub run_id: String,
    /// The role in which it works.
    pub role: String,
    /// The lane in which it works.
    pub lane: Option<String>,
    /// The task for which it was started.
    pub task_id: Option<String>,
    /// The provider.
    pub provider: Option<String>,
    /// The backend.
    pub backend: Option<String>,
    /// Its name in the backend, when that is not its id.
    pub session_name: Option<String>,
    /// The provider's own id for it.
    pub external_session_id: Option<String>,
    /// Whether it lives.
    pub status: SessionStatus,
    /// The activity, as reported.
    pub activity: Activity,
    /// The input that it waits for.
    pub waiting_for: Option<String>,
    /// The host, and the container, in which it runs.
    pub host: String,
    /// Its root process.
    pub pid: Option<i64>,
    /// The multiplexer's socket.
    pub socket: Option<String>,
    /// The multiplexer's pane.
    pub pane: Option<String>,
    /// The transcript's file.
    pub transcript: Option<String>,
    /// The worktree's directory.
    pub worktree: Option<String>,
    /// The branch.
    pub branch: Option<String>,
    /// When it was started.
    pub started_at: String,
    /// The time of the last heartbeat.
    pub last_heartbeat_at: Option<String>,
    /// When its backend last saw output of it.
    pub last_output_at: Option<String>,
    /// When it became final.
    pub ended_at: Option<String>,
    /// Its program's exit code.
    pub exit_code: Option<i64>,
    /// Why it is stale, failed or ended.
    pub reason: Option<String>,
    /// How full its context is, 0 to 1.
    pub context_usage: Option<f64>,
    /// The session whose work this one continues.
    pub relaunch_of: Option<String>,
    /// The sandbox around its program; `null` for a session that Fairway did not launch.
    pub sandbox: Option<SandboxClass>,
}

impl From<&Session> for SessionView {
    fn from(session: &Session) -> Self {
        Self {
            id: session.id.to_string(),
            run_id: session.run_id.to_string(),
            role: session.role.to_string(),
            lane: session.lane.as_ref().map(ToString::to_string),
            task_id: session.task.as_ref().map(ToString::to_string),
            provider: session.provider.as_ref().map(ToString::to_string),
            backend: session.backend.clone(),
            session_name: session.session_name.clone(),
            external_session_id: session.external_session_id.clone(),
            status: session.status,
            activity: session.activity,
            waiting_for: session.waiting_for.clone(),
            host: session.host.clone(),
            pid: session.pid,
            socket: session.socket.clone(),
            pane: session.pane.clone(),
            transcript: session.transcript.clone(),
            worktree: session.worktree.clone(),
            branch: session.branch.clone(),
            started_at: session.started_at.to_string(),
            last_heartbeat_at: time(session.last_heartbeat_at),
            last_output_at: time(session.last_output_at),
            ended_at: time(session.ended_at),
            exit_code: session.exit_code,
            reason: session.reason.clone(),
            context_usage: session.context_usage,
            relaunch_of: session.relaunch_of.as_ref().map(ToString::to_string),
            sandbox: session.sandbox,
        }
    }
}

impl SessionView {
    /// Whether its program has a terminal.
    pub fn has_terminal(&self) -> bool {
        self.backend.as_deref().is_some_and(|backend| !["shell", STRUCTURED_BACKEND].contains(&backend))
    }
}

/// The end of a sidecar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SidecarView {
    /// The session whose companion it was.
    pub session_id: String,
    /// Why it ended.
    pub reason: String,
    /// How many turns it read from the provider's record that were not known.
    pub turns: usize,
}
