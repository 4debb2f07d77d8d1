//! Ending a session.

use anyhow::Result;

use crate::core::{lookup, message_state, session_events};
use crate::{Answer, App};
use fairway_core::domain::rules::session_machine::SessionEvent;
use fairway_core::domain::session::{Session, SessionStatus};
use fairway_core::domain::{SessionId, text_limits};
use fairway_core::wire::SessionView;

/// The facts about a session's end that the caller knows.
#[derive(Debug, Clone, Default)]
pub struct EndRequest {
    /// Ended or failed; by default the exit code decides.
    pub status: Option<SessionStatus>,
    pub exit_code: Option<i64>,
    pub reason: Option<String>,
}

/// Moves a starting, running or stale session to ended or failed. A final session stays unchanged when the request names no
/// status, or the one that it has.
///
/// # Errors
/// `not_found`; `session_final` when it has the other final status.
pub fn end(app: &App, id: &SessionId, end: &EndRequest) -> Result<Answer> {
    if let Some(reason) = &end.reason {
        text_limits::check_line("reason", reason)?;
    }
    app.mutate(|tx| {
        let session = lookup::session(tx, id)?;
        if session.status.is_final() && end.status.is_none_or(|status| status == session.status) {
            return answer(&session, format!("unchanged: {id} has already {}", session.status));
        }
        let by_code = match end.exit_code {
            None | Some(0) => SessionStatus::Ended,
            Some(_) => SessionStatus::Failed,
        };
        let status = end.status.unwrap_or(by_code);
        // A report of a program's end has its exit code, and a failure is no intention.
        let is_on_purpose = app.actor.session.is_none() && end.exit_code.is_none() && status == SessionStatus::Ended;
        let reason = end.reason.as_deref();
        let unread = message_state::unread_of(tx, id)?;
        let finished = if is_on_purpose {
            session_events::apply(tx, &session, &SessionEvent::EndRecorded { reason })?
        } else {
            session_events::end(tx, &session, status, end.exit_code, reason)?
        };
        let code = end.exit_code.map(|code| format!(" with exit code {code}")).unwrap_or_default();
        let ended = answer(&finished, format!("{id} has {status}{code}"))?;
        Ok(ended.with_notes(message_state::undelivered_note(&unread)))
    })
}

fn answer(session: &Session, line: String) -> Result<Answer> {
    Answer::new(&SessionView::from(session), &session.id, line)
}
