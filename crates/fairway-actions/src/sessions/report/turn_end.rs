//! Ended turns: which idle sessions have stopped although they have claimed a task, and which wait for something of their own.

use std::fs;

use anyhow::Result;

use crate::App;
use crate::core::{parking_end, session_process};
use crate::queue::gates;
use fairway_core::domain::checkpoint::CheckpointState;
use fairway_core::domain::ended_turn::EndedTurn;
use fairway_core::domain::job::{Job, JobId};
use fairway_core::domain::message::{Message, Recipient};
use fairway_core::domain::rules::turn_end::{self, TurnFacts};
use fairway_core::domain::session::Activity;
use fairway_core::domain::session_facts::{HeldTask, SessionOverview};
use fairway_core::domain::task::TaskStatus;
use fairway_core::domain::{EventKind, RoutingKey, SessionId, TaskId};
use fairway_core::env::Timestamp;
use fairway_core::store::events::{self, LoggedEvent};
use fairway_core::store::{ReadTx, StoreError, handoffs, jobs, messages, overview, session_reports, tasks};

/// The number of sessions above which all checkpoints are read in one statement.
const MAX_SINGLE_READS: usize = 2;

/// Says of each session whether it is parked, and of each idle one with a task in progress what the end of its turn means.
pub(crate) fn judge(app: &App, tx: &ReadTx<'_>, sessions: &mut [SessionOverview]) -> Result<()> {
    let (mut active, mut newest, mut handoffs, now) = (None, None, None, app.env.now());
    let is_many = sessions.len() > MAX_SINGLE_READS;
    for one in sessions {
        one.ended_turn = None;
        let is_parked = !one.is_over() && one.session.is_parked(now);
        one.parking = one.session.parking(now).filter(|_| is_parked);
        one.turn_shown_at = running_turn(app, tx, one, &mut active)?;
        let is_idle = one.current_activity() == Some(Activity::Idle);
        let in_progress = |held: &&HeldTask| held.status == TaskStatus::InProgress;
        let held: Vec<&HeldTask> = one.holds.iter().filter(in_progress).filter(|_| is_idle).collect();
        let Some(first) = held.first() else { continue };
        let id = &one.session.id;
        let job = own_job(tx, id, &mut active)?;
        let reports = session_reports::find(tx, id)?;
        let facts = TurnFacts {
            has_asked: any(&held, |task| {
                // Each statement is an exchange with a server.
                let newest = if is_many {
                    kept(&mut newest, || overview::newest_of_held(tx))?.get(task).cloned()
                } else {
                    overview::newest_written(tx, task)?
                };
                Ok(newest.is_some_and(|newest| newest.state == CheckpointState::AwaitingInput))
            })?,
            message: on_its_way(app, tx, one)?,
            said: reports.last_message.as_deref(),
            parking_end: one.session.parking_end(now).filter(|_| is_parked),
            job: job.as_ref(),
            handoff: kept(&mut handoffs, || handoffs::all(tx, true))?
                .iter()
                .find(|handoff| handoff.task == first.task)
                .map(|handoff| handoff.id),
            blockers: &[],
        };
        let (mut meaning, mut told) = (turn_end::judge(&facts), 0);
        let (task, epoch) = (first.task.clone(), first.epoch);
        // The gates take the most statements: they are read only where nothing else decides.
        if meaning.is_stop() {
            let task_row = tasks::find(tx, &task)?;
            let blockers = task_row.map(|task| gates::stored_blockers(app, tx, &task)).transpose()?.unwrap_or_default();
            meaning = turn_end::judge(&TurnFacts { blockers: &blockers, ..facts });
            let reminder = last_reminder(tx, id, &task, epoch)?;
            told = reminder.and_then(|event| event.data["times"].as_i64()).unwrap_or_default();
        }
        let since = one.session.activity_at.map_or(first.claimed_at, |at| at.max(first.claimed_at));
        one.ended_turn = Some(EndedTurn { task, meaning, since, said: reports.last_message, epoch, told });
    }
    Ok(())
}

