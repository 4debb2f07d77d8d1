//! Recovers jobs whose supervisor died. The holder of a job's lock decides about it, so two processes never do.

use std::time::Duration;

use anyhow::{Context as _, Result};

use super::orphan_processes::{self, OrphanProcesses};
use super::supervision::supervisor_alive;
use super::{event, finish, queue_waiter, scheduler};
use crate::App;
use crate::core::last_heard::{LastHeard, Subject};
use crate::core::other_host;
use fairway_core::domain::job::{Job, JobId, JobResult, JobStatus};
use fairway_core::domain::rules::recovery::{self, RecoveryAction, RecoveryFacts};
use fairway_core::domain::{EventKind, Refusal, RoutingKey};
use fairway_core::os::host;
use fairway_core::os::lock::InheritableLock;
use fairway_core::store::{ReadTx, jobs};
use fairway_core::supervisor::JobDir;

/// A job that was recovered, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    pub job: JobId,
    /// The session that gets the job's notifications.
    pub session: Option<RoutingKey>,
    pub status: JobStatus,
    pub reason: String,
}

impl Recovered {
    /// Whether the job was put back into its queue because it never started.
    pub fn is_unstarted(&self) -> bool {
        self.status == JobStatus::Queued && self.reason == NEVER_STARTED
    }

    /// Whether the job is unchanged because its recovery failed.
    pub fn is_unresolved(&self) -> bool {
        self.status.is_active()
    }
}

/// Recovers all jobs of this host that have no supervisor: finishes those that ended, requeues those that never started, and
/// applies the recovery policy to the others. Then starts the jobs that may start. With `dry_run` it makes the same decisions
/// and writes nothing.
pub fn recover(app: &App, dry_run: bool) -> Result<Vec<Recovered>> {
    let recovered = recover_all(app, dry_run)?;
    // Also if no job was recovered: the queue waiter may have been killed.
    if !dry_run {
        scheduler::schedule(app)?;
    }
    Ok(recovered)
}

/// Like [`recover`], without starting a job.
pub(super) fn recover_all(app: &App, dry_run: bool) -> Result<Vec<Recovered>> {
    let host = host::identity();
    let mut all = Vec::new();
    for job in app.read(|tx| Ok(jobs::active(tx)?))?.iter().filter(|job| host.owns(&job.host, job.host_id.as_deref())) {
        let result = if dry_run { preview(app, job) } else { recover_job(app, job, None) };
        // A job that cannot be recovered must not stop the others.
        let failed = |error| Some(recovered(job, job.status, format!("recovery failed: {error:#}")));
        all.extend(result.unwrap_or_else(failed));
    }
    Ok(all)
}

/// Recovers a job if it has no supervisor, then starts the jobs that may start. Returns `None`, without a change, when the job
/// has a supervisor, is final or belongs to another host.
pub fn recover_one(app: &App, job: &Job) -> Result<Option<Recovered>> {
    let recovered =
        if host::identity().owns(&job.host, job.host_id.as_deref()) { recover_job(app, job, None)? } else { None };
    if recovered.is_some() {
        scheduler::schedule(app)?;
    }
    Ok(recovered)
}

/// Records the end of every job of this host without a supervisor, whatever its recovery policy says: with the result that its
/// supervisor left, else as `lost`. For a restored store, whose jobs may have run on since the backup. Returns the number of
/// jobs.
pub fn mark_all_lost(app: &App, why: &str) -> Result<usize> {
    let host = host::identity();
    let mut lost = 0;
    for job in app.read(|tx| Ok(jobs::active(tx)?))?.iter().filter(|job| host.owns(&job.host, job.host_id.as_deref())) {
        lost += usize::from(recover_job(app, job, Some(why)).is_ok_and(|recovered| recovered.is_some()));
    }
    Ok(lost)
}

/// Kills the processes of a job without a supervisor and records it as canceled. Returns `false` when the job has a
/// supervisor, is final or does not exist.
pub fn cancel(app: &App, job: &Job, grace: Option<Duration>, why: &str) -> Result<bool> {
    let dir = JobDir::of(&app.project.jobs_dir(), &job.id);
    let Some(lock) = try_lock(&dir)? else { return Ok(false) };
    // Read again: it may have changed before the lock was taken.
    let found = app.read(|tx| Ok(jobs::find(tx, &job.id)?))?.filter(|job| !job.status.is_final());
    let Some(job) = &found else { return Ok(false) };
    let left = kill_orphans(job, grace)?;
    let done = finish::finish_without_exit(app, job, JobStatus::Canceled, with_orphans(why, &left));
    drop(lock);
    done
}

