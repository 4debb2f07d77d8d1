//! One process that begins queued runs and settles those whose supervisor died. It sleeps until something has happened.

use std::{collections::BTreeMap, fmt::Write as _, os::fd::AsFd, time::Duration};

use anyhow::{Context as _, Result};
use nix::sys::signal::Signal;
use serde_json::json;

use super::{finish, gc, notify, queue_waiter, recover, scheduler};
use crate::{
    actions::{Answer, App},
    domain::job::{Job, JobId, JobResult, JobStatus},
    os::{host, notify::ChangeWaiter, process, signals::SignalPipe, spawn_detached},
    store::{StoreError, jobs},
};

/// How soon to look again at a run that is being handed from one process to another.
const HANDOVER_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How soon to try again to settle a run that could not be.
const RETRY_DELAY: Duration = Duration::from_secs(10);
/// How often a run's supervisor may die before it has begun anything.
const MAX_START_ATTEMPTS: usize = 3;
/// How often in a row the store may fail.
const MAX_STORE_FAILURES: u32 = 6;

/// What a worker has done.
#[derive(Debug, Default)]
struct WorkerState {
    started: usize,
    recovered: Vec<recover::Recovered>,
    start_attempts: BTreeMap<JobId, usize>,
    /// What could not be settled the last time.
    unresolved: Vec<JobId>,
    /// Somebody else had the lock of a run that may begin, and may go without a word.
    is_blocked: bool,
}

/// Begins and settles runs until TERM or INT; with `until_empty` only as long as something is queued. While another worker
/// is at work it only says so.
///
/// # Errors
/// As the store fails, or the directory of locks.
pub fn worker(app: &App, until_empty: bool) -> Result<Answer> {
    let signals = SignalPipe::install(&[Signal::SIGTERM, Signal::SIGINT]).context("signals cannot be caught")?;
    let mut done = WorkerState::default();
    loop {
        let place = queue_waiter::try_acquire(app).map_err(|error| StoreError::io("the worker's lock", error))?;
        let Some(place) = place else {
            queue_waiter::wake(app);
            return done.answer(true);
        };
        // One that was killed has left its socket, and may have had our number.
        let name = format!("{}-{}", std::process::id(), app.env.ids.random_suffix());
        let waiter = ChangeWaiter::bind(&queue_waiter::wake_dir(app), &name).context("the worker cannot be woken")?;
        if !until_empty {
            // What cannot be cleared keeps nothing from being run; `exec gc` says what it is.
            let _ = gc::collect(app);
        }
        // What a supervisor owed when it was killed after the end. It stays owed when it cannot be told now.
        let _ = notify::send_all_pending(app);
        let mut failures = 0;
        loop {
            if signals.next()?.is_some() {
                return done.answer(false);
            }
            waiter.drain()?;
            spawn_detached::reap_children();
            match done.run_once(app) {
                Ok(waits) if until_empty && !waits => break,
                Ok(_) => {
                    failures = 0;
                    let active = app.read(|tx| Ok(jobs::active(tx)?))?;
                    done.sleep(&signals, &waiter, &active);
                }
                // Somebody may hold the store for long, or the disk be full for a while.
                Err(error) => {
                    failures += 1;
                    if failures == MAX_STORE_FAILURES {
                        return Err(error);
                    }
                    spawn_detached::wait_readable(
                        &[signals.as_fd()],
                        Some(HANDOVER_POLL_INTERVAL * 2_u32.pow(failures)),
                    );
                }
            }
        }
        // Who queues a run now may still have seen us: a last look, when we are not there any more.
        drop((waiter, place));
        if !has_work(app)? {
            return done.answer(false);
        }
    }
}

