//! What the board is made of, read in one transaction.

use std::{cell::RefCell, collections::BTreeMap, time::Duration};

use anyhow::Result;

use crate::{
    actions::{
        App,
        core::{
            session_overview::{self, SessionScope},
            session_process::RunProcesses,
        },
        queue::gates,
    },
    domain::{
        LaneName, PersonName, SessionId, TaskId,
        approval::Approval,
        blocker::Blocker,
        checkpoint::CheckpointState,
        handoff::Handoff,
        job::Job,
        lane::{Lane, LaneStatus},
        message::{HUMAN_SOURCES, Message, Recipient},
        overlap::LaneOverlap,
        session::SessionStatus,
        session_facts::{HeldTask, SessionOverview},
        task::TaskStatus,
    },
    env::Timestamp,
    store::{
        ReadTx, approvals, events, handoffs, jobs, lanes, messages,
        overlaps::{self, LaneDiffstat},
        overview::{self, ExpiredMessage, FailedJob, TaskCounts, WrittenCheckpoint},
        session_reports, tasks, usage_turns,
    },
};

/// How long a message that expired is shown.
const EXPIRED_FOR: Duration = Duration::from_secs(60 * 60);
/// How long a job that failed is shown, and how many.
const FAILED_FOR: Duration = Duration::from_secs(24 * 60 * 60);
const MAX_FAILED_JOBS: i64 = 5;
/// The gates of so many submitted tasks are evaluated; of more the board only says that they are submitted.
const MAX_EVALUATED_TASKS: usize = 100;

/// Everything that the store tells, and for each session whether it is alive.
#[derive(Debug)]
pub(super) struct Facts {
    pub now: Timestamp,
    /// The newest event.
    pub seq: i64,
    /// Sessions that are not final, and final ones that have a claim; oldest first.
    pub sessions: Vec<SessionOverview>,
    /// Claimed tasks, by lane and id.
    pub held: Vec<HeldTask>,
    pub counts: TaskCounts,
    pub lanes: Vec<Lane>,
    /// The sizes of their changes when they were last looked at.
    pub diffstats: Vec<LaneDiffstat>,
    /// The overlaps when they were last judged.
    pub overlaps: Vec<LaneOverlap>,
    pub approvals: Vec<Approval>,
    pub handoffs: Vec<Handoff>,
    /// The tasks of live sessions whose newest written checkpoint awaits input.
    pub questions: Vec<(SessionId, TaskId, WrittenCheckpoint)>,
    /// The blockers of submitted tasks that the store knows; `None` for one that was not evaluated.
    pub submitted: BTreeMap<TaskId, Option<Vec<Blocker>>>,
    /// Open messages of people to sessions that are dead, or that expire unread.
    pub undelivered: Vec<Message>,
    /// Messages of people that expired lately.
    pub expired: Vec<ExpiredMessage>,
    /// The number of unread messages to the acting person; `None` for a session.
    pub inbox: Option<usize>,
    /// Live sessions of which no hook and no report of a runtime has come.
    pub silent: Vec<SessionId>,
    pub active_jobs: Vec<Job>,
    pub failed_jobs: Vec<FailedJob>,
    /// The known costs of the day by lane, in US dollars.
    pub costs: Vec<(Option<String>, f64)>,
    /// What is left of dead sessions.
    pub processes: RefCell<RunProcesses>,
}

impl Facts {
    pub(super) fn read(app: &App, tx: &ReadTx<'_>) -> Result<Self> {
        let now = app.env.now();
        let held = overview::held(tx)?;
        let sessions = session_overview::read(tx, SessionScope::LiveAndHolding, &held)?;
        Ok(Self {
            now,
            seq: events::last_seq(tx)?,
            counts: overview::counts(tx)?,
            lanes: lanes::all(tx)?,
            diffstats: overlaps::diffstats(tx)?,
            overlaps: live_overlaps(tx)?,
            approvals: approvals::all(tx, true)?,
            handoffs: handoffs::all(tx, true)?,
            questions: questions(tx, &sessions)?,
            submitted: submitted(app, tx, &held)?,
            undelivered: undelivered(tx, &sessions, now)?,
            expired: overview::expired_messages(tx, now.minus(EXPIRED_FOR))?
                .into_iter()
                .filter(|message| HUMAN_SOURCES.contains(&message.source.as_str()))
                .collect(),
            inbox: inbox(app, tx, now)?,
            silent: silent(tx, &sessions)?,
            active_jobs: jobs::active(tx)?,
            failed_jobs: overview::failed_jobs(tx, now.minus(FAILED_FOR), MAX_FAILED_JOBS)?,
            costs: usage_turns::lane_costs(tx, now.start_of_day())?,
            processes: RefCell::default(),
            held,
            sessions,
        })
    }

