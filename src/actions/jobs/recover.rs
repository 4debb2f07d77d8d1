//! Settling runs whose supervisor is gone. Only who has a run's lock decides about it, so two never do.

use std::time::Duration;

use anyhow::{Context as _, Result};

use super::{
    event, finish,
    orphan_processes::{self, OrphanProcesses},
    queue_waiter, scheduler,
};
use crate::{
    actions::App,
    domain::{
        EventKind, SessionId,
        job::{Job, JobId, JobResult, JobStatus},
        rules::recovery::{self, RecoveryAction, RecoveryFacts},
    },
    os::{
        host,
        lock::InheritableLock,
        process::{ProcessKey, ProcessStatus},
    },
    store::{ReadTx, jobs, sessions},
    supervisor::JobDir,
};

/// A run that was settled, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The run.
    pub job: JobId,
    /// The session that its messages go to.
    pub session: Option<SessionId>,
    /// What it is now.
    pub status: JobStatus,
    /// Why.
    pub reason: String,
}

impl Recovered {
    /// Whether it was queued again since it was never begun.
    #[must_use]
    pub fn is_unstarted(&self) -> bool {
        self.status == JobStatus::Queued && self.reason == NEVER_STARTED
    }

    /// Whether it stands as it stood, since it could not be settled.
    #[must_use]
    pub fn is_unresolved(&self) -> bool {
        self.status.is_active()
    }
}

/// Settles every run of this host that nobody looks after: completes what has ended, queues what never began, and with the
/// rest does what was asked for. Then begins what may begin. With `dry_run` it gives the same verdicts and writes nothing.
///
/// # Errors
/// As the stores fail.
pub fn recover(app: &App, dry_run: bool) -> Result<Vec<Recovered>> {
    let settled = recover_all(app, dry_run)?;
    // Also when nothing was settled: whoever waited to begin the next one may have been killed.
    if !dry_run {
        scheduler::schedule(app)?;
    }
    Ok(settled)
}

/// The same without beginning anything.
pub(super) fn recover_all(app: &App, dry_run: bool) -> Result<Vec<Recovered>> {
    let host = host::identity();
    let mut settled = Vec::new();
    for run in app.read(|tx| Ok(jobs::active(tx)?))?.iter().filter(|run| run.host == host) {
        let one = if dry_run { preview(app, run) } else { recover_job(app, run, None) };
        // One that cannot be settled is no reason to leave the others.
        let failed = |error| Some(recovered(run, run.status, format!("it could not be settled: {error:#}")));
        settled.extend(one.unwrap_or_else(failed));
    }
    Ok(settled)
}

/// Settles one run when nobody looks after it, and begins what may begin then.
///
/// # Errors
/// As the stores fail.
pub fn recover_one(app: &App, run: &Job) -> Result<Option<Recovered>> {
    let settled = if run.host == host::identity() { recover_job(app, run, None)? } else { None };
    if settled.is_some() {
        scheduler::schedule(app)?;
    }
    Ok(settled)
}

/// Says of every run of this host that nobody looks after how it ended, or that it is lost, whatever was asked for: the store
/// that knows of them was put back, and they may have run on since. Answers how many those are.
///
/// # Errors
/// As the stores fail.
pub fn mark_all_lost(app: &App, why: &str) -> Result<usize> {
    let host = host::identity();
    let mut lost = 0;
    for run in app.read(|tx| Ok(jobs::active(tx)?))?.iter().filter(|run| run.host == host) {
        lost += usize::from(recover_job(app, run, Some(why)).is_ok_and(|settled| settled.is_some()));
    }
    Ok(lost)
}

/// Ends what a run without a supervisor has left running, and says that it was canceled. `false` when somebody looks after
/// it, or it is final.
///
/// # Errors
/// As the stores fail.
pub fn cancel(app: &App, run: &Job, grace: Option<Duration>, why: &str) -> Result<bool> {
    let dir = JobDir::of(&app.project.jobs_dir(), &run.id);
    let Some(right) = try_lock(&dir)? else { return Ok(false) };
    // What was read before the lock may be the past.
    let found = app.read(|tx| Ok(jobs::find(tx, &run.id)?))?.filter(|run| !run.status.is_final());
    let Some(run) = &found else { return Ok(false) };
    let left = kill_orphans(run, grace)?;
    let ending = JobResult {
        status: JobStatus::Canceled,
        exit_code: None,
        signal: None,
        error_message: Some(with_orphans(why, &left)),
    };
    let done = finish::finish_unsupervised(app, run, &ending);
    drop(right);
    done
}

