//! Blocked tasks.

use super::{facts::Facts, need::Need};
use crate::domain::{need::NeedKind, session_facts::HeldTask, task::TaskStatus};

/// An item for each task that its claimant has blocked, unless the claimant is dead or stale.
pub(super) fn items(facts: &Facts) -> Vec<Need> {
    let blocked = facts.held.iter().filter(|held| held.status == TaskStatus::Blocked);
    let item = |held: &HeldTask| {
        let task = &held.task;
        let line = held.blocked_reason.clone().unwrap_or_else(|| held.title.clone());
        let evidence = format!("{task} is blocked by {}", held.claimant);
        let need = Need::new(NeedKind::Blocked, task.as_str(), Some(held.updated_at), line, evidence)
            .task(task)
            .lane(held.lane.as_ref());
        let need = match held.session.as_ref().and_then(|id| facts.session(id)) {
            Some(one) => {
                need.session(one).then("tell it what it needs", format!("fairway prompt {} TEXT", one.session.id))
            }
            None => need,
        };
        need.then("unblock it", format!("fairway task unblock {task} --force --reason TEXT"))
    };
    blocked.filter(|held| !facts.claimant_in_trouble(held)).map(item).collect()
}
