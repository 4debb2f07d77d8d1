//! Unclaimed tasks that a review sent back.

use super::{facts::Facts, need::Need};
use crate::domain::{need::NeedKind, review::Verdict};

/// An item for each of them: its author has released it.
pub(super) fn items(facts: &Facts) -> Vec<Need> {
    let mut items = Vec::new();
    for one in &facts.refused {
        let (id, task) = (one.review, &one.task);
        let what = if one.verdict == Verdict::Reject { "rejected" } else { "changes asked for" };
        let notes = one.notes.as_deref().map(|notes| format!(", {}", first_line(notes))).unwrap_or_default();
        let line = format!("sent back and unclaimed: {what} by {}{notes}", one.reviewer);
        let evidence = format!("review {id} in the domain '{}'", one.domain);
        let need = Need::new(NeedKind::Review, task.as_str(), Some(one.at), line, evidence);
        let need =
            need.task(task).lane(one.lane.as_ref()).then("start an agent on it", format!("fairway start {task}"));
        let need = need.then("read the review", format!("fairway review list {task}"));
        items.push(match &one.lane {
            Some(lane) => need.then("see the changes", format!("fairway lane diff {lane}")),
            None => need,
        });
    }
    items
}

fn first_line(text: &str) -> &str {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim()
}
