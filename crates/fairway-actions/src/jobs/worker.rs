//! The worker: one process that starts queued jobs and recovers those whose supervisor died. It sleeps until it is woken.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::fd::AsFd;
use std::time::Duration;

use anyhow::{Context as _, Result};
use nix::sys::signal::Signal;

use super::own_process::KeptRoot;
use super::{finish, gc, notify, queue_waiter, recover, scheduler};
use crate::{Answer, App};
use fairway_core::domain::job::{Job, JobId, JobStatus};
use fairway_core::domain::plural;
use fairway_core::os::notify::ChangeWaiter;
use fairway_core::os::signals::SignalPipe;
use fairway_core::os::{host, poll, process, session_leader};
use fairway_core::store::{StoreError, jobs};
use fairway_core::supervisor::JobDir;
use fairway_core::wire::{JobWorkerView, SettledJobView};

/// Poll interval while a job is handed from one process to another.
const HANDOVER_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Poll interval while another worker runs: the release of a lock wakes no process.
const TURN_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Delay before a failed recovery is tried again.
const RETRY_DELAY: Duration = Duration::from_secs(10);
/// How many supervisors of a job may die before its command started.
const MAX_START_ATTEMPTS: usize = 3;
/// Consecutive store errors after which the worker exits.
const MAX_STORE_FAILURES: u32 = 6;

#[derive(Debug, Default)]
struct WorkerState {
    started: usize,
    recovered: Vec<recover::Recovered>,
    start_attempts: BTreeMap<JobId, usize>,
    /// Jobs whose recovery failed in the last round.
    unresolved: Vec<JobId>,
    /// Whether another process has the lock of the next job. That process may exit without a wake-up, so the job is polled.
    is_blocked: bool,
}

/// Starts and recovers jobs until it gets TERM or INT; with `until_empty` only while jobs are queued. While another worker runs,
/// it waits until that one ends; with `until_empty` it exits instead, and the answer says so.
pub fn worker(app: &App, until_empty: bool) -> Result<Answer> {
    let signals = SignalPipe::install(&[Signal::SIGTERM, Signal::SIGINT]).context("cannot install signal handlers")?;
    let (root, mut state) = (KeptRoot::of(app), WorkerState::default());
    let mut moved: Option<App> = None;
    'turns: loop {
        let app = moved.as_ref().unwrap_or(app);
        let lock = queue_waiter::try_acquire(app).map_err(|error| StoreError::io("the worker's lock", error))?;
        let Some(lock) = lock else {
            queue_waiter::wake(app);
            if until_empty || signals.next()?.is_some() {
                return state.answer(true);
            }
            poll::wait_readable(&[signals.as_fd()], Some(TURN_POLL_INTERVAL));
            continue;
        };
        // A random suffix: a killed worker with the same pid may have left its socket.
        let name = format!("{}-{}", std::process::id(), app.env.ids.random_suffix());
        let waiter = ChangeWaiter::bind(&queue_waiter::wake_dir(app), &name)
            .context("cannot bind the worker's wake-up socket")?;
        if !until_empty {
            // Errors are ignored: they must not stop jobs, and `exec gc` reports them.
            let _ = gc::collect(app);
        }
        // Notifications of supervisors that were killed after the job's end. They stay pending if this fails.
        let _ = notify::send_all_pending(app);
        let mut failures = 0;
        loop {
            if signals.next()?.is_some() {
                return state.answer(false);
            }
            waiter.drain()?;
            session_leader::reap_children();
            match state.run_once(app) {
                Ok(has_work) if until_empty && !has_work => break,
                Ok(_) => {
                    failures = 0;
                    let active = app.read(|tx| Ok(jobs::active(tx)?))?;
                    state.sleep(app, &signals, &waiter, &active);
                }
                // The store may be locked, or the disk full, for a while.
                Err(error) => {
                    if let Some(now) = root.moved(app) {
                        drop((waiter, lock));
                        moved = Some(now);
                        continue 'turns;
                    }
                    failures += 1;
                    if failures == MAX_STORE_FAILURES {
                        return Err(error);
                    }
                    poll::wait_readable(&[signals.as_fd()], Some(HANDOVER_POLL_INTERVAL * 2_u32.pow(failures)));
                }
            }
        }
        // A process that queues a job now may have seen this lock and not started a waiter. So check again without the lock.
        drop((waiter, lock));
        if !has_work(app)? {
            return state.answer(false);
        }
    }
}

