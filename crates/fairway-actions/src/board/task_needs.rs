//! Tasks that need a person: submitted, blocked, sent back and unclaimed, or handed over to no live session.

use super::facts::{Facts, may_work};
use super::need::Need;
use fairway_core::domain::TaskId;
use fairway_core::domain::blocker::Blocker;
use fairway_core::domain::handoff::Handoff;
use fairway_core::domain::issue::CHANGED;
use fairway_core::domain::need::NeedKind;
use fairway_core::domain::pull_request::{LanePullRequest, PullState};
use fairway_core::domain::review::Verdict;
use fairway_core::domain::session_facts::HeldTask;
use fairway_core::domain::task::TaskStatus;
use fairway_core::store::overview::ChangedIssue;

/// One item for each submitted task, about its first unmet gate, or about the review that it waits for.
pub(super) fn submitted_tasks(facts: &Facts) -> Vec<Need> {
    // What lands now needs no person.
    let lands = |task: &TaskId| facts.landing.now.iter().any(|one| one.tasks.iter().any(|id| id == task.as_str()));
    let submitted = facts.held.iter().filter(|held| held.status == TaskStatus::Review && !lands(&held.task));
    submitted.map(|held| submitted_need(facts, held)).collect()
}

fn submitted_need(facts: &Facts, held: &HeldTask) -> Need {
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
    let look = |need: Need| need.then("look at it and decide", format!("fairway review next --task {task}"));
    let of_lane = |pull: &&LanePullRequest| held.lane.as_ref() == Some(&pull.lane);
    let is_member = |pull: &&LanePullRequest| pull.tasks.iter().any(|(id, _)| id == task);
    if let Some((pull, words)) =
        facts.pulls.iter().filter(of_lane).find(is_member).and_then(|one| Some((one, one.words(facts.now)?)))
    {
        return about(pull_need(held, pull, &words));
    }
    // What the author has to do comes before the review.
    let for_author = |all: &'_ [Blocker]| all.iter().position(|one| !one.is_for_reviewer());
    match blockers.map(|all| (all.get(for_author(all).unwrap_or_default()), all)) {
        Some((Some(first), all)) => {
            let more = if all.len() > 1 { format!(" (and {} more)", all.len() - 1) } else { String::new() };
            let line = format!("{}{more}: {}", first.message, held.title);
            let kind = if first.is_for_reviewer() { NeedKind::Review } else { NeedKind::Gate };
            let need = about(Need::new(kind, task.as_str(), since, line, format!("gate {}", first.code)));
            let need = if first.is_for_reviewer() { need } else { need.then("clear the gate", first.fix.clone()) };
            let need = look(need);
            if all.len() > 1 { need.then("see every gate", merge_ready()) } else { need }
        }
        known => {
            let what = if known.is_some() {
                "no unmet gate is known; merge-ready also asks git"
            } else {
                "its gates were not evaluated"
            };
            let line = format!("submitted: {}", held.title);
            let need = about(Need::new(NeedKind::Review, task.as_str(), since, line, what.to_owned()));
            let need = look(need).then(
                "approve it, or send it back with --verdict changes",
                format!("fairway review record {task} --verdict approve --notes TEXT"),
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

/// The item of a submitted task that has a pull request, from what was recorded about it.
fn pull_need(held: &HeldTask, pull: &LanePullRequest, words: &str) -> Need {
    let task = &held.task;
    let url = pull.url.as_deref().unwrap_or_default();
    let asked = pull.synced_at.map_or_else(|| "not asked about yet".to_owned(), |at| format!("asked at {at}"));
    // The words of strangers are data.
    let newest = pull.for_people.lines().next_back().map(|line| format!("; > {line}")).unwrap_or_default();
    let (line, evidence) = (format!("{words}: {}", held.title), format!("{url}, {asked}{newest}"));
    let need = Need::new(NeedKind::Review, task.as_str(), Some(held.updated_at), line, evidence);
    if pull.state == PullState::Closed {
        return need
            .then("open another one", format!("fairway land {task} --pr"))
            .then("send it back", format!("fairway review record {task} --verdict changes --notes TEXT"));
    }
    let need = need.then("ask the forge", "fairway pr sync".to_owned());
    if pull.for_people.is_empty() {
        need
    } else {
        need.then("read what is for you", format!("fairway lane show {}", pull.lane))
    }
}

/// One item for each blocked task that an import did not block, unless its claiming session has ended, is stale or lacks its supervisor.
pub(super) fn blocked_tasks(facts: &Facts) -> Vec<Need> {
    let is_blocked = |held: &&HeldTask| held.status == TaskStatus::Blocked && !held.is_of_import();
    let blocked = facts.held.iter().filter(is_blocked);
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

/// One item for each task that was released after a review sent it back.
pub(super) fn refused_tasks(facts: &Facts) -> Vec<Need> {
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

/// One item for each task whose issue has a new text.
pub(super) fn changed_issues(facts: &Facts) -> Vec<Need> {
    let item = |one: &ChangedIssue| {
        let line = format!("its issue was changed, and agents have the old text: {}", one.title);
        let need = Need::new(NeedKind::Issue, one.task.as_str(), None, line, format!("label {CHANGED}"));
        let need = need.task(&one.task).lane(one.lane.as_ref());
        need.then("look at it; agents get the new text then", format!("fairway task show {}", one.task))
    };
    facts.changed_issues.iter().map(item).collect()
}

fn first_line(text: &str) -> &str {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim()
}

/// The role of agents that a person started by hand.
const PERSON: &str = "person";

/// One item for each open handoff to a person, or to a role or lane without a live session.
pub(super) fn open_handoffs(facts: &Facts) -> Vec<Need> {
    facts.handoffs.iter().filter(|handoff| needs_person(facts, handoff)).map(handoff_need).collect()
}

fn needs_person(facts: &Facts, handoff: &Handoff) -> bool {
    let is_for_person = handoff.to_role.as_ref().is_some_and(|role| role.as_str() == PERSON);
    let has_reader = facts.sessions.iter().filter(|one| may_work(one)).any(|one| {
        handoff.to_role.as_ref() == Some(&one.session.role)
            || (handoff.to_lane.is_some() && handoff.to_lane == one.session.lane)
    });
    is_for_person || !has_reader
}

fn handoff_need(handoff: &Handoff) -> Need {
    let id = handoff.id;
    let to = match (&handoff.to_role, &handoff.to_lane) {
        (Some(role), _) => format!("role {role}"),
        (None, Some(lane)) => format!("lane {lane}"),
        (None, None) => String::new(),
    };
    let evidence = format!("handoff {id} by {}; no live session is in {to}", handoff.from_actor);
    let line = format!("to {to}: {}", handoff.summary);
    Need::new(NeedKind::Handoff, &id.to_string(), Some(handoff.created_at), line, evidence)
        .task(&handoff.task)
        .lane(handoff.to_lane.as_ref())
        .then("accept it", format!("fairway handoff accept {id}"))
        .then("decline it", format!("fairway handoff decline {id} --reason TEXT"))
}
