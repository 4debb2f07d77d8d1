//! A task's history in short: its newest events and the ends of its claimants' sessions, as text.

use anyhow::Result;
use serde_json::Value;

use fairway_core::domain::{EventKind, SessionId, TaskId, commit_id};
use fairway_core::store::events::{self, LoggedEvent};
use fairway_core::store::{ReadTx, claims};
use fairway_core::wire::TimelineEntryView;

pub(super) const MAX_ENTRIES: usize = 20;
/// How many of the newest claims are searched for events of their sessions.
const MAX_CLAIMS: usize = 10;

/// The newest entries of a task's history, oldest first, and whether there are earlier ones.
pub(super) fn newest(tx: &ReadTx<'_>, task: &TaskId) -> Result<(Vec<TimelineEntryView>, bool)> {
    let mut found: Vec<LoggedEvent> = Vec::new();
    let mut claimants = Vec::new();
    for claim in claims::history(tx, task)?.into_iter().take(MAX_CLAIMS) {
        let Ok(session) = SessionId::parse(&claim.claimant) else { continue };
        let mut of_session = Vec::new();
        events::for_each_of_session(tx, &session, is_fate, |event| {
            let is_in_claim = event.at >= claim.claimed_at && claim.ended.is_none_or(|(until, _)| event.at <= until);
            let is_before = event.at < claim.claimed_at;
            if is_in_claim {
                of_session.push(event);
            }
            Ok(!is_before && of_session.len() <= MAX_ENTRIES)
        })?;
        found.extend(of_session);
        claimants.push(session);
    }
    let mut of_task = 0;
    events::for_each_of_task(tx, task, is_entry, |event| {
        let repeats = is_repeated_by_session(&event, &claimants);
        if !repeats && !found.iter().any(|other| other.seq == event.seq) {
            found.push(event);
            of_task += 1;
        }
        Ok(of_task <= MAX_ENTRIES)
    })?;
    found.sort_by_key(|event| std::cmp::Reverse(event.seq));
    found.dedup_by_key(|event| event.seq);
    let has_earlier = found.len() > MAX_ENTRIES;
    found.truncate(MAX_ENTRIES);
    let entries = found.into_iter().rev().map(|event| TimelineEntryView {
        seq: event.seq,
        at: event.at.to_string(),
        message: entry(&event),
        kind: event.kind,
        actor: event.actor,
        session_id: event.session,
    });
    Ok((entries.collect(), has_earlier))
}

/// Whether an event says that a session became stale, came back or ended.
const fn is_fate(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::SessionStale | EventKind::SessionRevived | EventKind::SessionEnded | EventKind::SessionFailed
    )
}

/// Whether an event is the checkpoint of a claimant that became stale, for which the session's own event is listed already.
fn is_repeated_by_session(event: &LoggedEvent, claimants: &[SessionId]) -> bool {
    event.data.get("origin").and_then(|origin| origin.as_str()) == Some("reconcile")
        && event.session.as_deref().is_some_and(|session| claimants.iter().any(|id| id.as_str() == session))
}

/// Describes a transition and its circumstances, as in `: todo → in_progress, stolen from m1 (it sleeps)`.
pub(crate) fn transition_detail(data: &Value) -> String {
    let text = |key: &str| data.get(key).and_then(Value::as_str);
    let steps = match (text("from"), text("to")) {
        (Some(from), Some(to)) => format!(": {from} → {to}"),
        _ => String::new(),
    };
    let taken = match (text("takeover"), text("from")) {
        (Some("stolen"), Some(from)) => format!(", stolen from {from}"),
        (Some("expired"), Some(from)) => format!(", after the lease of {from} expired"),
        (Some("handed_over"), Some(from)) => format!(", handed over by {from}"),
        (Some("continued"), Some(from)) => format!(", continued from {from}"),
        _ => String::new(),
    };
    let reason = text("reason").map(|reason| format!(" ({reason})")).unwrap_or_default();
    let forced = text("force_reason").map(|reason| format!(", forced: {reason}")).unwrap_or_default();
    format!("{steps}{taken}{reason}{forced}")
}

/// Whether events of a kind are part of a task's history.
pub(super) const fn is_entry(kind: EventKind) -> bool {
    kind.is_transition()
        || matches!(
            kind,
            EventKind::TaskAdded
                | EventKind::TaskImported
                | EventKind::TaskEdited
                | EventKind::TaskIssueChanged
                | EventKind::TaskDepAdded
                | EventKind::TaskDepRemoved
                | EventKind::TaskSentBack
                | EventKind::CheckpointRecorded
                | EventKind::EvidenceRecorded
                | EventKind::HandoffCreated
                | EventKind::HandoffAccepted
                | EventKind::HandoffDeclined
                | EventKind::HandoffWithdrawn
                | EventKind::ReviewRequested
                | EventKind::ReviewRecorded
                | EventKind::ReviewCommented
                | EventKind::ReviewResolved
                | EventKind::SessionStale
                | EventKind::SessionRevived
                | EventKind::SessionEnded
                | EventKind::SessionFailed
        )
}

