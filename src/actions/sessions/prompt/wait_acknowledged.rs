//! Waiting for a receipt.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::send::view;
use crate::{
    actions::{Answer, App, core::errors, mail::inbox},
    config::show_duration,
    domain::{
        Refusal,
        message::{Channel, Message, MessageStatus},
    },
    os::notify::ChangeWaiter,
    store::messages,
};

/// One who waits for a receipt. Made before the prompt is sent, so that nothing is missed.
#[derive(Debug)]
pub struct AckWaiter {
    waiter: ChangeWaiter,
    deadline: Instant,
    timeout: Duration,
}

impl AckWaiter {
    /// Waits from now on, so long.
    ///
    /// # Errors
    /// When nothing can be bound in the project's directory.
    pub fn with_timeout(app: &App, limit: Duration) -> Result<Self> {
        Ok(Self { waiter: app.waiter("prompt")?, deadline: Instant::now() + limit, timeout: limit })
    }
}

/// Waits until a prompt was acknowledged; answers how it then stands. Looks again when something has changed, and never
/// otherwise.
///
/// # Errors
/// `not_acknowledged` when the time is over, or when the prompt has expired or was withdrawn.
pub fn wait_acknowledged(app: &App, awaited: &AckWaiter, id: i64) -> Result<Answer> {
    loop {
        let (message, view) = app.read(|tx| {
            let message = messages::find(tx, id)?.ok_or_else(|| Refusal::not_found("message", id.to_string()))?;
            let view = view(tx, &message, false)?;
            Ok((message, view))
        })?;
        let way = message.channel.map(Channel::as_str);
        if message.status == MessageStatus::Acknowledged {
            let by = way.map(|way| format!(" (via {way})")).unwrap_or_default();
            return Answer::new(&view, id, format!("prompt {id} acknowledged{by}"));
        }
        let left = awaited.deadline.saturating_duration_since(Instant::now());
        let is_settled = matches!(message.status, MessageStatus::Expired | MessageStatus::Withdrawn);
        if !is_settled && message.is_expired(app.env.now()) {
            app.transaction(inbox::expire)?;
            continue;
        }
        if is_settled || left.is_zero() {
            return Err(not_acknowledged(&message, awaited.timeout));
        }
        // Nobody tells when its time is over.
        let rest = message.expires_at.map_or(left, |at| left.min(at.since(app.env.now())));
        awaited.waiter.wait(Some(rest.max(Duration::from_millis(1)))).map_err(errors::internal)?;
    }
}

fn not_acknowledged(message: &Message, limit: Duration) -> anyhow::Error {
    let (id, status, way) = (message.id, message.status, message.channel);
    Refusal::NotAcknowledged { id, status, way, within: show_duration(limit) }.into()
}
