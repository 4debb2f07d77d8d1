//! Settling runs whose supervisor is gone. Only who has a run's lock decides about it, so two never do.

use std::time::Duration;

use anyhow::{Context as _, Result};

use super::{
    event, finish,
    orphan_processes::{self, OrphanProcesses},
    queue_waiter, scheduler,
    supervision::supervisor_alive,
};
use crate::{
    actions::App,
    domain::{
        EventKind, SessionId,
        job::{Job, JobId, JobResult, JobStatus},
        rules::recovery::{self, RecoveryAction, RecoveryFacts},
    },
    os::{host, lock::InheritableLock},
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
    for job in app.read(|tx| Ok(jobs::active(tx)?))?.iter().filter(|job| job.host == host) {
        let one = if dry_run { preview(app, job) } else { recover_job(app, job, None) };
        // One that cannot be settled is no reason to leave the others.
        let failed = |error| Some(recovered(job, job.status, format!("it could not be settled: {error:#}")));
        settled.extend(one.unwrap_or_else(failed));
    }
    Ok(settled)
}

/// Settles one run when nobody looks after it, and begins what may begin then.
///
/// # Errors
/// As the stores fail.
pub fn recover_one(app: &App, job: &Job) -> Result<Option<Recovered>> {
    let settled = if job.host == host::identity() { recover_job(app, job, None)? } else { None };
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
    for job in app.read(|tx| Ok(jobs::active(tx)?))?.iter().filter(|job| job.host == host) {
        lost += usize::from(recover_job(app, job, Some(why)).is_ok_and(|settled| settled.is_some()));
    }
    Ok(lost)
}

