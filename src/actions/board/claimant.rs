//! Claims whose claimant is dead or stale, sessions without their supervisor, and claims with an expired lease.

use super::{
    facts::{Facts, is_in_trouble},
    need::Need,
};
use crate::{
    actions::queue::claimants,
    domain::{
        need::NeedKind,
        rules::aliveness,
        session_facts::{HeldTask, SessionOverview},
        task::TaskStatus,
    },
};

/// An item for each dead or stale session with claims, but not for one that was stopped on purpose; for each session without its
/// supervisor; and for each other claim whose lease has expired.
pub(super) fn items(facts: &Facts) -> Vec<Need> {
    let mut items: Vec<Need> = facts
        .sessions
        .iter()
        .filter(|one| is_in_trouble(one) && !one.is_orphaned() && one.stopped_by().is_none())
        .filter(|one| unfinished(one).next().is_some())
        .map(|one| of_session(facts, one))
        .collect();
    items.extend(facts.sessions.iter().filter(|one| one.is_orphaned()).map(of_orphan));
    items.extend(leases(facts));
    items
}

/// The claims that need the session: a submitted task waits for its reviewer.
fn unfinished(one: &SessionOverview) -> impl Iterator<Item = &HeldTask> {
    one.holds.iter().filter(|held| held.status != TaskStatus::Review)
}

fn of_session(facts: &Facts, one: &SessionOverview) -> Need {
    let session = &one.session;
    let kind = if one.is_over() { NeedKind::Dead } else { NeedKind::Stale };
    let tasks: Vec<String> = unfinished(one).map(|held| held.task.to_string()).collect();
    let recorded = one.silence.as_ref().or(session.reason.as_ref()).filter(|_| kind == NeedKind::Stale);
    let reason = recorded.unwrap_or(&one.alive.reason);
    let title = match (unfinished(one).next(), tasks.len()) {
        (Some(held), 1) => format!("; {}", held.title),
        _ => String::new(),
    };
    let line = format!("{}: {reason}{title}", tasks.join(", "));
    // The time of a death that is not recorded is unknown; the session was alive when it was last seen.
    let (since, since_when) = match session.ended_at {
        Some(at) => (at, "since its end".to_owned()),
        None => (one.seen.at, format!("since it was last seen, by its {}", one.seen.by)),
    };
    let evidence = format!("{} (source: {}), {since_when}", one.alive.reason, one.alive.source);
    let mut need = Need::new(kind, session.id.as_str(), Some(since), line, evidence).session(one);
    if let Some(held) = unfinished(one).next() {
        need = need.task(&held.task);
    }
    let mut processes = facts.processes.borrow_mut();
    for held in unfinished(one) {
        let (session, can) = (one.judged(), one.can_relaunch);
        for next in claimants::ways_on(&held.task, held.status, &session, &one.alive, can, &mut processes) {
            need = need.command(&next);
        }
    }
    need
}

/// A session whose program works on without its supervisor, with claims or without.
fn of_orphan(one: &SessionOverview) -> Need {
    let id = &one.session.id;
    let held = unfinished(one).next();
    let title = held.map(|held| format!("; {}: {}", held.task, held.title)).unwrap_or_default();
    let line = format!("{}{title}", one.alive.reason);
    let evidence = format!("{} (source: {})", one.alive.reason, one.alive.source);
    let need = Need::new(NeedKind::Orphan, id.as_str(), Some(one.seen.at), line, evidence).session(one);
    let need = match held {
        Some(held) => need.task(&held.task),
        None => need,
    };
    need.command(&aliveness::stop_orphan(id))
}

fn leases(facts: &Facts) -> Vec<Need> {
    let is_expired = |until| until <= facts.now;
    let expired = facts.held.iter().filter(|held| {
        held.status == TaskStatus::InProgress
            && held.lease_until.is_some_and(is_expired)
            && !facts.claimant_in_trouble(held)
    });
    let item = |held: &HeldTask| {
        let task = &held.task;
        let line = format!("the lease of {} has expired: {}", held.claimant, held.title);
        let evidence = format!("claim {} of {task}", held.epoch);
        let need = Need::new(NeedKind::Lease, task.as_str(), held.lease_until, line, evidence)
            .task(task)
            .lane(held.lane.as_ref());
        let need = match held.session.as_ref().and_then(|id| facts.session(id)) {
            Some(one) => need.session(one),
            None => need,
        };
        need.then("take it over", format!("fairway claim {task}"))
            .then("release it", format!("fairway release {task} --force --reason TEXT"))
    };
    expired.map(item).collect()
}
