//! Waiting until a prompt is acknowledged.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::send::view;
use crate::{
    actions::{
        Answer, App,
        core::{errors, message_state},
    },
    config::show_duration,
    domain::{
        Refusal,
        message::{Channel, Message, MessageStatus},
    },
    os::notify::ChangeWaiter,
    store::messages,
};

/// A waiter for an acknowledgement. Created before the prompt is sent, so that no change is missed.
#[derive(Debug)]
pub struct AckWaiter {
    waiter: ChangeWaiter,
    deadline: Instant,
    timeout: Duration,
}

impl AckWaiter {
    /// A waiter whose timeout starts now.
    ///
    /// # Errors
    /// When no socket can be bound in the runtime directory.
    pub fn with_timeout(app: &App, limit: Duration) -> Result<Self> {
        Ok(Self { waiter: app.waiter("prompt")?, deadline: Instant::now() + limit, timeout: limit })
    }
}

/// Waits until a prompt is acknowledged and answers with its state. Reads the store after each change, without polling.
///
/// # Errors
/// `not_acknowledged` at the timeout, and when the prompt has expired or was withdrawn.
pub fn wait_acknowledged(app: &App, awaited: &AckWaiter, id: i64) -> Result<Answer> {
    loop {
        let (message, view) = app.read(|tx| {
            let message = messages::find(tx, id)?.ok_or_else(|| Refusal::not_found("message", id.to_string()))?;
            let view = view(tx, &message, false)?;
            Ok((message, view))
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
            return Err(not_acknowledged(&message, awaited.timeout));
        }
        // The expiry of a prompt wakes no waiter.
        let rest = message.expires_at.map_or(left, |at| left.min(at.since(app.env.now())));
        awaited.waiter.wait(Some(rest.max(Duration::from_millis(1)))).map_err(errors::internal)?;
    }
}

fn not_acknowledged(message: &Message, limit: Duration) -> anyhow::Error {
    let (id, status, channel) = (message.id, message.status, message.channel);
    Refusal::NotAcknowledged { id, status, way: channel, within: show_duration(limit) }.into()
}