/// Formats an event as one entry of a task's history.
pub(super) fn entry(event: &LoggedEvent) -> String {
    let data = &event.data;
    let text = |key: &str| data.get(key).and_then(Value::as_str);
    let number = |key: &str| data.get(key).and_then(Value::as_i64).map(|number| number.to_string());
    let id = number("id").unwrap_or_default();
    let in_brackets = |key: &str| text(key).map(|value| format!(" ({value})")).unwrap_or_default();
    let at_commit = || {
        let commit = text("commit").map(|commit| commit.chars().take(12).collect::<String>());
        commit.map(|commit| format!(", commit {commit}")).unwrap_or_default()
    };
    let Some(kind) = EventKind::parse(&event.kind) else { return event.kind.clone() };
    match kind {
        EventKind::TaskAdded => "added".to_owned(),
        EventKind::TaskImported => {
            let from = text("url").map(|url| format!(" from {url}")).unwrap_or_default();
            format!("imported{from} as {}", text("status").unwrap_or("todo"))
        }
        EventKind::TaskEdited => {
            let fields = data.get("fields").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
            format!("edited: {}{}", fields.collect::<Vec<_>>().join(", "), in_brackets("url"))
        }
        EventKind::TaskIssueChanged => format!("changed in its issue, and not looked at{}", in_brackets("url")),
        EventKind::TaskDepAdded => format!("depends on {}", text("depends_on").unwrap_or_default()),
        EventKind::TaskDepRemoved => format!("depends no longer on {}", text("depends_on").unwrap_or_default()),
        EventKind::TaskClaimed => {
            let epoch = number("epoch").map(|epoch| format!(", epoch {epoch}")).unwrap_or_default();
            format!("claimed{epoch}{}", transition_detail(data))
        }
        EventKind::TaskSentBack => {
            format!("sent back from {}{}", text("base").unwrap_or_default(), in_brackets("error"))
        }
        EventKind::TaskLanded => {
            let commit = text("candidate").unwrap_or_default();
            let commit = commit_id::short(commit);
            format!("landed in {} as {commit}{}", text("base").unwrap_or_default(), transition_detail(data))
        }
        kind if kind.is_transition() => {
            let verb = event.kind.trim_start_matches("task.");
            format!("{verb}{}", transition_detail(data))
        }
        EventKind::CheckpointRecorded => {
            let (state, summary) = (text("state").unwrap_or_default(), text("summary").unwrap_or_default());
            format!("checkpoint {id}{}, {state}: {summary}", in_brackets("origin"))
        }
        EventKind::EvidenceRecorded => {
            let (sort, result) = (text("kind").unwrap_or_default(), text("result").unwrap_or_default());
            let check = text("check").map(|check| format!(", check {check}")).unwrap_or_default();
            let exit = number("exit_code").map(|code| format!(", exit {code}")).unwrap_or_default();
            format!("evidence {id}, {sort} {result}{check}{exit}{}", at_commit())
        }
        EventKind::HandoffCreated => {
            let role = text("to_role").map(|role| format!("role {role}"));
            let to = role.or_else(|| text("to_lane").map(|lane| format!("lane {lane}"))).unwrap_or_default();
            format!("handoff {id} to {to}: {}", text("summary").unwrap_or_default())
        }
        EventKind::HandoffAccepted => format!("accepted handoff {id}"),
        EventKind::HandoffDeclined => format!("declined handoff {id}{}", in_brackets("reason")),
        EventKind::HandoffWithdrawn => format!("withdrew handoff {id}{}", in_brackets("reason")),
        EventKind::ReviewCommented => format!("comment {id} on {}", text("path").unwrap_or_default()),
        EventKind::ReviewResolved => format!("resolved comment {id}{}", in_brackets("reason")),
        EventKind::ReviewRequested => format!("requested review {id}, {}", text("domain").unwrap_or_default()),
        EventKind::ReviewRecorded => {
            let (domain, verdict) = (text("domain").unwrap_or_default(), text("verdict").unwrap_or_default());
            format!("review {id}, {domain}: {verdict}{}", at_commit())
        }
        EventKind::SessionStale | EventKind::SessionRevived | EventKind::SessionEnded | EventKind::SessionFailed => {
            let session = event.session.as_deref().unwrap_or_default();
            let became = match kind {
                EventKind::SessionStale => "is stale",
                EventKind::SessionRevived => "is alive again",
                EventKind::SessionFailed => "failed",
                _ => "ended",
            };
            format!("session {session} {became}{}", in_brackets("reason"))
        }
        _ => event.kind.clone(),
    }
}
