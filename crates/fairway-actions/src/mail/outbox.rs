//! The outbox: list sent messages and withdraw them.

use anyhow::Result;

use crate::core::message_state::event;
use crate::core::{ForceReason, other_host};
use crate::{Answer, App};
use fairway_core::domain::message::{Message, MessageStatus, PromptWait, Recipient, WaitReason};
use fairway_core::domain::rules::waiting;
use fairway_core::domain::{EventKind, Refusal, SessionId, text_limits};
use fairway_core::env::Timestamp;
use fairway_core::store::{ReadTx, StoreError, approvals, messages, sessions};
use fairway_core::wire::OutboxView;

#[derive(Debug, Clone)]
pub struct OutboxFilter {
    pub to: Option<SessionId>,
    /// Whether acknowledged, expired and withdrawn messages are listed too.
    pub all: bool,
    pub limit: usize,
}

/// The newest messages that the filter selects, oldest first: only the open ones, or with `all` also the others that the store
/// still has.
pub fn list(app: &App, filter: &OutboxFilter) -> Result<Vec<OutboxView>> {
    app.read(|tx| {
        let found = messages::newest(tx, filter.to.as_ref(), filter.all, filter.limit)?;
        let now = app.env.now();
        let view = |message: &Message| -> Result<OutboxView> {
            let view = OutboxView::from(message);
            Ok(match find(tx, message, now)? {
                Some(wait) => view.waiting(&wait),
                None => view,
            })
        };
        found.iter().map(view).collect()
    })
}

/// Withdraws a message that is queued or offered; a withdrawn one stays as it is. The sender and any person may do so, another
/// session only with `force`. An offered message may have been read already.
///
/// # Errors
/// `not_found`; `already_answered` for a message in another final state; `not_creator`.
pub fn withdraw(app: &App, id: i64, force: Option<&ForceReason>) -> Result<Answer> {
    let reason = force.map(|force| text_limits::check_line("reason", &force.reason)).transpose()?;
    app.mutate(|tx| {
        let message = messages::find(tx, id)?.ok_or_else(|| Refusal::not_found("message", id.to_string()))?;
        match message.status {
            MessageStatus::Queued | MessageStatus::Offered => {}
            MessageStatus::Withdrawn => {
                return Answer::new(&OutboxView::from(&message), id, format!("unchanged: message {id} is withdrawn"));
            }
            status => return Err(Refusal::AlreadyAnswered { noun: "message", id, status: status.as_str() }.into()),
        }
        // A person may withdraw any message; a session only its own.
        let by = sender(&message);
        if app.actor.session.is_some() && by != app.actor.name && force.is_none() {
            return Err(
                Refusal::NotCreator { noun: "message", id, by, you: app.actor.name.clone(), may_force: true }.into()
            );
        }
        messages::resolve(tx, id, MessageStatus::Withdrawn, message.offered_to.as_deref())?;
        tx.record(&event(EventKind::MessageWithdrawn, &message).with("reason", reason.as_deref()))?;
        let withdrawn = Message { status: MessageStatus::Withdrawn, offered_until: None, ..message.clone() };
        let answer = Answer::new(&OutboxView::from(&withdrawn), id, format!("withdrew message {id}"))?;
        Ok(match &message.offered_to {
            Some(reader) if message.is_offered(tx.now()) => {
                answer.note(format!("it was offered to {reader}, who may have read it"))
            }
            _ => answer,
        })
    })
}

/// The sender: the stored `from`, else the source.
fn sender(message: &Message) -> String {
    let metadata = message.metadata.as_deref().and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok());
    let from = metadata.as_ref().and_then(|metadata| metadata.get("from")?.as_str());
    from.unwrap_or(&message.source).to_owned()
}

/// Why a message waits. `None` when its recipient is no registered session, and when it does not wait.
pub fn find(tx: &ReadTx<'_>, message: &Message, now: Timestamp) -> Result<Option<PromptWait>, StoreError> {
    let Recipient::Session(id) = &message.to else { return Ok(None) };
    let Some(session) = sessions::find(tx, id)? else { return Ok(None) };
    let Some(mut wait) = waiting::of_message(message, &session, now) else { return Ok(None) };
    // In a terminal the agent would leave the protocol, and its question with it.
    if wait.reason == WaitReason::SessionAsks && session.is_structured() {
        let asked = approvals::pending_of(tx, id)?.into_iter().next();
        wait.hint = asked.map(|asked| format!("answer the request: fairway approvals answer {} allow", asked.id));
    }
    if let Some(host) = other_host::of_session(tx, &session)?
        && let Some((purpose, command)) = wait.hint.as_deref().and_then(|hint| hint.split_once(": "))
    {
        wait.hint = Some(format!("{purpose}: {}", host.from_here(command)));
    }
    Ok(Some(wait))
}
