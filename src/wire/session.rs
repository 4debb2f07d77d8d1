//! A session as a document.

use serde::Serialize;

use super::values::time;
use crate::domain::session::Session;

/// A session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the fields are those of `domain::session::Session`, documented there")]
pub struct SessionView {
    pub id: String,
    pub run_id: String,
    pub role: String,
    pub lane: Option<String>,
    pub task_id: Option<String>,
    pub provider: Option<String>,
    pub backend: Option<String>,
    pub session_name: Option<String>,
    pub external_session_id: Option<String>,
    pub status: &'static str,
    pub activity: &'static str,
    pub waiting_for: Option<String>,
    pub host: String,
    pub pid: Option<i64>,
    pub socket: Option<String>,
    pub pane: Option<String>,
    pub transcript: Option<String>,
    pub worktree: Option<String>,
    pub branch: Option<String>,
    pub started_at: String,
    pub last_heartbeat_at: Option<String>,
    pub last_output_at: Option<String>,
    pub ended_at: Option<String>,
    pub exit_code: Option<i64>,
    pub reason: Option<String>,
    pub context_usage: Option<f64>,
    pub relaunch_of: Option<String>,
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
            status: session.status.as_str(),
            activity: session.activity.as_str(),
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
        }
    }
}
