//! What a provider asks a person to permit: one list over all sessions, answered from here as long as the provider listens.

mod answer;
mod common;
mod list;
mod request;
mod wait;

pub use crate::actions::core::approval_state::expire_pending;
pub use answer::answer;
pub use list::list;
pub use request::request;
pub use wait::{ApprovalDecision, wait};

use crate::domain::{Event, EventKind, approval::Approval};

pub(crate) fn event(kind: EventKind, approval: &Approval) -> Event {
    Event::new(kind)
        .session(&approval.session, &approval.run_id)
        .with("id", approval.id)
        .with("provider", approval.provider.as_str())
        .with("tool", approval.tool.as_str())
}