/// Records a job of another host or container as lost, if no process has its lock. Its processes cannot be checked from here:
/// the caller states that they are gone, and must give a reason while the host still writes to the store. Does nothing for a
/// job of this host, and for one that is not active.
///
/// # Errors
/// `host_alive` without a reason; `in_use` while a process has the lock; store errors.
pub fn give_up_elsewhere(app: &App, job: &Job, why: Option<&str>) -> Result<()> {
    if !job.status.is_active() || host::identity().owns(&job.host, job.host_id.as_deref()) {
        return Ok(());
    }
    let dir = JobDir::of(&app.project.jobs_dir(), &job.id);
    let Some(lock) = try_lock(&dir)? else {
        let by = format!("its supervisor runs on {}", job.host);
        return Err(Refusal::InUse { noun: "run", id: job.id.to_string(), by }.into());
    };
    let now = app.store_for_reading()?.time(app.env.now())?;
    let (heard, there) = app.read(|tx| {
        let there = other_host::find(tx, &job.host, job.host_id.as_deref())?;
        Ok((LastHeard::of_job(tx, job, now)?, there.command(&["exec", "kill", &job.id.to_string()])))
    })?;
    let subject = Subject {
        name: format!("the job {}", job.id),
        recorded: &job.host,
        there: Some(there),
        force: format!("fairway exec rm --force --reason TEXT {}", job.id),
    };
    heard.refuse_recent(app, why.is_some(), subject)?;
    let reason = heard.reason(app, why);
    finish::finish_without_exit(app, job, JobStatus::Lost, reason)?;
    drop(lock);
    dir.notify_waiters();
    queue_waiter::wake(app);
    Ok(())
}

