//! Typed text that was not submitted. A program that is busy may take the Enter behind a paste for a line break: the text then
//! stands in its input line, and would be submitted together with the next one.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::App;
use crate::core::errors;
use crate::sessions::control::question;
use crate::sessions::control::running_session::RunningSession;
use fairway_core::domain::message::Message;
use fairway_core::store::{ReadTx, messages, session_reports};

/// How long the hooks of an agent may take to report the turn that a typed text begins.
const CONFIRM_TIMEOUT: Duration = Duration::from_secs(3);

/// Waits until a report of the session confirms what was typed into it. Presses Enter again when no report comes, unless the
/// session asks something. Does nothing for a session whose agent calls no hooks, because nothing would confirm the text.
///
/// # Errors
/// `session_asks`; those of the backend.
pub(super) fn press_again_if_unconfirmed(app: &App, live: &RunningSession) -> Result<()> {
    let session = &live.session;
    let is_unconfirmed = |tx: &ReadTx<'_>| Ok(messages::typed_to(tx, &session.id)?.iter().any(begins_turn));
    let calls_hooks = |tx: &ReadTx<'_>| Ok(session_reports::find(tx, &session.id)?.last_hook_at.is_some());
    let is_agent = !session.is_structured() && !question::signs(app, session).is_empty();
    if !is_agent || !app.read(calls_hooks)? || !app.read(is_unconfirmed)? {
        return Ok(());
    }
    let (waiter, deadline) = (app.waiter("typed")?, Instant::now() + CONFIRM_TIMEOUT);
    while app.read(is_unconfirmed)? {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return question::type_unless_asked(app, live, b"");
        }
        waiter.wait(Some(left)).map_err(errors::internal)?;
    }
    Ok(())
}

/// Whether the text begins a turn of the agent. A command of its program may open a dialog instead, which Enter would answer.
fn begins_turn(message: &Message) -> bool {
    !message.content.starts_with(['/', '!'])
}