impl WorkerState {
    /// Settles what can be settled and begins what may begin. Says whether something still waits.
    fn run_once(&mut self, app: &App) -> Result<bool> {
        self.unresolved.clear();
        for one in recover::recover_all(app, false)? {
            if one.is_unresolved() {
                self.unresolved.push(one.job.clone());
            }
            if one.is_unstarted() {
                let tries = self.start_attempts.entry(one.job.clone()).or_default();
                *tries += 1;
                if *tries >= MAX_START_ATTEMPTS {
                    stop_retrying(app, &one.job)?;
                }
            }
            // What cannot be settled is tried for ever, and told once.
            if !self.recovered.contains(&one) {
                self.recovered.push(one);
            }
        }
        let begun = scheduler::start_eligible(app)?;
        self.started += begun.count;
        self.is_blocked = begun.is_blocked;
        has_work(app)
    }

    /// Sleeps until somebody calls, a signal comes, or one of those who look after runs of this host has ended.
    fn sleep(&self, signals: &SignalPipe, waiter: &ChangeWaiter, active: &[Job]) {
        let host = host::identity();
        let (mut keepers, mut limit) = (Vec::new(), self.is_blocked.then_some(HANDOVER_POLL_INTERVAL));
        let mut within = |span: Duration| limit = Some(limit.map_or(span, |limit: Duration| limit.min(span)));
        for run in active.iter().filter(|run| run.host == host) {
            if self.unresolved.contains(&run.id) {
                within(RETRY_DELAY);
                continue;
            }
            // Until its supervisor has written itself down it is kept by whoever took it, whose end tells nothing.
            if run.status == JobStatus::Starting {
                within(HANDOVER_POLL_INTERVAL);
                continue;
            }
            let keeper =
                process::ProcessKey::from_record(run.supervisor_pid, run.supervisor_started, Some(&run.boot_id));
            let end = keeper.and_then(|keeper| {
                let end = process::pidfd(keeper.pid).ok().flatten()?;
                // The descriptor first: what is there after it was opened is what it stands for.
                (keeper.status() == process::ProcessStatus::Alive).then_some(end)
            });
            match end {
                Some(end) => keepers.push(end),
                // It died since we looked.
                None => within(HANDOVER_POLL_INTERVAL),
            }
        }
        let mut until = vec![signals.as_fd(), waiter.as_fd()];
        until.extend(keepers.iter().map(AsFd::as_fd));
        spawn_detached::wait_readable(&until, limit);
    }

    fn answer(&self, busy: bool) -> Result<Answer> {
        let recovered: Vec<_> = self
            .recovered
            .iter()
            .map(|one| json!({ "run_id": one.job.to_string(), "status": one.status.as_str(), "reason": one.reason }))
            .collect();
        let document = json!({ "busy": busy, "begun": self.started, "runs_recovered": recovered });
        if busy {
            return Answer::new(&document, "", "unchanged: another worker is at work");
        }
        let mut line = format!("began {} run(s), settled {}", self.started, self.recovered.len());
        for one in &self.recovered {
            let _ = write!(line, "\n  {:<12}{}: {}", one.status.as_str(), one.job, one.reason);
        }
        Answer::new(&document, "", line)
    }
}

/// Whether something of this host is queued, or was taken and may come back: its supervisor has not begun it yet.
fn has_work(app: &App) -> Result<bool> {
    let host = host::identity();
    app.read(|tx| {
        let starts = |run: &Job| run.host == host && run.status == JobStatus::Starting;
        Ok(jobs::first_queued(tx, &host)?.is_some() || jobs::active(tx)?.iter().any(starts))
    })
}

/// A run that would only be tried for ever.
fn stop_retrying(app: &App, id: &JobId) -> Result<()> {
    let Some(run) = app.read(|tx| Ok(jobs::find(tx, id)?))?.filter(|run| run.status == JobStatus::Queued) else {
        return Ok(());
    };
    let why = format!("its supervisor ended {MAX_START_ATTEMPTS} times before it had begun the command");
    let ending = JobResult { status: JobStatus::Failed, exit_code: None, signal: None, error_message: Some(why) };
    finish::finish_unsupervised(app, &run, &ending).map(drop)
}
