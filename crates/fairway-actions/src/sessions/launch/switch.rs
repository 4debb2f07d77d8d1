//! The switch of a live session to another program of the same conversation. The rest of the session stays.

use anyhow::Result;

use crate::App;
use crate::core::{lookup, session_events};
use crate::sessions::adapter_endpoint;
use fairway_core::domain::Refusal;
use fairway_core::domain::session::Session;
use fairway_core::store::WriteTx;

/// A switch to another program of the same conversation.
#[derive(Debug, Clone)]
pub struct Switch {
    /// The session as it was.
    pub from: Session,
    /// Whether the session returns to its earlier program, because the other one failed.
    pub is_return: bool,
}

impl Switch {
    /// Replaces the session's row by that of the new program. The conversation, the start time and the context usage of the
    /// earlier row stay.
    ///
    /// # Errors
    /// `session_mismatch` when the session has changed since the switch was planned.
    pub(super) fn record(&self, tx: &WriteTx<'_>, new: &Session) -> Result<()> {
        let now = lookup::session(tx, &new.id)?;
        if !self.is_return && (now.run_id != self.from.run_id || now.status.is_final()) {
            let why = format!("the session {} has ended or runs another program by now", new.id);
            return Err(Refusal::SessionMismatch { why }.into());
        }
        session_events::replace(
            tx,
            &now,
            Session {
                external_session_id: self.from.external_session_id.clone(),
                started_at: self.from.started_at,
                context_usage: self.from.context_usage,
                relaunch_of: self.from.relaunch_of.clone(),
                first_prompt: self.from.first_prompt,
                questions: now.questions,
                ..new.clone()
            },
        )
    }

    /// Ends the earlier program, unless this switch starts the earlier program again after a failed one. When that fails, the
    /// session's row is restored.
    ///
    /// # Errors
    /// The `adapter_` codes.
    pub(super) fn end_previous(&self, app: &App) -> Result<()> {
        if self.is_return {
            return Ok(());
        }
        let from = &self.from;
        let stopped = adapter_endpoint::adapter(app, from, &["session", "stop", from.id.as_str()])
            .and_then(|adapter| Ok(adapter.stop(adapter_endpoint::backend_name(from))?));
        stopped.inspect_err(|_| {
            let restore = |tx: &WriteTx<'_>| session_events::replace(tx, &lookup::session(tx, &from.id)?, from.clone());
            // The row is one of a start that was interrupted otherwise, which `session reconcile` resolves.
            let _ = app.transaction(restore);
        })
    }
}