impl WorkerState {
    /// Recovers and starts jobs once. Returns whether there is work left.
    fn run_once(&mut self, app: &App) -> Result<bool> {
        self.unresolved.clear();
        for recovered in recover::recover_all(app, false)? {
            if recovered.is_unresolved() {
                self.unresolved.push(recovered.job.clone());
            }
            if recovered.is_unstarted() {
                let tries = self.start_attempts.entry(recovered.job.clone()).or_default();
                *tries += 1;
                if *tries >= MAX_START_ATTEMPTS {
                    stop_retrying(app, &recovered.job)?;
                }
            }
            // A failed recovery is repeated, but reported once.
            if !self.recovered.contains(&recovered) {
                self.recovered.push(recovered);
            }
        }
        let started = scheduler::start_eligible(app)?;
        self.started += started.count;
        self.is_blocked = started.is_blocked;
        has_work(app)
    }

    /// Sleeps until a wake-up, a signal or the end of a supervisor of this host.
    fn sleep(&self, app: &App, signals: &SignalPipe, waiter: &ChangeWaiter, active: &[Job]) {
        let host = host::identity();
        let (mut supervisors, mut limit) = (Vec::new(), self.is_blocked.then_some(HANDOVER_POLL_INTERVAL));
        let mut within = |span: Duration| limit = Some(limit.map_or(span, |limit: Duration| limit.min(span)));
        for job in active.iter().filter(|job| host.owns(&job.host, job.host_id.as_deref())) {
            if self.unresolved.contains(&job.id) {
                within(RETRY_DELAY);
                continue;
            }
            // The recorded process of a starting job is the one that claimed it; its end tells nothing about the job.
            if job.status == JobStatus::Starting {
                // One that has a supervisor may wait long for its turn.
                let is_held = JobDir::of(&app.project.jobs_dir(), &job.id).is_locked().unwrap_or(false);
                within(if is_held { TURN_POLL_INTERVAL } else { HANDOVER_POLL_INTERVAL });
                continue;
            }
            let supervisor =
                process::ProcessKey::from_record(job.supervisor_pid, job.supervisor_started, Some(&job.boot_id));
            let end = supervisor.and_then(|supervisor| {
                let end = process::pidfd(supervisor.pid).ok().flatten()?;
                // Checked after the pidfd is open: only then the pid cannot be reused.
                (supervisor.status() == process::ProcessStatus::Alive).then_some(end)
            });
            match end {
                Some(end) => supervisors.push(end),
                // It died since the jobs were read.
                None => within(HANDOVER_POLL_INTERVAL),
            }
        }
        let mut until = vec![signals.as_fd(), waiter.as_fd()];
        until.extend(supervisors.iter().map(AsFd::as_fd));
        poll::wait_readable(&until, limit);
    }

    fn answer(&self, busy: bool) -> Result<Answer> {
        let recovered: Vec<_> = self
            .recovered
            .iter()
            .map(|job| SettledJobView { run_id: job.job.to_string(), status: job.status, reason: job.reason.clone() })
            .collect();
        let document = JobWorkerView { busy, begun: self.started, runs_recovered: recovered };
        if busy {
            return Answer::new(&document, "", "unchanged: another worker is running");
        }
        let mut line = format!("started {}, recovered {}", plural::count(self.started, "job"), self.recovered.len());
        for job in &self.recovered {
            let _ = write!(line, "\n  {:<12}{}: {}", job.status.as_str(), job.job, job.reason);
        }
        Answer::new(&document, "", line)
    }
}

/// Whether a job of this host is queued or starting. A starting job is requeued if its supervisor dies.
fn has_work(app: &App) -> Result<bool> {
    let host = host::identity();
    app.read(|tx| {
        let is_starting = |job: &Job| host.owns(&job.host, job.host_id.as_deref()) && job.status == JobStatus::Starting;
        Ok(jobs::first_queued(tx, &host)?.is_some() || jobs::active(tx)?.iter().any(is_starting))
    })
}

/// Fails a job that would be requeued endlessly.
fn stop_retrying(app: &App, id: &JobId) -> Result<()> {
    let Some(job) = app.read(|tx| Ok(jobs::find(tx, id)?))?.filter(|job| job.status == JobStatus::Queued) else {
        return Ok(());
    };
    let why = format!("its supervisor died {MAX_START_ATTEMPTS} times before the command started");
    finish::finish_without_exit(app, &job, JobStatus::Failed, why).map(drop)
}
