//! The life of a session as a machine: the row that an event makes of a session's row, and what else follows from it.

use crate::domain::Refusal;
use crate::domain::ended_by::END_SOURCE;
use crate::domain::parking::ParkingCause;
use crate::domain::session::{Activity, Session, SessionStatus};
use crate::env::Timestamp;

/// The source of an activity that a registration reports.
pub const UPSERT_SOURCE: &str = "upsert";

/// A report of what a session is doing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Report<'a> {
    pub activity: Option<Activity>,
    /// The question that the session waits for. Without one, an unchanged activity keeps the recorded question.
    pub waiting_for: Option<&'a str>,
    /// How full its context is, 0 to 1.
    pub context_usage: Option<f64>,
    /// The source of the activity.
    pub source: &'a str,
    /// Why a session that was starting or stale runs.
    pub why: &'a str,
}

impl<'a> Report<'a> {
    /// A report that tells no activity.
    pub const fn without_activity(source: &'a str, why: &'a str) -> Self {
        Self { activity: None, waiting_for: None, context_usage: None, source, why }
    }

    pub const fn of(activity: Activity, waiting_for: Option<&'a str>, source: &'a str) -> Self {
        Self { activity: Some(activity), waiting_for, context_usage: None, source, why: source }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum SessionEvent<'a> {
    /// One of its commands ran.
    Acted,
    /// It reports, which proves that it lives and that typed text arrived.
    Reported(Report<'a>),
    /// It lives. That does not prove that typed text arrived: its program has just started, or another program says so.
    Lives(Report<'a>),
    /// Its activity as its screen shows it, or as an answer to its question changes it. Does not prove that it lives.
    Seen(Report<'a>),
    /// How full its context is, 0 to 1, read from its transcript.
    ContextUsed(f64),
    /// More is known about its program, place and work: what `facts` says of them.
    Described {
        facts: &'a Session,
    },
    /// The same from a caller that may tell status and activity as well. `acts` says that the caller is the session itself.
    Upserted {
        facts: &'a Session,
        status: Option<SessionStatus>,
        activity: Option<Activity>,
        acts: bool,
    },
    /// Its program was started; `facts` has its process and endpoint.
    Launched {
        facts: &'a Session,
        is_running: bool,
    },
    /// The message with this id is its first prompt.
    FirstPromptQueued(i64),
    /// Its process or its backend shows that it is alive.
    FoundAlive {
        why: &'a str,
    },
    /// It is not known to be alive any more.
    Silent {
        why: &'a str,
    },
    /// It waits for a time.
    Parked {
        until: Timestamp,
        why: &'a ParkingCause,
    },
    Unparked,
    /// A person or a session begins to stop it. From now on no report changes its activity or its reason.
    StopBegan {
        by: &'a str,
    },
    /// The stop failed: it goes on as it was before.
    StopFailed {
        before: &'a Session,
    },
    /// Its launch is rolled back.
    RollbackBegan,
    /// It has ended; the end of one that is being stopped is that stop.
    Ended {
        status: SessionStatus,
        exit_code: Option<i64>,
        reason: Option<&'a str>,
    },
    /// A person records its end.
    EndRecorded {
        reason: Option<&'a str>,
    },
}

/// The effects of an event, in this order.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionEffect<'a> {
    /// The prompts that were typed into it have arrived.
    ConfirmTyped,
    /// The row changes.
    Write,
    /// Only the time of the last heartbeat changes.
    Touch,
    ExpireMessages,
    RecordRunning {
        why: &'a str,
    },
    RecordStale {
        why: &'a str,
    },
    /// Its activity, its question or its context usage has changed.
    RecordActivity,
    /// These fields have changed.
    RecordChanged(Vec<&'static str>),
    RecordParked,
    RecordUnparked,
    RecordEnd,
    ExpireApprovals,
    /// Those of its claims.
    RenewLeases,
}

/// The row after an event, and what follows from the event.
#[derive(Debug, Clone, PartialEq)]
pub struct Step<'a> {
    pub after: Session,
    pub effects: Vec<SessionEffect<'a>>,
}

/// Applies an event at `now`.
///
/// # Errors
/// `session_final` when the session has ended; `session_mismatch` for a status that a caller cannot set; `invalid_value` for an
/// end with a status that is not final.
pub fn step<'a>(before: &Session, event: &SessionEvent<'a>, now: Timestamp) -> Result<Step<'a>, Refusal> {
    use SessionEffect as Effect;
    let mut effects = Vec::new();
    let after = match event {
        SessionEvent::Acted => {
            effects.push(Effect::ConfirmTyped);
            before.with_heartbeat(now)?
        }
        SessionEvent::Reported(report) => {
            effects.push(Effect::ConfirmTyped);
            reported(&before.with_heartbeat(now)?, report, now)
        }
        SessionEvent::Lives(report) => reported(&before.with_heartbeat(now)?, report, now),
        SessionEvent::Seen(report) => {
            before.check_open()?;
            reported(before, report, now)
        }
        SessionEvent::ContextUsed(share) => {
            before.check_open()?;
            Session { context_usage: Some(*share), ..before.clone() }
        }
        SessionEvent::Described { facts } => {
            before.check_open()?;
            before.described_as(facts)
        }
        SessionEvent::Upserted { facts, status, activity, acts } => {
            before.check_open()?;
            effects.extend((*acts || activity.is_some()).then_some(Effect::ConfirmTyped));
            let report = Report { activity: *activity, ..Report::without_activity(UPSERT_SOURCE, UPSERT_SOURCE) };
            let after = reported(&before.described_as(facts), &report, now);
            let after = match status {
                Some(status) => after.with_reported_status(*status)?,
                None if *acts => after.to_running()?,
                None => after,
            };
            let lives = *status != Some(SessionStatus::Stale);
            Session { last_heartbeat_at: if lives { Some(now) } else { after.last_heartbeat_at }, ..after }
        }
        SessionEvent::Launched { facts, is_running } => {
            before.check_open()?;
            let status = if *is_running { SessionStatus::Running } else { before.status };
            Session { status, last_heartbeat_at: Some(now), ..before.described_as(facts) }
        }
        SessionEvent::FirstPromptQueued(id) => {
            before.check_open()?;
            Session { first_prompt: Some(*id), ..before.clone() }
        }
        SessionEvent::FoundAlive { .. } => before.to_running()?,
        SessionEvent::Silent { why } => before.to_stale(Some(why))?,
        SessionEvent::Parked { until, why } => {
            before.check_open()?;
            Session { parked_until: Some(*until), parked_why: Some((*why).clone()), ..before.clone() }
        }
        SessionEvent::Unparked => Session { parked_until: None, parked_why: None, ..before.clone() },
        SessionEvent::StopBegan { by } => before.to_stopping(by, now)?,
        SessionEvent::StopFailed { before: earlier } => before.to_not_stopping(earlier),
        SessionEvent::RollbackBegan => {
            before.check_open()?;
            Session { activity: Activity::Stopping, ..before.clone() }
        }
        SessionEvent::Ended { status, exit_code, reason } => before.to_finished(*status, *exit_code, *reason, now)?,
        SessionEvent::EndRecorded { reason } => {
            let ended = before.to_finished(SessionStatus::Ended, None, *reason, now)?;
            let source = if before.is_being_stopped() { ended.activity_source } else { Some(END_SOURCE.to_owned()) };
            Session { activity_source: source, ..ended }
        }
    };
    effects.extend(written(before, &after));
    effects.extend(recorded(before, &after, event));
    Ok(Step { after, effects })
}

/// The row with what a report tells.
fn reported(session: &Session, report: &Report<'_>, now: Timestamp) -> Session {
    let mut after = session.clone();
    if let Some(activity) = report.activity.or(report.waiting_for.map(|_| session.activity)) {
        let is_same = session.activity == activity;
        let waiting_for = report.waiting_for.or_else(|| session.waiting_for.as_deref().filter(|_| is_same));
        after = session.with_activity(activity, waiting_for, report.source, now);
    }
    after.context_usage = report.context_usage.or(session.context_usage);
    after
}

fn written<'a>(before: &Session, after: &Session) -> Option<SessionEffect<'a>> {
    if after == before {
        None
    } else if *after == (Session { last_heartbeat_at: after.last_heartbeat_at, ..before.clone() }) {
        Some(SessionEffect::Touch)
    } else {
        Some(SessionEffect::Write)
    }
}

/// The records of a change, and what it means for the session's messages, permission requests and claims.
fn recorded<'a>(before: &Session, after: &Session, event: &SessionEvent<'a>) -> Vec<SessionEffect<'a>> {
    use SessionEffect as Effect;
    let mut effects = Vec::new();
    let begins = |status| before.status != status && after.status == status;
    // A launch records its start itself, with the process and the pane.
    let cause = match event {
        SessionEvent::Acted | SessionEvent::Upserted { status: None, .. } => Some("it acts"),
        SessionEvent::Reported(report) | SessionEvent::Lives(report) => Some(report.why),
        SessionEvent::Upserted { status: Some(SessionStatus::Stale), .. } => Some("reported stale"),
        SessionEvent::Upserted { .. } => Some("reported running"),
        SessionEvent::FoundAlive { why } | SessionEvent::Silent { why } => Some(*why),
        _ => None,
    };
    effects.extend(cause.filter(|_| begins(SessionStatus::Running)).map(|why| Effect::RecordRunning { why }));
    effects.extend(cause.filter(|_| begins(SessionStatus::Stale)).map(|why| Effect::RecordStale { why }));
    match event {
        SessionEvent::Parked { .. } => effects.push(Effect::RecordParked),
        SessionEvent::Unparked if before.parked_until.is_some() => effects.push(Effect::RecordUnparked),
        SessionEvent::Ended { .. } | SessionEvent::EndRecorded { .. } => {
            effects.extend([Effect::ExpireMessages, Effect::RecordEnd, Effect::ExpireApprovals]);
        }
        _ => {}
    }
    if matches!(event, SessionEvent::Described { .. } | SessionEvent::Upserted { .. }) {
        let changed = changed_fields(before, after);
        effects.extend((!changed.is_empty()).then_some(Effect::RecordChanged(changed)));
    }
    let tells_activity = matches!(
        event,
        SessionEvent::Reported(_)
            | SessionEvent::Lives(_)
            | SessionEvent::Seen(_)
            | SessionEvent::ContextUsed(_)
            | SessionEvent::StopBegan { .. }
            | SessionEvent::StopFailed { .. }
    );
    let is_other = (before.activity, &before.waiting_for, before.context_usage.map(f64::to_bits))
        != (after.activity, &after.waiting_for, after.context_usage.map(f64::to_bits));
    effects.extend((tells_activity && is_other).then_some(Effect::RecordActivity));
    let renews = matches!(event, SessionEvent::Reported(_) | SessionEvent::Lives(_));
    effects.extend(renews.then_some(Effect::RenewLeases));
    effects
}

