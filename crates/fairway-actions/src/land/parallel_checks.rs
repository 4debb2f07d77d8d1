//! Trees that are checked at once, each by a worker process. Each tree contains the ones before it.

use std::io;
use std::os::fd::AsFd as _;

use anyhow::Result;
use nix::sys::signal::Signal;

use super::check_commands::CommandRun;
use super::check_worker::{CheckJob, Report, take_report};
use crate::App;
use fairway_core::domain::Refusal;
use fairway_core::os::exit_reason::ExitReason;
use fairway_core::os::piped_child::PipedChild;
use fairway_core::os::run_streaming::StreamError;
use fairway_core::os::signals::SignalPipe;
use fairway_core::os::{executable, poll};

#[derive(Debug)]
pub(super) enum TreeResult {
    /// The commands ran until one failed, or all of them passed.
    Ended(Vec<CommandRun>),
    /// The result of another tree made this one unnecessary.
    Cancelled,
}

impl TreeResult {
    /// Whether the tree passes; `None` when it was cancelled.
    pub(super) fn passes(&self) -> Option<bool> {
        match self {
            Self::Ended(runs) => Some(runs.iter().all(CommandRun::passed)),
            Self::Cancelled => None,
        }
    }
}

struct Worker {
    child: PipedChild,
    /// The output that is not a complete report yet.
    written: Vec<u8>,
    errors: Vec<u8>,
    runs: Vec<CommandRun>,
    count: usize,
    failed: Option<String>,
    is_cancelled: bool,
}

impl Worker {
    fn cancel(&mut self, signal: Signal) {
        self.is_cancelled = true;
        self.child.signal(signal);
    }

    /// The result of a worker that has ended. One that ended early without a result is an error.
    fn result(self, exit: ExitReason) -> Result<TreeResult, Refusal> {
        if self.is_cancelled {
            return Ok(TreeResult::Cancelled);
        }
        let is_whole = self.runs.len() == self.count || self.runs.last().is_some_and(|run| !run.passed());
        if exit == ExitReason::Code(0) && self.failed.is_none() && is_whole {
            return Ok(TreeResult::Ended(self.runs));
        }
        let text = String::from_utf8_lossy(&self.errors);
        let ended = || format!("the process that runs the checks ended early: {}", text.trim());
        Err(Refusal::ChecksEnded { why: self.failed.unwrap_or_else(ended) })
    }
}

/// The running workers. When this is dropped, they are ended.
struct Workers(Vec<Option<Worker>>);

impl Drop for Workers {
    fn drop(&mut self) {
        let mut left: Vec<Worker> = self.0.drain(..).flatten().collect();
        for worker in &mut left {
            worker.child.signal(Signal::SIGTERM);
        }
        for mut worker in left {
            while let Ok(arrived) = worker.child.look() {
                if arrived.exit.is_some() {
                    break;
                }
                poll::wait_readable(&worker.child.fds(), None);
            }
        }
    }
}

/// Checks several trees at once, each of which contains the ones before it. When a tree passes, the checks of the trees before
/// it are cancelled, because it contains their work; when a tree fails, those of the trees after it are cancelled. `say` gets
/// lines about the progress. Fails with `interrupted`, `program_failed`.
pub(super) fn check_all(app: &App, jobs: &[CheckJob], say: &dyn Fn(&str)) -> Result<Vec<TreeResult>> {
    let signals =
        SignalPipe::install(&[Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]).map_err(StreamError::Watch)?;
    let mut workers = Workers(Vec::new());
    for job in jobs {
        workers.0.push(Some(start(app, job).map_err(StreamError::Watch)?));
    }
    let mut results: Vec<TreeResult> = jobs.iter().map(|_| TreeResult::Cancelled).collect();
    let mut interrupted = None;
    while workers.0.iter().any(Option::is_some) {
        let mut fds: Vec<_> = workers.0.iter().flatten().flat_map(|worker| worker.child.fds()).collect();
        fds.push(signals.as_fd());
        poll::wait_readable(&fds, None);
        while let Some(signal) = signals.next().map_err(StreamError::Watch)? {
            interrupted.get_or_insert(signal);
            workers.0.iter_mut().flatten().for_each(|worker| worker.cancel(signal));
        }
        for height in 0..jobs.len() {
            let Some(result) = workers.0.get_mut(height).map(|slot| look(slot, say)).transpose()?.flatten() else {
                continue;
            };
            let passes = result.passes();
            for (other, worker) in workers.0.iter_mut().enumerate() {
                let is_decided = passes.is_some_and(|passes| if passes { other < height } else { other > height });
                if let Some(worker) = worker.as_mut().filter(|_| is_decided) {
                    worker.cancel(Signal::SIGTERM);
                }
            }
            if let Some(place) = results.get_mut(height) {
                *place = result;
            }
        }
    }
    match interrupted {
        Some(signal) => Err(StreamError::Interrupted { signal }.into()),
        None => Ok(results),
    }
}

fn start(app: &App, job: &CheckJob) -> io::Result<Worker> {
    let program = executable::current_executable()?;
    let args = ["land".into(), "run-checks".into()];
    let child = PipedChild::spawn(&program, &args, app.env.vars(), &job.dir, &serde_json::to_vec(job)?)?;
    let (written, errors, runs) = (Vec::new(), Vec::new(), Vec::new());
    Ok(Worker { child, written, errors, runs, count: job.steps.len(), failed: None, is_cancelled: false })
}

/// Reads what a worker has written. Returns its result once it has ended.
fn look(slot: &mut Option<Worker>, say: &dyn Fn(&str)) -> Result<Option<TreeResult>> {
    let Some(worker) = slot else { return Ok(None) };
    let mut arrived = worker.child.look().map_err(StreamError::Watch)?;
    let exit = arrived.exit;
    loop {
        // One read may take only a part of a long output.
        let is_last = arrived.stdout.is_empty() || exit.is_none();
        worker.written.append(&mut arrived.stdout);
        worker.errors.append(&mut arrived.stderr);
        if is_last {
            break;
        }
        arrived = worker.child.look().map_err(StreamError::Watch)?;
    }
    while let Some(report) = take_report(&mut worker.written).map_err(StreamError::Watch)? {
        match report {
            Report::Note(_) if worker.is_cancelled => {}
            Report::Note(text) => say(&text),
            Report::Ran(run) => worker.runs.push(run),
            Report::Failed(why) => worker.failed = Some(why),
        }
    }
    let Some(exit) = exit else { return Ok(None) };
    Ok(slot.take().map(|worker| worker.result(exit)).transpose()?)
}
