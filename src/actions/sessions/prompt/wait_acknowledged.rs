//! Waiting until a prompt is acknowledged.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::{deliver_by_typing::deliver, send::view};
use crate::{
    actions::{
        Answer, App,
        core::{errors, message_state, prompt_wait},
        sessions::report::idle_screen::{self, ScreenVerdict},
    },
    config::show_duration,
    domain::{
        Refusal,
        message::{Channel, Message, MessageStatus, Recipient},
        prompt_wait::PromptWait,
    },
    os::notify::ChangeWaiter,
    store::messages,
};

/// The least time between two looks at a session's screen.
const LOOK_PAUSE: Duration = Duration::from_secs(1);

/// A waiter for an acknowledgement. Created before the prompt is sent, so that no change is missed.
#[derive(Debug)]
pub struct AckWaiter {
    waiter: ChangeWaiter,
    deadline: Instant,
    timeout: Duration,
}

impl AckWaiter {
    /// A waiter whose timeout starts now.
    pub fn with_timeout(app: &App, limit: Duration) -> Result<Self> {
        Ok(Self { waiter: app.waiter("prompt")?, deadline: Instant::now() + limit, timeout: limit })
    }
}

/// Waits until a prompt is acknowledged and answers with its state. Reads the store after each change, without polling.
///
/// # Errors
/// `not_acknowledged` at the timeout, and when the prompt has expired or was withdrawn.
pub fn wait_acknowledged(app: &App, awaited: &AckWaiter, id: i64) -> Result<Answer> {
    let mut next_look: Option<Instant> = None;
    loop {
        let now = app.env.now();
        let (message, view, waits) = app.read(|tx| {
            let message = messages::find(tx, id)?.ok_or_else(|| Refusal::not_found("message", id.to_string()))?;
            let view = view(tx, &message, false, now)?;
            let waits = prompt_wait::find(tx, &message, now)?;
            Ok((message, view, waits))
        })?;
        let channel = message.channel.map(Channel::as_str);
        if message.status == MessageStatus::Acknowledged {
            let via = channel.map(|channel| format!(" (via {channel})")).unwrap_or_default();
            return Answer::new(&view, id, format!("prompt {id} acknowledged{via}"));
        }
        let left = awaited.deadline.saturating_duration_since(Instant::now());
        let is_over = matches!(message.status, MessageStatus::Expired | MessageStatus::Withdrawn);
        if !is_over && message.is_expired(app.env.now()) {
            app.transaction(message_state::expire)?;
            continue;
        }
        if is_over || left.is_zero() {
            return Err(not_acknowledged(&message, awaited.timeout, waits.filter(|_| !is_over)));
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