/// Ends what a run without a supervisor has left running, and says that it was canceled. `false` when somebody looks after
/// it, or it is final.
///
/// # Errors
/// As the stores fail.
pub fn cancel(app: &App, job: &Job, grace: Option<Duration>, why: &str) -> Result<bool> {
    let dir = JobDir::of(&app.project.jobs_dir(), &job.id);
    let Some(right) = try_lock(&dir)? else { return Ok(false) };
    // What was read before the lock may be the past.
    let found = app.read(|tx| Ok(jobs::find(tx, &job.id)?))?.filter(|job| !job.status.is_final());
    let Some(job) = &found else { return Ok(false) };
    let left = kill_orphans(job, grace)?;
    let ending = JobResult::without_exit(JobStatus::Canceled, with_orphans(why, &left));
    let done = finish::finish_unsupervised(app, job, &ending);
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

/// The right to decide about a run; `None` when somebody has it.
fn try_lock(dir: &JobDir) -> Result<Option<RecoveryLock>> {
    if !dir.path().is_dir() {
        return Ok(Some(RecoveryLock::NoDir));
    }
    let hold = dir.try_lock().with_context(|| format!("cannot lock {}", dir.path().display()))?;
    Ok(hold.map(RecoveryLock::Locked))
}

fn recover_job(app: &App, job: &Job, lost: Option<&str>) -> Result<Option<Recovered>> {
    let dir = JobDir::of(&app.project.jobs_dir(), &job.id);
    if supervisor_alive(job) {
        return Ok(None);
    }
    let Some(right) = try_lock(&dir)? else { return Ok(None) };
    // What was read before the lock may be the past.
    let found = app.read(|tx| {
        let job = jobs::find(tx, &job.id)?.filter(|job| job.status.is_active());
        job.map(|job| facts(tx, &job, &dir).map(|facts| (job, facts))).transpose()
    })?;
    let Some((job, facts)) = found else { return Ok(None) };
    let verdict = recovery::decide(&facts);
    let settled = match (lost, verdict) {
        (Some(why), RecoveryAction::RequeueUnstarted | RecoveryAction::Requeue(_) | RecoveryAction::MarkLost(_)) => {
            mark_lost(app, &job, why)?
        }
        (_, RecoveryAction::MarkLost(why)) => mark_lost(app, &job, why)?,
        (_, RecoveryAction::RecordResult) => finish_recorded(app, &job, &dir)?,
        (None, RecoveryAction::RequeueUnstarted) => record_requeue(app, &job, job.attempt, NEVER_STARTED)?,
        (None, RecoveryAction::Requeue(attempt)) => requeue(app, &job, &dir, attempt)?,
    };
    // The lock first: whoever waits can take it then.
    drop(right);
    dir.notify_waiters();
    queue_waiter::wake(app);
    Ok(settled)
}

const NEVER_STARTED: &str = "its supervisor died before it was begun: it is queued again";

/// What would become of a run.
fn preview(app: &App, job: &Job) -> Result<Option<Recovered>> {
    let dir = JobDir::of(&app.project.jobs_dir(), &job.id);
    if dir.is_locked().unwrap_or(true) || supervisor_alive(job) {
        return Ok(None);
    }
    let facts = app.read(|tx| facts(tx, job, &dir))?;
    let (status, reason) = match recovery::decide(&facts) {
        RecoveryAction::RecordResult => match dir.read_result() {
            Some(ending) => (ending.status, COMPLETED.to_owned()),
            None => return Ok(None),
        },
        RecoveryAction::RequeueUnstarted => (JobStatus::Queued, NEVER_STARTED.to_owned()),
        RecoveryAction::Requeue(attempt) => (JobStatus::Queued, requeue_reason(attempt)),
        RecoveryAction::MarkLost(why) => (JobStatus::Lost, why.to_owned()),
    };
    Ok(Some(recovered(job, status, reason)))
}

const COMPLETED: &str = "it had ended when its supervisor died";

fn requeue_reason(attempt: i64) -> String {
    format!("its supervisor died: it is begun again, as attempt {attempt}")
}

fn recovered(job: &Job, status: JobStatus, reason: String) -> Recovered {
    Recovered { job: job.id.clone(), session: job.session.clone(), status, reason }
}

fn facts(tx: &ReadTx<'_>, job: &Job, dir: &JobDir) -> Result<RecoveryFacts> {
    let session = job.session.as_ref().map(|session| sessions::find(tx, session)).transpose()?.flatten();
    let boot = host::boot_id();
    Ok(RecoveryFacts {
        has_result: dir.read_result().is_some(),
        was_started: dir.has_started(),
        is_starting: job.status == JobStatus::Starting,
        same_boot: !boot.is_empty() && job.boot_id == boot,
        session_ended: session.is_some_and(|session| session.status.is_final()),
        is_startable: dir.start_spec().is_ok_and(|start| start.is_some()),
        attempt: job.attempt,
        policy: job.recovery,
    })
}

fn finish_recorded(app: &App, job: &Job, dir: &JobDir) -> Result<Option<Recovered>> {
    let Some(ending) = dir.read_result() else { return Ok(None) };
    let left = kill_orphans(job, None)?;
    let ending = match (&ending.error_message, left.found.is_empty()) {
        (_, true) => ending,
        (Some(why), _) => JobResult { error_message: Some(with_orphans(why, &left)), ..ending.clone() },
        (None, _) => JobResult { error_message: Some(with_orphans("it left something running", &left)), ..ending },
    };
    record_end(app, job, &ending, COMPLETED)
}

fn mark_lost(app: &App, job: &Job, why: &str) -> Result<Option<Recovered>> {
    let why = with_orphans(why, &kill_orphans(job, None)?);
    let ending = JobResult::without_exit(JobStatus::Lost, &why);
    record_end(app, job, &ending, &why)
}

fn record_end(app: &App, job: &Job, ending: &JobResult, why: &str) -> Result<Option<Recovered>> {
    let done = finish::finish_unsupervised(app, job, ending)?;
    Ok(done.then(|| recovered(job, ending.status, why.to_owned())))
}

fn requeue(app: &App, job: &Job, dir: &JobDir, attempt: i64) -> Result<Option<Recovered>> {
    let left = kill_orphans(job, None)?;
    if !left.survivors.is_empty() {
        // Twice at once is worse than not again.
        let why = "its supervisor died, and something of it would not die";
        let why = with_orphans(why, &left);
        let ending = JobResult::without_exit(JobStatus::Lost, &why);
        return record_end(app, job, &ending, &why);
    }
    let why = with_orphans(&requeue_reason(attempt), &left);
    // Of output that cannot be written nothing is kept; that the run is begun again does not depend on it.
    let _ = finish::append_requeue_marker(app, job, attempt, &why);
    let settled = record_requeue(app, job, attempt, &why)?;
    // Last: were we killed before, the run would count as one that may have run, and not as one that never did.
    dir.clear_started().with_context(|| format!("cannot write in {}", dir.path().display()))?;
    Ok(settled)
}

fn record_requeue(app: &App, job: &Job, attempt: i64, why: &str) -> Result<Option<Recovered>> {
    let done = app.transaction(|tx| {
        if !jobs::requeue(tx, &job.id, attempt)? {
            return Ok(false);
        }
        let job = Job { attempt, ..job.clone() };
        tx.record(
            &event::for_job(EventKind::ExecRecovered, &job)
                .with("status", JobStatus::Queued.as_str())
                .with("reason", why),
        )?;
        Ok(true)
    })?;
    Ok(done.then(|| recovered(job, JobStatus::Queued, why.to_owned())))
}

fn kill_orphans(job: &Job, grace: Option<Duration>) -> Result<OrphanProcesses> {
    // Numbers of another boot are other processes'; marks are not.
    orphan_processes::kill(job, grace).context("what a run left running cannot be ended")
}

fn with_orphans(why: &str, left: &OrphanProcesses) -> String {
    let names = |names: &[String]| names.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
    match (left.found.is_empty(), left.survivors.is_empty()) {
        (true, _) => why.to_owned(),
        (false, true) => format!("{why}; ended what it had left: {}", names(&left.found)),
        (false, false) => format!("{why}; would not die: {}", names(&left.survivors)),
    }
}