/// The right to decide about a run.
enum RecoveryLock {
    /// Its lock.
    Locked(#[expect(dead_code, reason = "held until it is dropped")] InheritableLock),
    /// Its directory is gone, and its lock with it.
    NoDir,
}

/// Whether the one who is written down as looking after a run lives: also when its lock was deleted, with its directory.
pub(super) fn supervisor_alive(run: &Job) -> bool {
    let keeper = ProcessKey::from_record(run.supervisor_pid, run.supervisor_started, Some(&run.boot_id));
    // Before that it is whoever has taken the run to begin it, and may be busy with something else by now.
    run.status == JobStatus::Running && keeper.is_some_and(|keeper| keeper.status() == ProcessStatus::Alive)
}

/// The right to decide about a run; `None` when somebody has it.
fn try_lock(dir: &JobDir) -> Result<Option<RecoveryLock>> {
    if !dir.path().is_dir() {
        return Ok(Some(RecoveryLock::NoDir));
    }
    let hold = dir.try_lock().with_context(|| format!("cannot lock {}", dir.path().display()))?;
    Ok(hold.map(RecoveryLock::Locked))
}

fn recover_job(app: &App, run: &Job, lost: Option<&str>) -> Result<Option<Recovered>> {
    let dir = JobDir::of(&app.project.jobs_dir(), &run.id);
    if supervisor_alive(run) {
        return Ok(None);
    }
    let Some(right) = try_lock(&dir)? else { return Ok(None) };
    // What was read before the lock may be the past.
    let found = app.read(|tx| {
        let run = jobs::find(tx, &run.id)?.filter(|run| run.status.is_active());
        run.map(|run| facts(tx, &run, &dir).map(|facts| (run, facts))).transpose()
    })?;
    let Some((run, facts)) = found else { return Ok(None) };
    let verdict = recovery::decide(&facts);
    let settled = match (lost, verdict) {
        (Some(why), RecoveryAction::RequeueUnstarted | RecoveryAction::Requeue(_) | RecoveryAction::MarkLost(_)) => {
            mark_lost(app, &run, why)?
        }
        (_, RecoveryAction::MarkLost(why)) => mark_lost(app, &run, why)?,
        (_, RecoveryAction::RecordResult) => finish_recorded(app, &run, &dir)?,
        (None, RecoveryAction::RequeueUnstarted) => record_requeue(app, &run, run.attempt, NEVER_STARTED)?,
        (None, RecoveryAction::Requeue(attempt)) => requeue(app, &run, &dir, attempt)?,
    };
    // The lock first: whoever waits can take it then.
    drop(right);
    dir.notify_waiters();
    queue_waiter::wake(app);
    Ok(settled)
}

const NEVER_STARTED: &str = "its supervisor died before it was begun: it is queued again";

/// What would become of a run.
fn preview(app: &App, run: &Job) -> Result<Option<Recovered>> {
    let dir = JobDir::of(&app.project.jobs_dir(), &run.id);
    if dir.is_locked().unwrap_or(true) || supervisor_alive(run) {
        return Ok(None);
    }
    let facts = app.read(|tx| facts(tx, run, &dir))?;
    let (status, reason) = match recovery::decide(&facts) {
        RecoveryAction::RecordResult => match dir.read_result() {
            Some(ending) => (ending.status, COMPLETED.to_owned()),
            None => return Ok(None),
        },
        RecoveryAction::RequeueUnstarted => (JobStatus::Queued, NEVER_STARTED.to_owned()),
        RecoveryAction::Requeue(attempt) => (JobStatus::Queued, requeue_reason(attempt)),
        RecoveryAction::MarkLost(why) => (JobStatus::Lost, why.to_owned()),
    };
    Ok(Some(recovered(run, status, reason)))
}

const COMPLETED: &str = "it had ended when its supervisor died";

fn requeue_reason(attempt: i64) -> String {
    format!("its supervisor died: it is begun again, as attempt {attempt}")
}

fn recovered(run: &Job, status: JobStatus, reason: String) -> Recovered {
    Recovered { job: run.id.clone(), session: run.session.clone(), status, reason }
}

fn facts(tx: &ReadTx<'_>, run: &Job, dir: &JobDir) -> Result<RecoveryFacts> {
    let session = run.session.as_ref().map(|session| sessions::find(tx, session)).transpose()?.flatten();
    let boot = host::boot_id();
    Ok(RecoveryFacts {
        has_result: dir.read_result().is_some(),
        was_started: dir.has_started(),
        is_starting: run.status == JobStatus::Starting,
        same_boot: !boot.is_empty() && run.boot_id == boot,
        session_ended: session.is_some_and(|session| session.status.is_final()),
        is_startable: dir.start_spec().is_ok_and(|start| start.is_some()),
        attempt: run.attempt,
        policy: run.recovery,
    })
}

fn finish_recorded(app: &App, run: &Job, dir: &JobDir) -> Result<Option<Recovered>> {
    let Some(ending) = dir.read_result() else { return Ok(None) };
    let left = kill_orphans(run, None)?;
    let ending = match (&ending.error_message, left.found.is_empty()) {
        (_, true) => ending,
        (Some(why), _) => JobResult { error_message: Some(with_orphans(why, &left)), ..ending.clone() },
        (None, _) => JobResult { error_message: Some(with_orphans("it left something running", &left)), ..ending },
    };
    record_end(app, run, &ending, COMPLETED)
}

fn mark_lost(app: &App, run: &Job, why: &str) -> Result<Option<Recovered>> {
    let why = with_orphans(why, &kill_orphans(run, None)?);
    let ending = JobResult { status: JobStatus::Lost, exit_code: None, signal: None, error_message: Some(why.clone()) };
    record_end(app, run, &ending, &why)
}

fn record_end(app: &App, run: &Job, ending: &JobResult, why: &str) -> Result<Option<Recovered>> {
    let done = finish::finish_unsupervised(app, run, ending)?;
    Ok(done.then(|| recovered(run, ending.status, why.to_owned())))
}

fn requeue(app: &App, run: &Job, dir: &JobDir, attempt: i64) -> Result<Option<Recovered>> {
    let left = kill_orphans(run, None)?;
    if !left.survivors.is_empty() {
        // Twice at once is worse than not again.
        let why = "its supervisor died, and something of it would not die";
        let why = with_orphans(why, &left);
        let ending =
            JobResult { status: JobStatus::Lost, exit_code: None, signal: None, error_message: Some(why.clone()) };
        return record_end(app, run, &ending, &why);
    }
    let why = with_orphans(&requeue_reason(attempt), &left);
    // Of output that cannot be written nothing is kept; that the run is begun again does not depend on it.
    let _ = finish::append_requeue_marker(app, run, attempt, &why);
    let settled = record_requeue(app, run, attempt, &why)?;
    // Last: were we killed before, the run would count as one that may have run, and not as one that never did.
    dir.clear_started().with_context(|| format!("cannot write in {}", dir.path().display()))?;
    Ok(settled)
}

fn record_requeue(app: &App, run: &Job, attempt: i64, why: &str) -> Result<Option<Recovered>> {
    let done = app.transaction(|tx| {
        if !jobs::requeue(tx, &run.id, attempt)? {
            return Ok(false);
        }
        let run = Job { attempt, ..run.clone() };
        tx.record(
            &event::for_job(EventKind::ExecRecovered, &run)
                .with("status", JobStatus::Queued.as_str())
                .with("reason", why),
        )?;
        Ok(true)
    })?;
    Ok(done.then(|| recovered(run, JobStatus::Queued, why.to_owned())))
}

fn kill_orphans(run: &Job, grace: Option<Duration>) -> Result<OrphanProcesses> {
    // Numbers of another boot are other processes'; marks are not.
    orphan_processes::kill(run, grace).context("what a run left running cannot be ended")
}

fn with_orphans(why: &str, left: &OrphanProcesses) -> String {
    let names = |names: &[String]| names.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
    match (left.found.is_empty(), left.survivors.is_empty()) {
        (true, _) => why.to_owned(),
        (false, true) => format!("{why}; ended what it had left: {}", names(&left.found)),
        (false, false) => format!("{why}; would not die: {}", names(&left.survivors)),
    }
}