/// The exclusive right to recover a job.
enum RecoveryLock {
    Locked(#[expect(dead_code, reason = "held until it is dropped")] InheritableLock),
    /// The job's directory, and the lock with it, does not exist.
    NoDir,
}

/// Acquires the right to recover a job; `None` when another process has it.
fn try_lock(dir: &JobDir) -> Result<Option<RecoveryLock>> {
    if !dir.path().is_dir() {
        return Ok(Some(RecoveryLock::NoDir));
    }
    let lock = dir.try_lock().with_context(|| format!("cannot lock {}", dir.path().display()))?;
    Ok(lock.map(RecoveryLock::Locked))
}

fn recover_job(app: &App, job: &Job, lost: Option<&str>) -> Result<Option<Recovered>> {
    let dir = JobDir::of(&app.project.jobs_dir(), &job.id);
    if supervisor_alive(job) {
        return Ok(None);
    }
    let Some(lock) = try_lock(&dir)? else { return Ok(None) };
    // Read again: it may have changed before the lock was taken.
    let found = app.read(|tx| {
        let job = jobs::find(tx, &job.id)?.filter(|job| job.status.is_active());
        job.map(|job| facts(tx, &job, &dir).map(|facts| (job, facts))).transpose()
    })?;
    let Some((job, facts)) = found else { return Ok(None) };
    let action = recovery::decide(&facts);
    let recovered = match (lost, action) {
        (Some(why), RecoveryAction::RequeueUnstarted | RecoveryAction::Requeue(_) | RecoveryAction::MarkLost(_)) => {
            mark_lost(app, &job, why)?
        }
        (_, RecoveryAction::MarkLost(why)) => mark_lost(app, &job, why)?,
        (_, RecoveryAction::RecordResult) => finish_recorded(app, &job, &dir)?,
        (None, RecoveryAction::RequeueUnstarted) => record_requeue(app, &job, job.attempt, NEVER_STARTED)?,
        (None, RecoveryAction::Requeue(attempt)) => requeue(app, &job, &dir, attempt)?,
    };
    // Released first: the processes woken below need the lock.
    drop(lock);
    dir.notify_waiters();
    queue_waiter::wake(app);
    Ok(recovered)
}

const NEVER_STARTED: &str = "its supervisor died before the command started; requeued";

/// The recovery that [`recover_job`] would make.
fn preview(app: &App, job: &Job) -> Result<Option<Recovered>> {
    let dir = JobDir::of(&app.project.jobs_dir(), &job.id);
    if dir.is_locked().unwrap_or(true) || supervisor_alive(job) {
        return Ok(None);
    }
    let facts = app.read(|tx| facts(tx, job, &dir))?;
    let (status, reason) = match recovery::decide(&facts) {
        RecoveryAction::RecordResult => match dir.read_result() {
            Some(result) => (result.status, COMPLETED.to_owned()),
            None => return Ok(None),
        },
        RecoveryAction::RequeueUnstarted => (JobStatus::Queued, NEVER_STARTED.to_owned()),
        RecoveryAction::Requeue(attempt) => (JobStatus::Queued, requeue_reason(attempt)),
        RecoveryAction::MarkLost(why) => (JobStatus::Lost, why.to_owned()),
    };
    Ok(Some(recovered(job, status, reason)))
}

const COMPLETED: &str = "it had ended before its supervisor died";

fn requeue_reason(attempt: i64) -> String {
    format!("its supervisor died; requeued as attempt {attempt}")
}

fn recovered(job: &Job, status: JobStatus, reason: String) -> Recovered {
    Recovered { job: job.id.clone(), session: job.session.clone(), status, reason }
}

fn facts(tx: &ReadTx<'_>, job: &Job, dir: &JobDir) -> Result<RecoveryFacts> {
    let session = event::session_of(tx, job)?;
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
    let Some(result) = dir.read_result() else { return Ok(None) };
    let left = kill_orphans(job, None)?;
    let result = match (&result.error_message, left.found.is_empty()) {
        (_, true) => result,
        (Some(why), _) => JobResult { error_message: Some(with_orphans(why, &left)), ..result.clone() },
        (None, _) => JobResult { error_message: Some(with_orphans("it left processes running", &left)), ..result },
    };
    record_end(app, job, &result, COMPLETED)
}

fn mark_lost(app: &App, job: &Job, why: &str) -> Result<Option<Recovered>> {
    let why = with_orphans(why, &kill_orphans(job, None)?);
    let result = JobResult::without_exit(JobStatus::Lost, &why);
    record_end(app, job, &result, &why)
}

fn record_end(app: &App, job: &Job, result: &JobResult, why: &str) -> Result<Option<Recovered>> {
    let done = finish::finish_unsupervised(app, job, result)?;
    Ok(done.then(|| recovered(job, result.status, why.to_owned())))
}

fn requeue(app: &App, job: &Job, dir: &JobDir, attempt: i64) -> Result<Option<Recovered>> {
    let left = kill_orphans(job, None)?;
    if !left.survivors.is_empty() {
        // A job that runs twice at the same time is worse than a lost one.
        let why = "its supervisor died; not requeued";
        let why = with_orphans(why, &left);
        let result = JobResult::without_exit(JobStatus::Lost, &why);
        return record_end(app, job, &result, &why);
    }
    let why = with_orphans(&requeue_reason(attempt), &left);
    // The marker is optional: an error of the output store must not prevent the requeue.
    let _ = finish::append_requeue_marker(app, job, attempt, &why);
    let recovered = record_requeue(app, job, attempt, &why)?;
    // Last: after a crash before this line the job counts as started, and is not requeued as one that never started.
    dir.clear_started().with_context(|| format!("cannot write in {}", dir.path().display()))?;
    Ok(recovered)
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
    // Pids of an earlier boot belong to other processes; environment tags stay valid.
    orphan_processes::kill(job, grace).context("cannot kill the remaining processes of the job")
}

fn with_orphans(why: &str, left: &OrphanProcesses) -> String {
    let names = |names: &[String]| names.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
    match (left.found.is_empty(), left.survivors.is_empty()) {
        (true, _) => why.to_owned(),
        (false, true) => format!("{why}; killed its remaining processes: {}", names(&left.found)),
        (false, false) => format!("{why}; cannot kill: {}", names(&left.survivors)),
    }
}
