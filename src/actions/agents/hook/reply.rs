//! The answer to a hook event.

use crate::{actions::sessions::prompt::DeliveryBatch, domain::session::Session};

/// The reply to a hook event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// No reply; the guard abstains.
    Nothing,
    /// Context for the agent.
    Context(String),
    /// The tool is denied, with the reason.
    Deny(String),
    /// The tool is allowed without asking a person, with the reason.
    Allow(String),
    /// The turn continues with this prompt.
    Continue(String),
}

/// A reply, and the prompts in it, which are confirmed after the reply is written.
#[derive(Debug)]
pub struct HookOutcome {
    pub reply: Reply,
    pub(super) delivered: Option<(Session, DeliveryBatch)>,
}

impl HookOutcome {
    pub(super) const fn of(reply: Reply) -> Self {
        Self { reply, delivered: None }
    }

    /// The prompts in the reply.
    pub fn batch(&self) -> Option<&DeliveryBatch> {
        self.delivered.as_ref().map(|(_, batch)| batch)
    }

    pub(super) fn delivering(session: Session, batch: DeliveryBatch, reply: impl FnOnce(String) -> Reply) -> Self {
        Self { reply: reply(batch.text.clone()), delivered: Some((session, batch)) }
    }
}
