//! The answer to a hook event.

use crate::{actions::sessions::prompt::DeliveryBatch, domain::session::Session};

/// What to answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// No opinion.
    Nothing,
    /// Something to know.
    Context(String),
    /// The tool may not run, and why.
    Deny(String),
    /// The tool may run, and why; nobody need be asked.
    Allow(String),
    /// Go on with this.
    Continue(String),
}

/// An answer, and what is to be noted once it was written out whole.
#[derive(Debug)]
pub struct HookOutcome {
    /// The answer.
    pub reply: Reply,
    pub(super) delivered: Option<(Session, DeliveryBatch)>,
}

impl HookOutcome {
    pub(super) const fn of(reply: Reply) -> Self {
        Self { reply, delivered: None }
    }

    pub(super) fn delivering(session: Session, carried: DeliveryBatch, reply: impl FnOnce(String) -> Reply) -> Self {
        Self { reply: reply(carried.text.clone()), delivered: Some((session, carried)) }
    }
}