/// When the running turn of a session that Fairway launched last showed anything: a report, or a line in its transcript. `None`
/// without one; and when that is long ago, while a tool or job of it runs.
fn running_turn(
    app: &App,
    tx: &ReadTx<'_>,
    one: &SessionOverview,
    active: &mut Option<Vec<Job>>,
) -> Result<Option<Timestamp>, StoreError> {
    let session = &one.session;
    let Some(transcript) = session.transcript.as_ref().filter(|_| session_process::is_local(session)) else {
        return Ok(None);
    };
    if one.current_activity() != Some(Activity::Busy) {
        return Ok(None);
    }
    let printed = fs::metadata(transcript).and_then(|found| found.modified()).ok();
    let printed = printed.and_then(Timestamp::from_system_time);
    let shown = [session.activity_at, printed].into_iter().flatten().fold(one.seen.at, Timestamp::max);
    if app.env.now() < shown.plus(app.settings.agents.silent_after) {
        return Ok(Some(shown));
    }
    let works = session_reports::find(tx, &session.id)?.open_calls > 0 || own_job(tx, &session.id, active)?.is_some();
    Ok((!works).then_some(shown))
}

/// A running job that the session has started. `active` keeps the running jobs for the next call.
fn own_job(tx: &ReadTx<'_>, id: &SessionId, active: &mut Option<Vec<Job>>) -> Result<Option<JobId>, StoreError> {
    let active = kept(active, || jobs::active(tx))?;
    let is_own = |key: &RoutingKey| key.as_str() == id.as_str();
    Ok(active.iter().find(|job| job.session.as_ref().is_some_and(is_own)).map(|job| job.id.clone()))
}

/// The newest event of a reminder to this session in this claim of the task.
pub(in crate::sessions) fn last_reminder(
    tx: &ReadTx<'_>,
    session: &SessionId,
    task: &TaskId,
    epoch: i64,
) -> Result<Option<LoggedEvent>, StoreError> {
    let is_reminder = |kind| kind == EventKind::SessionReminded;
    let newest = events::newest_of_session(tx, session, is_reminder)?;
    Ok(newest
        .filter(|event| event.task.as_deref() == Some(task.as_str()) && event.data["epoch"].as_i64() == Some(epoch)))
}

/// When the end or the silence of a turn becomes an item, or what a session waits for may have come to nothing; `None` for any other session.
pub(crate) fn next_change(app: &App, one: &SessionOverview, now: Timestamp) -> Option<Timestamp> {
    let parked = [one.session.parking_ends_at(), parking_end::due_at(app, &one.session)];
    let parked = parked.into_iter().flatten().filter(|until| *until > now);
    let ended = one.ended_turn.as_ref().map(|ended| {
        let from = if ended.meaning.is_stop() { ended.since } else { now };
        from.plus(app.settings.agents.unfinished_after)
    });
    let silent = one.turn_shown_at.map(|at| at.plus(app.settings.agents.silent_after));
    parked.chain(ended).chain(silent).min()
}

/// What was read before, or is read now.
fn kept<T>(slot: &mut Option<T>, read: impl FnOnce() -> Result<T, StoreError>) -> Result<&mut T, StoreError> {
    let value = slot.take().map_or_else(read, Ok)?;
    Ok(slot.insert(value))
}

fn any(held: &[&HeldTask], mut is: impl FnMut(&TaskId) -> Result<bool, StoreError>) -> Result<bool, StoreError> {
    held.iter().map(|held| is(&held.task)).find(|found| !matches!(found, Ok(false))).unwrap_or(Ok(false))
}

/// The oldest message to the session that is not taken yet. One that is not taken is soon no reason to wait.
fn on_its_way(app: &App, tx: &ReadTx<'_>, one: &SessionOverview) -> Result<Option<i64>, StoreError> {
    let now = app.env.now();
    let is_new = |message: &Message| {
        message.answered_at.is_none()
            && !message.is_expired(now)
            && message.created_at.plus(app.settings.agents.unfinished_after) > now
    };
    let open = messages::open_for(tx, &Recipient::Session(one.session.id.clone()))?;
    Ok(open.iter().find(|message| is_new(message)).map(|message| message.id))
}