    pub(super) fn session(&self, id: &SessionId) -> Option<&SessionOverview> {
        self.sessions.iter().find(|one| one.session.id == *id)
    }

    /// Whether the claimant of a task is a session that needs a person itself: dead or stale.
    pub(super) fn claimant_in_trouble(&self, held: &HeldTask) -> bool {
        held.session.as_ref().and_then(|id| self.session(id)).is_some_and(is_in_trouble)
    }
}

/// Whether a session is over, or stale.
pub(super) fn is_in_trouble(one: &SessionOverview) -> bool {
    one.is_over() || one.session.status == SessionStatus::Stale
}

/// Whether a session may be working: neither final nor proven dead.
pub(super) fn may_work(one: &SessionOverview) -> bool {
    !one.is_over()
}

/// The overlaps between lanes that are there and not closed.
fn live_overlaps(tx: &ReadTx<'_>) -> Result<Vec<LaneOverlap>> {
    let mut found = overlaps::all(tx)?;
    if !found.is_empty() {
        let lanes = lanes::all(tx)?;
        let is_live = |name: &LaneName| lanes.iter().any(|one| one.name == *name && one.status != LaneStatus::Closed);
        found.retain(|one| is_live(&one.lane) && one.other.as_ref().is_none_or(is_live));
    }
    Ok(found)
}

fn questions(tx: &ReadTx<'_>, sessions: &[SessionOverview]) -> Result<Vec<(SessionId, TaskId, WrittenCheckpoint)>> {
    let mut found = Vec::new();
    for one in sessions.iter().filter(|one| may_work(one)) {
        for held in &one.holds {
            let newest = overview::newest_written(tx, &held.task)?;
            if let Some(newest) = newest.filter(|newest| newest.state == CheckpointState::AwaitingInput) {
                found.push((one.session.id.clone(), held.task.clone(), newest));
            }
        }
    }
    Ok(found)
}

fn submitted(app: &App, tx: &ReadTx<'_>, held: &[HeldTask]) -> Result<BTreeMap<TaskId, Option<Vec<Blocker>>>> {
    let mut found = BTreeMap::new();
    for held in held.iter().filter(|held| held.status == TaskStatus::Review) {
        let blockers = match tasks::find(tx, &held.task)? {
            Some(task) if found.len() < MAX_EVALUATED_TASKS => Some(gates::stored_blockers(app, tx, &task)?),
            _ => None,
        };
        found.insert(held.task.clone(), blockers);
    }
    Ok(found)
}

fn undelivered(tx: &ReadTx<'_>, sessions: &[SessionOverview], now: Timestamp) -> Result<Vec<Message>> {
    let mut found = messages::expired(tx, now)?;
    for one in sessions.iter().filter(|one| one.is_over()) {
        found.extend(messages::open_for(tx, &Recipient::Session(one.session.id.clone()))?);
    }
    found.retain(|message| {
        matches!(message.to, Recipient::Session(_)) && HUMAN_SOURCES.contains(&message.source.as_str())
    });
    found.sort_by_key(|message| message.id);
    found.dedup_by_key(|message| message.id);
    Ok(found)
}

fn inbox(app: &App, tx: &ReadTx<'_>, now: Timestamp) -> Result<Option<usize>> {
    let person = PersonName::of_actor(&app.actor.name).filter(|_| app.actor.session.is_none());
    let Some(person) = person else { return Ok(None) };
    let open = messages::open_for(tx, &Recipient::Person(person))?;
    Ok(Some(open.iter().filter(|message| !message.is_expired(now)).count()))
}

fn silent(tx: &ReadTx<'_>, sessions: &[SessionOverview]) -> Result<Vec<SessionId>> {
    let mut found = Vec::new();
    for one in sessions.iter().filter(|one| may_work(one) && one.session.provider.is_some()) {
        let reports = session_reports::find(tx, &one.session.id)?;
        if reports.last_hook_at.is_none() && reports.lifecycle_at.is_none() {
            found.push(one.session.id.clone());
        }
    }
    Ok(found)
}