/// The names of the fields in which two rows of a session differ. Status and heartbeat times do not count.
pub fn changed_fields(before: &Session, after: &Session) -> Vec<&'static str> {
    let pairs = [
        ("role", before.role != after.role),
        ("lane", before.lane != after.lane),
        ("task_id", before.task != after.task),
        ("provider", before.provider != after.provider),
        ("backend", before.backend != after.backend),
        ("session_name", before.session_name != after.session_name),
        ("external_session_id", before.external_session_id != after.external_session_id),
        ("host", before.host != after.host),
        ("pid", (before.pid, before.pid_started) != (after.pid, after.pid_started)),
        ("pane", before.pane != after.pane),
        ("socket", before.socket != after.socket),
        ("transcript", before.transcript != after.transcript),
        ("worktree", before.worktree != after.worktree),
        ("branch", before.branch != after.branch),
        ("activity", (before.activity, &before.waiting_for) != (after.activity, &after.waiting_for)),
        ("started_at", before.started_at != after.started_at),
    ];
    pairs.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::domain::session::tests::session;

    /// A session in each life, with the word of the table.
    fn lives(at: Timestamp) -> [(&'static str, Session); 5] {
        let running = Session { parked_until: Some(Timestamp::from_millis(90)), ..session(SessionStatus::Running) };
        let asks = running.with_activity(Activity::RequiresAction, Some("which?"), "hook", at);
        [
            ("starting", session(SessionStatus::Starting)),
            ("running", asks.clone()),
            ("stale", running.to_stale(Some("silent")).unwrap()),
            ("stopping", asks.to_stopping("ann@host", at).unwrap()),
            ("ended", session(SessionStatus::Ended)),
        ]
    }

    fn line(before: &Session, event: &SessionEvent<'_>, now: Timestamp) -> String {
        let Step { after, effects } = match step(before, event, now) {
            Ok(step) => step,
            Err(refusal) => return refusal.code().to_owned(),
        };
        let names: Vec<String> = effects
            .iter()
            .map(|effect| format!("{effect:?}").split([' ', '(']).next().unwrap_or_default().to_owned())
            .collect();
        let activity = if after.activity == Activity::Unknown { String::new() } else { format!(" {}", after.activity) };
        format!("{}{activity}: {}", after.status, names.join(" ")).trim_end_matches([':', ' ']).to_owned()
    }

    /// Every event in every life.
    #[test]
    fn every_event_has_its_effects_in_every_life() {
        let at = Timestamp::from_millis;
        let busy = Report::of(Activity::Busy, None, "hook");
        let (plain, other) = (Report::without_activity("", "it acts"), session(SessionStatus::Running));
        let facts = Session { branch: Some("main".into()), ..other.clone() };
        let facts = &facts;
        let limit = ParkingCause::from_stored("limit");
        let (status, exit_code, reason) = (SessionStatus::Failed, Some(3), Some("why"));
        let upserted = |status, activity| SessionEvent::Upserted { facts, status, activity, acts: false };
        let events = [
            ("acted", SessionEvent::Acted),
            ("reported", SessionEvent::Reported(busy)),
            ("reported nothing", SessionEvent::Reported(plain)),
            ("lives", SessionEvent::Lives(plain)),
            ("seen", SessionEvent::Seen(busy)),
            ("context used", SessionEvent::ContextUsed(0.5)),
            ("described", SessionEvent::Described { facts }),
            ("upserted", upserted(None, None)),
            ("upserted busy", upserted(None, Some(Activity::Busy))),
            ("upserted stale", upserted(Some(SessionStatus::Stale), None)),
            ("launched", SessionEvent::Launched { facts, is_running: true }),
            ("first prompt", SessionEvent::FirstPromptQueued(1)),
            ("found alive", SessionEvent::FoundAlive { why: "it lives" }),
            ("silent", SessionEvent::Silent { why: "silent" }),
            ("parked", SessionEvent::Parked { until: at(90), why: &limit }),
            ("unparked", SessionEvent::Unparked),
            ("stop began", SessionEvent::StopBegan { by: "bob@host" }),
            ("stop failed", SessionEvent::StopFailed { before: &other }),
            ("rollback began", SessionEvent::RollbackBegan),
            ("ended", SessionEvent::Ended { status, exit_code, reason }),
            ("end recorded", SessionEvent::EndRecorded { reason }),
        ];
        let mut table = String::new();
        for (name, event) in &events {
            writeln!(table, "{name}").unwrap();
            for (life, before) in &lives(at(5)) {
                writeln!(table, "  {life:<8} -> {}", line(before, event, at(9))).unwrap();
            }
        }
        assert_eq!(table, include_str!("session_machine.txt"));
    }
}
