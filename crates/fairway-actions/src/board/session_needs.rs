//! Sessions that need a person: dead, stale or without a supervisor, without `fairway`, without a guard, or with undelivered
//! messages.

use super::facts::{FIRST_HOOK_TIMEOUT, Facts, is_in_trouble, may_work};
use super::need::Need;
use crate::App;
use crate::core::session_process;
use fairway_core::config::trust::{self, GuardTrust};
use fairway_core::domain::EventKind;
use fairway_core::domain::message::{Message, Recipient};
use fairway_core::domain::need::NeedKind;
use fairway_core::domain::rules::death::{self, Claimant};
use fairway_core::domain::session_facts::{HeldTask, SessionOverview};
use fairway_core::domain::task::TaskStatus;

/// One item for each dead or stale session with claims that was not stopped on purpose, for each session without its
/// supervisor, and for each other claim with an expired lease.
pub(super) fn lost_claimants(facts: &Facts) -> Vec<Need> {
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

/// The claims of a session for which it is needed. A submitted task waits for its reviewer instead.
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
    let seen = || format!("it was last seen at {}, by its {}", one.seen.at, one.seen.by);
    let (since, since_when) = match one.ended_at() {
        Some(at) => (Some(at), "since its end".to_owned()),
        // When it died is not recorded.
        None if kind == NeedKind::Dead => (None, seen()),
        None => (Some(one.seen.at), seen()),
    };
    let evidence = format!("{} (source: {}), {since_when}", one.alive.reason, one.alive.source);
    let mut need = Need::new(kind, session.id.as_str(), since, line, evidence).session(one);
    if let Some(held) = unfinished(one).next() {
        need = need.task(&held.task);
    }
    let judged = one.judged();
    let may_continue = |other: &&SessionOverview| may_work(other) && death::may_continue(&other.judged(), &judged);
    let claimant = Claimant {
        session: &judged,
        alive: &one.alive,
        can_relaunch: one.can_relaunch,
        remaining: session_process::remaining(session, &one.alive, &mut facts.processes.borrow_mut()),
        in_lane: facts.sessions.iter().find(may_continue).map(|other| &other.session.id),
    };
    for held in unfinished(one) {
        for next in death::ways_on(&held.task, held.status, claimant) {
            need = need.command(&next);
        }
    }
    need
}

/// The item of a session whose program works on without its supervisor.
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
    need.command(&death::stop_orphan(id))
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

/// One item for each live session whose shell did not find `fairway`.
pub(super) fn missing_programs(facts: &Facts) -> Vec<Need> {
    let mut items = Vec::new();
    for (id, since) in &facts.program_missing {
        let Some(one) = facts.session(id).filter(|one| may_work(one)) else { continue };
        let line = "its shell does not find `fairway`, so it cannot claim, note or finish".to_owned();
        let evidence = format!("the answer of the shell to a call by {id}: command not found");
        items.push(
            Need::new(NeedKind::Program, id.as_str(), Some(*since), line, evidence).session(one).then(
                "see how to mend it; then launch it again, because it keeps its PATH",
                "fairway doctor".to_owned(),
            ),
        );
    }
    items
}

/// One item while the guard rules are not trusted, because every tool call is then denied; one for each agent that
/// started without the guard or was seen to get around it, and one for each agent under guard rules that has not called a hook.
pub(super) fn broken_guards(app: &App, facts: &Facts, hook_providers: &[&str]) -> Vec<Need> {
    let mut items = Vec::new();
    if let GuardTrust::Untrusted(why) = trust::guard_trust(&app.env, &app.project, &app.layers, &app.settings) {
        let evidence = "the trust record of this project".to_owned();
        let line = format!("every tool call of agents is denied: {why}");
        items.push(
            Need::new(NeedKind::Guard, "trust", None, line, evidence)
                .then("see what would be trusted", "fairway trust --show".to_owned())
                .then("trust it", "fairway trust".to_owned()),
        );
    }
    items.extend(facts.bypasses.iter().filter_map(|(id, bypass)| {
        let line = format!("it is not guarded: {}", bypass.data["what"].as_str().unwrap_or_default());
        let evidence = format!("event {} of {id}, {}", bypass.seq, EventKind::GuardBypassed);
        let need = Need::new(NeedKind::Guard, id.as_str(), Some(bypass.at), line, evidence).session(facts.session(id)?);
        Some(
            need.then("see what the guard decided", format!("fairway guard log --session {id}"))
                .then("stop it", format!("fairway session stop {id}")),
        )
    }));
    if app.settings.guard.is_none() {
        return items;
    }
    for one in facts.silent.iter().filter_map(|id| facts.session(id)) {
        let session = &one.session;
        let label = session.provider.as_ref().map_or("", |provider| provider.as_str());
        // Its first turn has not begun: the agent asks a person first.
        let is_asked = one.waiting_for().is_some();
        if is_asked
            || facts.bypasses.contains_key(&session.id)
            || !hook_providers.contains(&label)
            || facts.now.since(session.started_at) < FIRST_HOOK_TIMEOUT
        {
            continue;
        }
        let line = format!("no hook of {label} has called since its start; the guard may be off");
        let evidence = format!("the reports of {}", session.id);
        items.push(
            Need::new(NeedKind::Guard, session.id.as_str(), Some(session.started_at), line, evidence)
                .session(one)
                .then("test the hooks", format!("fairway doctor hooks {label}")),
        );
    }
    items
}

/// Items for the messages of people that dead sessions did not get, and for those that expired before a session read them.
pub(super) fn undelivered_messages(facts: &Facts) -> Vec<Need> {
    let open = facts.undelivered.iter().filter_map(|message| undelivered(facts, message));
    let expired = facts.expired.iter().map(|message| {
        let id = message.id;
        let line = format!("message {id} expired before {} read it", message.to);
        let need =
            Need::new(NeedKind::Prompt, &id.to_string(), Some(message.at), line, format!("message {id}, expired"));
        match facts.session(&message.to) {
            Some(one) if may_work(one) => {
                need.session(one).then("send it again", format!("fairway prompt {} TEXT", message.to))
            }
            _ => need.then("read it", format!("fairway outbox list --all --to-session {}", message.to)),
        }
    });
    open.chain(expired).collect()
}

fn undelivered(facts: &Facts, message: &Message) -> Option<Need> {
    let Recipient::Session(session) = &message.to else { return None };
    let id = message.id;
    let one = facts.session(session);
    let why = match one {
        Some(one) if one.is_over() => format!("{session} works no more"),
        _ => "its time to live is over".to_owned(),
    };
    let line = format!("message {id} to {session} was not delivered: {why}");
    let evidence = format!("message {id}, {}", message.status);
    let need = Need::new(NeedKind::Prompt, &id.to_string(), Some(message.created_at), line, evidence);
    let need = one.into_iter().fold(need, Need::session);
    Some(need.then("withdraw it", format!("fairway outbox withdraw {id}")))
}
