//! Sessions that ended their turn with a task that is not submitted, and those that all wait for a time.

use super::facts::{Facts, may_work};
use super::need::Need;
use crate::App;
use fairway_core::domain::blocker::Blocker;
use fairway_core::domain::budget::{Budget, BudgetKind, BudgetState};
use fairway_core::domain::ended_turn::{EndedTurn, TurnEnd};
use fairway_core::domain::need::NeedKind;
use fairway_core::domain::plural;
use fairway_core::domain::session_facts::SessionOverview;
use fairway_core::domain::task::TaskStatus;
use fairway_core::env::Timestamp;

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

/// One item for each session whose running turn has shown nothing for `agents.silent_after`.
pub(super) fn silent_turns(app: &App, facts: &Facts) -> Vec<Need> {
    let is_silent = |at: &Timestamp| facts.now >= at.plus(app.settings.agents.silent_after);
    let silent = facts.sessions.iter().filter_map(|one| one.turn_shown_at.filter(is_silent).map(|at| (one, at)));
    let item = |(one, at): (&SessionOverview, Timestamp)| {
        let id = &one.session.id;
        let line = "its turn shows nothing, and no tool and no job of it runs".to_owned();
        let evidence = format!("its last report or line was at {at}");
        let need = Need::new(NeedKind::Silent, id.as_str(), Some(at), line, evidence).session(one);
        let need = one.holds.first().into_iter().fold(need, |need, held| need.task(&held.task));
        need.then("look at it", format!("fairway session peek {id}"))
            .then("park it, when it is at a usage limit", format!("fairway session park {id} --for 1h --limit"))
            .then("interrupt the turn", format!("fairway session interrupt {id}"))
    };
    silent.map(item).collect()
}

/// One item for each budget that is nearly or completely used, or cannot hold.
pub(super) fn budgets(facts: &Facts) -> Vec<Need> {
    let item = |budget: &Budget| {
        let key = format!("{}:{}", budget.kind, budget.of);
        let held = facts.held.iter().find(|held| budget.kind == BudgetKind::Task && held.task.as_str() == budget.of);
        let session = facts.sessions.iter().find(|one| match held {
            Some(held) => held.session.as_ref() == Some(&one.session.id),
            None => budget.kind == BudgetKind::Session && one.session.id.as_str() == budget.of,
        });
        let paused = session.filter(|one| one.session.parked_why.as_ref() == Some(&budget.pause_cause()));
        let paused = paused.map(|one| format!("{} is paused: ", one.session.id)).unwrap_or_default();
        let (line, evidence) = (format!("{paused}{}", budget.sentence()), "the usage that sessions report".to_owned());
        let mut need = Need::new(NeedKind::Budget, &key, None, line, evidence);
        need = session.into_iter().fold(need, Need::session);
        need = held.into_iter().fold(need, |need, held| need.task(&held.task));
        if budget.state() != BudgetState::CannotHold {
            need = need.then("raise it", budget.raise());
        }
        match (held, session) {
            (Some(held), Some(one)) if budget.state() == BudgetState::Spent => need
                .then("hand it over", format!("fairway handoff create {} --to-role ROLE --summary TEXT", held.task))
                .then("stop it", format!("fairway session stop {}", one.session.id)),
            _ => need.then("see what is used", "fairway budget".to_owned()),
        }
    };
    facts.budgets.iter().map(item).collect()
}

/// One item when every session with a task in progress is parked.
pub(super) fn all_parked(facts: &Facts) -> Option<Need> {
    let has_work =
        |one: &&SessionOverview| may_work(one) && one.holds.iter().any(|held| held.status == TaskStatus::InProgress);
    let at_work: Vec<&SessionOverview> = facts.sessions.iter().filter(has_work).collect();
    let first = at_work.iter().min_by_key(|one| one.session.parked_until)?;
    // A budget has an item of its own.
    if at_work.iter().any(|one| one.parking.is_none()) || first.session.is_paused(facts.now) {
        return None;
    }
    let (id, end) = (&first.session.id, first.session.parking_end(facts.now)?);
    let (sessions, are) = (plural::count(at_work.len(), "session"), plural::form(at_work.len(), "is", "are"));
    let line = match first.session.parking_ends_at() {
        Some(_) => format!("no agent works until {end}: {sessions} {are} parked"),
        None => format!("no agent works: {sessions} {are} parked and wait for {end}"),
    };
    let need = Need::new(NeedKind::Parked, "all", first.session.activity_at, line, format!("the parking of {id}"));
    Some(need.then("end the parking", format!("fairway session unpark {id}")))
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
