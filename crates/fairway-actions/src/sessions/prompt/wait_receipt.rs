//! Waiting until a prompt is acknowledged, or until the turn that has taken it ends.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::deliver_by_typing::deliver;
use super::send::view;
use crate::core::{errors, lookup, message_state};
use crate::mail::outbox;
use crate::sessions::report::idle_screen::{self, ScreenVerdict};
use crate::{Answer, App};
use fairway_core::config::show_duration;
use fairway_core::domain::message::{Channel, FAILED_TURN, Message, MessageStatus, PromptWait, Recipient};
use fairway_core::domain::session::Session;
use fairway_core::domain::{Refusal, SessionId};
use fairway_core::os::notify::ChangeWaiter;
use fairway_core::store::{messages, sessions};

/// The least time between two looks at a session's screen.
const LOOK_PAUSE: Duration = Duration::from_secs(1);

/// The proof of delivery that a sender waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receipt {
    /// The agent has received the prompt.
    Acknowledged,
    /// The turn that took the prompt has ended.
    Answered,
}

/// A receipt that is waited for. Create it before the prompt is sent, so that no change is missed.
#[derive(Debug)]
pub struct AwaitedReceipt {
    receipt: Receipt,
    waiter: ChangeWaiter,
    deadline: Instant,
    timeout: Duration,
}

impl AwaitedReceipt {
    /// Prepares to wait for the receipt of prompts to these sessions. The time limit starts now.
    ///
    /// # Errors
    /// `usage` when an answer is awaited from a session that is not structured, because the end of its turns is unknown;
    /// `not_found`.
    pub fn of(app: &App, receipt: Receipt, sessions: &[SessionId], limit: Duration) -> Result<Self> {
        if receipt == Receipt::Answered {
            app.read(|tx| sessions.iter().try_for_each(|id| refuse_without_answers(&lookup::session(tx, id)?)))?;
        }
        Ok(Self { receipt, waiter: app.waiter("prompt")?, deadline: Instant::now() + limit, timeout: limit })
    }
}

fn refuse_without_answers(session: &Session) -> Result<()> {
    if session.is_structured() {
        return Ok(());
    }
    let id = &session.id;
    let why = format!("{id} is not structured: nothing says which turn has taken a prompt");
    let hint = format!("wait until it has the prompt: fairway send {id} TEXT --wait-ack 1m");
    Err(Refusal::ArgumentMissing { why, hint }.into())
}

/// Waits until the prompt with this id has the receipt, and returns the prompt's state. It reads the store after each change,
/// and looks at the session's screen from time to time while the prompt is queued.
///
/// # Errors
/// `not_acknowledged` at the timeout, and when the prompt has expired or was withdrawn; `not_answered` at the timeout, and when
/// the turn failed or the session ended before it.
pub fn wait_receipt(app: &App, awaited: &AwaitedReceipt, id: i64) -> Result<Answer> {
    let mut next_look: Option<Instant> = None;
    loop {
        let now = app.env.now();
        let (message, view, waits, is_over) = app.read(|tx| {
            let message = messages::find(tx, id)?.ok_or_else(|| Refusal::not_found("message", id.to_string()))?;
            let view = view(tx, &message, false, now)?;
            let waits = outbox::find(tx, &message, now)?;
            let session = message.offered_to.as_deref().map(SessionId::parse).and_then(Result::ok);
            let session = session.map(|id| sessions::find(tx, &id)).transpose()?.flatten();
            Ok((message, view, waits, session.is_none_or(|session| session.status.is_final())))
        })?;
        let channel = message.channel.map(Channel::as_str);
        let left = awaited.deadline.saturating_duration_since(Instant::now());
        if message.status == MessageStatus::Acknowledged && awaited.receipt == Receipt::Acknowledged {
            let via = channel.map(|channel| format!(" (via {channel})")).unwrap_or_default();
            return Answer::new(&view, id, format!("prompt {id} acknowledged{via}"));
        }
        if message.status == MessageStatus::Acknowledged {
            let session = message.offered_to.clone().unwrap_or_default();
            let why = match message.stop_reason.as_deref() {
                Some(FAILED_TURN) => Some(format!("the turn of {session} has failed")),
                Some(reason) => return Answer::new(&view, id, format!("prompt {id} answered ({reason})")),
                None if is_over => Some(format!("{session} has ended before its turn")),
                None => left
                    .is_zero()
                    .then(|| format!("the turn of {session} has not ended within {}", show_duration(awaited.timeout))),
            };
            if let Some(why) = why {
                return Err(Refusal::NotAnswered { id, session, why }.into());
            }
            awaited.waiter.wait(Some(left)).map_err(errors::internal)?;
            continue;
        }
        let is_settled = matches!(message.status, MessageStatus::Expired | MessageStatus::Withdrawn);
        if !is_settled && message.is_expired(app.env.now()) {
            app.transaction(message_state::expire)?;
            continue;
        }
        if is_settled || left.is_zero() {
            return Err(not_acknowledged(&message, awaited.timeout, waits.filter(|_| !is_settled)));
        }
        // A change of the store may be the end of a turn. A screen that stands still changes nothing in the store.
        let is_due = next_look.is_none_or(|at| at <= Instant::now());
        if is_due
            && message.status == MessageStatus::Queued
            && let Recipient::Session(session) = &message.to
        {
            let verdict = idle_screen::look(app, session)?;
            let pause = if let ScreenVerdict::LookAgain(after) = verdict { after.max(LOOK_PAUSE) } else { LOOK_PAUSE };
            next_look = Some(Instant::now() + pause);
            if verdict == ScreenVerdict::Idle && deliver(app, session)?.is_some() {
                continue;
            }
            if verdict == ScreenVerdict::Nothing {
                // Only a change of the store can lead to another verdict.
                awaited.waiter.wait(Some(until_expiry(app, &message, left))).map_err(errors::internal)?;
                continue;
            }
        }
        // The expiry of a prompt wakes no waiter.
        let rest = until_expiry(app, &message, left);
        let rest = next_look.map_or(rest, |at| rest.min(at.saturating_duration_since(Instant::now())));
        awaited.waiter.wait(Some(rest.max(Duration::from_millis(1)))).map_err(errors::internal)?;
    }
}

/// The time left, at most until the message expires.
fn until_expiry(app: &App, message: &Message, left: Duration) -> Duration {
    message.expires_at.map_or(left, |at| left.min(at.since(app.env.now()))).max(Duration::from_millis(1))
}

fn not_acknowledged(message: &Message, limit: Duration, waits: Option<PromptWait>) -> anyhow::Error {
    let (id, status, channel) = (message.id, message.status, message.channel);
    let waits = waits.map(Box::new);
    Refusal::NotAcknowledged { id, status, way: channel, within: show_duration(limit), waits }.into()
}
