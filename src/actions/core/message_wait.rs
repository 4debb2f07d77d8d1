//! Why a queued message to a session is not delivered yet, and the command that types it now.

use crate::{
    config::show_duration,
    domain::{
        message::{Message, MessageStatus},
        rules::delivery::{self, Urgency, WaitReason},
        session::Session,
    },
    env::Timestamp,
};

/// Why a message waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::actions) struct MessageWait {
    /// The reason.
    pub reason: WaitReason,
    /// The reason as a clause.
    pub message: String,
    /// The command, with its purpose; `None` for a session that nothing can be typed into.
    pub hint: Option<String>,
}

/// Why a message to this session waits; `None` when it does not, or when it is offered.
pub(in crate::actions) fn of(session: &Session, message: &Message, now: Timestamp) -> Option<MessageWait> {
    if message.status != MessageStatus::Queued || session.status.is_final() {
        return None;
    }
    let reason = delivery::wait_reason(Urgency::of(message), session.activity)?;
    let id = &session.id;
    let since = session.activity_at.map(|at| format!(" for {}", show_duration(now.since(at)))).unwrap_or_default();
    let clause = match reason {
        WaitReason::StateUnknown => format!("{id} has not reported its state"),
        WaitReason::SessionBusy => format!("{id} is busy{since}"),
        WaitReason::SessionAsks => {
            let question = session.waiting_for.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
            format!("{id} asks{question}")
        }
        WaitReason::SessionStopping => format!("{id} is being stopped"),
    };
    let hint = match reason {
        _ if session.adapter_script.is_none() => None,
        WaitReason::StateUnknown | WaitReason::SessionBusy => {
            Some(format!("type it now: fairway session nudge {id} --queued"))
        }
        WaitReason::SessionAsks => Some(format!("answer in its terminal: fairway session attach {id}")),
        WaitReason::SessionStopping => None,
    };
    Some(MessageWait { reason, message: clause, hint })
}
