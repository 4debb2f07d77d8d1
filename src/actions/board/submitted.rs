//! Submitted tasks, which wait for their gates or their end.

use super::{facts::Facts, need::Need};
use crate::domain::{need::NeedKind, session_facts::HeldTask, task::TaskStatus};

/// An item for each submitted task. It needs its claimant no more.
pub(super) fn items(facts: &Facts) -> Vec<Need> {
    let submitted = facts.held.iter().filter(|held| held.status == TaskStatus::Review);
    submitted.map(|held| item(facts, held)).collect()
}

fn item(facts: &Facts, held: &HeldTask) -> Need {
    let task = &held.task;
    let blockers = facts.submitted.get(task).and_then(Option::as_ref);
    let merge_ready = || format!("fairway merge-ready {task}");
    let about = |need: Need| {
        let need = need.task(task).lane(held.lane.as_ref());
        match held.session.as_ref().and_then(|id| facts.session(id)) {
            Some(one) => need.session(one),
            None => need,
        }
    };
    let since = Some(held.updated_at);
    match blockers.map(|blockers| (blockers.first(), blockers)) {
        Some((Some(first), all)) => {
            let more = if all.len() > 1 { format!(" (and {} more)", all.len() - 1) } else { String::new() };
            let line = format!("{}{more}: {}", first.message, held.title);
            let need = about(Need::new(NeedKind::Gate, task.as_str(), since, line, format!("gate {}", first.code)));
            let need = need.then("clear the gate", first.fix.clone());
            if all.len() > 1 { need.then("see every gate", merge_ready()) } else { need }
        }
        known => {
            let what = if known.is_some() {
                "no unmet gate is known; merge-ready also asks git"
            } else {
                "its gates were not evaluated"
            };
            let line = format!("submitted: {}", held.title);
            let review = "fairway review record";
            let need = about(Need::new(NeedKind::Review, task.as_str(), since, line, what.to_owned())).then(
                "approve it, or send it back with --verdict changes",
                format!("{review} {task} --verdict approve --notes TEXT"),
            );
            let need = match &held.lane {
                Some(lane) => need.then("see the changes", format!("fairway lane diff {lane}")),
                None => need,
            };
            let need = need.then("land it", format!("fairway land {task}")).then("check the gates", merge_ready());
            match &held.lane {
                Some(_) => need,
                None => need.then("finish it", format!("fairway done {task} --force --reason TEXT")),
            }
        }
    }
}
