//! Lanes that have changed files which programs of the person run or read later, until the change is reviewed or landed.

use super::{facts::Facts, need::Need};
use crate::{
    domain::{need::NeedKind, plural, task::TaskStatus},
    store::overlaps::LaneDiffstat,
};

/// An item for each such lane.
pub(super) fn items(facts: &Facts) -> Vec<Need> {
    let is_open = |one: &&LaneDiffstat| !one.runs_later.is_empty() && !facts.approved_later.contains(&one.lane);
    facts.diffstats.iter().filter(is_open).map(|one| item(facts, one)).collect()
}

fn item(facts: &Facts, one: &LaneDiffstat) -> Need {
    let lane = &one.lane;
    let shown = match one.runs_later.as_slice() {
        [file] => file.clone(),
        [file, rest @ ..] => format!("{file} and {} more", rest.len()),
        [] => String::new(),
    };
    let line = format!("lane {lane} has changed what would run on your machine: {shown}");
    let evidence = format!("{}, when they were last looked at", plural::count(one.runs_later.len(), "changed file"));
    let need = Need::new(NeedKind::RunsLater, lane.as_str(), None, line, evidence).lane(Some(lane));
    let need = need.then("see the changes", format!("fairway lane diff {lane}"));
    let submitted =
        facts.held.iter().find(|held| held.lane.as_ref() == Some(lane) && held.status == TaskStatus::Review);
    match submitted {
        Some(held) => {
            let task = &held.task;
            need.task(task).then("approve it", format!("fairway review record {task} --verdict approve --notes TEXT"))
        }
        None => need,
    }
}
