//! Ending a session.

use anyhow::Result;

use crate::{
    actions::{
        Answer, App,
        core::lookup,
        sessions::finish::{finish, status_verb},
    },
    domain::{
        SessionId,
        session::{Session, SessionStatus},
        text_limits,
    },
    wire::SessionView,
};

/// How it ended, as far as the caller knows.
#[derive(Debug, Clone, Default)]
pub struct EndRequest {
    /// ended or failed; by default what the exit code says.
    pub status: Option<SessionStatus>,
    /// The program's exit code.
    pub exit_code: Option<i64>,
    /// Why.
    pub reason: Option<String>,
}

/// starting, running, stale → ended, failed. One that has come to that end already stays as it is.
///
/// # Errors
/// `not_found`; `session_final` when it came to the other end.
pub fn end(app: &App, id: &SessionId, end: &EndRequest) -> Result<Answer> {
    if let Some(reason) = &end.reason {
        text_limits::check_line("reason", reason)?;
    }
    app.mutate(|tx| {
        let session = lookup::session(tx, id)?;
        if session.status.is_final() && end.status.is_none_or(|status| status == session.status) {
            return answer(&session, format!("unchanged: {id} has already {}", status_verb(session.status)));
        }
        let by_code = match end.exit_code {
            None | Some(0) => SessionStatus::Ended,
            Some(_) => SessionStatus::Failed,
        };
        let status = end.status.unwrap_or(by_code);
        let finished = finish(tx, &session, status, end.exit_code, end.reason.as_deref())?;
        let code = end.exit_code.map(|code| format!(" with exit code {code}")).unwrap_or_default();
        answer(&finished, format!("{id} has {}{code}", status_verb(status)))
    })
}

fn answer(session: &Session, line: String) -> Result<Answer> {
    Answer::new(&SessionView::from(session), &session.id, line)
}
