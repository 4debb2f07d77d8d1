//! Sessions that ended their turn with a task that is not submitted.

use super::{facts::Facts, need::Need};
use crate::{
    actions::App,
    domain::{
        blocker::Blocker,
        ended_turn::{EndedTurn, TurnEnd},
        need::NeedKind,
        session_facts::SessionOverview,
    },
};

/// One item for each session whose last message asks, at once, and for each one that has stopped for `agents.unfinished_after`.
pub(super) fn items(app: &App, facts: &Facts) -> Vec<Need> {
    let after = app.settings.agents.unfinished_after;
    let mut items = Vec::new();
    for one in &facts.sessions {
        let Some(ended) = one.ended_turn() else { continue };
        match &ended.meaning {
            TurnEnd::AsksInWords => items.push(question(one, ended)),
            TurnEnd::Stopped(blockers) if facts.now >= ended.since.plus(after) => {
                items.push(stopped(one, ended, blockers));
            }
            TurnEnd::Finished if facts.now >= ended.since.plus(after) => items.push(stopped(one, ended, &[])),
            _ => {}
        }
    }
    items
}

/// An item with the end of the last message as its evidence.
fn need(kind: NeedKind, one: &SessionOverview, ended: &EndedTurn, line: String) -> Need {
    let source = one.session.activity_source.as_deref().unwrap_or("session");
    let said = ended.said.as_ref().map(|said| format!("; its last message: {said}")).unwrap_or_default();
    let evidence = format!("activity idle, reported by {source}{said}");
    // A session has one turn's end at a time.
    let key = if kind == NeedKind::Question { format!("{}:turn", one.session.id) } else { one.session.id.to_string() };
    Need::new(kind, &key, Some(ended.since), line, evidence).session(one).task(&ended.task)
}

fn question(one: &SessionOverview, ended: &EndedTurn) -> Need {
    let id = &one.session.id;
    let line = ended.said.as_deref().unwrap_or_default().split('\n').rfind(|line| !line.trim().is_empty());
    let line = line.unwrap_or_default().trim().to_owned();
    need(NeedKind::Question, one, ended, line).then("answer it", format!("fairway prompt {id} TEXT"))
}

fn stopped(one: &SessionOverview, ended: &EndedTurn, blockers: &[Blocker]) -> Need {
    let (id, task) = (&one.session.id, &ended.task);
    let need = need(NeedKind::Unfinished, one, ended, ended.sentence())
        .then("tell it to go on", format!("fairway prompt {id} TEXT"))
        .then("remind it", format!("fairway session continue {id}"));
    let need = if blockers.is_empty() {
        need.then("submit it", format!("fairway task submit {task} --force --reason TEXT"))
    } else {
        blockers.iter().fold(need, |need, one| need.then("clear the gate", one.fix.clone()))
    };
    need.then("hand it over", format!("fairway handoff create {task} --to-role ROLE --summary TEXT"))
        .then("release it", format!("fairway release {task} --force --reason TEXT"))
}
