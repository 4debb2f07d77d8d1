//! Settling runs whose supervisor is gone. Only who has a run's lock decides about it, so two never do.

use std::time::Duration;

use anyhow::{Context as _, Result};

use super::{
    event, finish,
    orphan_processes::{self, Leftovers},
    queue_waiter, scheduler,
};
use crate::{
    actions::App,
    domain::{
        Kind, SessionId,
        rules::recovery::{self, Facts, Verdict},
        run::{Ending, ExecRun, RunId, RunStatus},
    },
    os::{
        host,
        lock::Hold,
        process::{Presence, ProcessKey},
    },
    store::{ReadTx, exec_runs, sessions},
    supervisor::RunFolder,
};

/// A run that was settled, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The run.
    pub run: RunId,
    /// The session that its messages go to.
    pub session: Option<SessionId>,
    /// What it is now.
    pub status: RunStatus,
    /// Why.
    pub reason: String,
}

impl Recovered {
    /// Whether it was queued again since it was never begun.
    #[must_use]
    pub fn is_unbegun(&self) -> bool {
        self.status == RunStatus::Queued && self.reason == NEVER_BEGUN
    }

    /// Whether it stands as it stood, since it could not be settled.
    #[must_use]
    pub fn is_unsettled(&self) -> bool {
        self.status.is_active()
    }
}

/// Settles every run of this host that nobody looks after: completes what has ended, queues what never began, and with the
/// rest does what was asked for. Then begins what may begin. With `dry_run` it gives the same verdicts and writes nothing.
///
/// # Errors
/// As the stores fail.
pub fn recover(app: &App, dry_run: bool) -> Result<Vec<Recovered>> {
    let settled = settle_all(app, dry_run)?;
    // Also when nothing was settled: whoever waited to begin the next one may have been killed.
    if !dry_run {
        scheduler::start_next(app)?;
    }
    Ok(settled)
}

/// The same without beginning anything.
pub(super) fn settle_all(app: &App, dry_run: bool) -> Result<Vec<Recovered>> {
    let host = host::identity();
    let mut settled = Vec::new();
    for run in app.read(|tx| Ok(exec_runs::active(tx)?))?.iter().filter(|run| run.host == host) {
        let one = if dry_run { judged(app, run) } else { settle(app, run, None) };
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
pub fn settle_one(app: &App, run: &ExecRun) -> Result<Option<Recovered>> {
    let settled = if run.host == host::identity() { settle(app, run, None)? } else { None };
    if settled.is_some() {
        scheduler::start_next(app)?;
    }
    Ok(settled)
}

/// Says of every run of this host that nobody looks after how it ended, or that it is lost, whatever was asked for: the store
/// that knows of them was put back, and they may have run on since. Answers how many those are.
///
/// # Errors
/// As the stores fail.
pub fn lose_all(app: &App, why: &str) -> Result<usize> {
    let host = host::identity();
    let mut lost = 0;
    for run in app.read(|tx| Ok(exec_runs::active(tx)?))?.iter().filter(|run| run.host == host) {
        lost += usize::from(settle(app, run, Some(why)).is_ok_and(|settled| settled.is_some()));
    }
    Ok(lost)
}

/// Ends what a run without a supervisor has left running, and says that it was canceled. `false` when somebody looks after
/// it, or it is final.
///
/// # Errors
/// As the stores fail.
pub fn cancel(app: &App, run: &ExecRun, grace: Option<Duration>, why: &str) -> Result<bool> {
    let folder = RunFolder::of(&app.project.runs(), &run.id);
    let Some(right) = right(&folder)? else { return Ok(false) };
    // What was read before the lock may be the past.
    let found = app.read(|tx| Ok(exec_runs::find(tx, &run.id)?))?.filter(|run| !run.status.is_final());
    let Some(run) = &found else { return Ok(false) };
    let left = kill(run, grace)?;
    let ending = Ending {
        status: RunStatus::Canceled,
        exit_code: None,
        signal: None,
        error_message: Some(with_leftovers(why, &left)),
    };
    let done = finish::outside(app, run, &ending);
    drop(right);
    done
}

/// The right to decide about a run.
enum Right {
    /// Its lock.
    Held(#[expect(dead_code, reason = "held until it is dropped")] Hold),
    /// Its folder is gone, and its lock with it.
    Folderless,
}

/// Whether the one who is written down as looking after a run lives: also when its lock was deleted, with its folder.
pub(super) fn is_kept(run: &ExecRun) -> bool {
    let keeper = ProcessKey::recorded(run.keeper_pid, run.keeper_started, Some(&run.boot_id));
    // Before that it is whoever has taken the run to begin it, and may be busy with something else by now.
    run.status == RunStatus::Running && keeper.is_some_and(|keeper| keeper.presence() == Presence::Alive)
}

/// The right to decide about a run; `None` when somebody has it.
fn right(folder: &RunFolder) -> Result<Option<Right>> {
    if !folder.path().is_dir() {
        return Ok(Some(Right::Folderless));
    }
    let hold = folder.hold().with_context(|| format!("cannot lock {}", folder.path().display()))?;
    Ok(hold.map(Right::Held))
}

fn settle(app: &App, run: &ExecRun, lost: Option<&str>) -> Result<Option<Recovered>> {
    let folder = RunFolder::of(&app.project.runs(), &run.id);
    if is_kept(run) {
        return Ok(None);
    }
    let Some(right) = right(&folder)? else { return Ok(None) };
    // What was read before the lock may be the past.
    let found = app.read(|tx| {
        let run = exec_runs::find(tx, &run.id)?.filter(|run| run.status.is_active());
        run.map(|run| facts(tx, &run, &folder).map(|facts| (run, facts))).transpose()
    })?;
    let Some((run, facts)) = found else { return Ok(None) };
    let verdict = recovery::judge(&facts);
    let settled = match (lost, verdict) {
        (Some(why), Verdict::Again | Verdict::Requeue(_) | Verdict::Lost(_)) => lose(app, &run, why)?,
        (_, Verdict::Lost(why)) => lose(app, &run, why)?,
        (_, Verdict::Complete) => complete(app, &run, &folder)?,
        (None, Verdict::Again) => put_back(app, &run, run.attempt, NEVER_BEGUN)?,
        (None, Verdict::Requeue(attempt)) => run_again(app, &run, &folder, attempt)?,
    };
    // The lock first: whoever waits can take it then.
    drop(right);
    folder.wake();
    queue_waiter::wake(app);
    Ok(settled)
}

const NEVER_BEGUN: &str = "its supervisor died before it was begun: it is queued again";

/// What would become of a run.
fn judged(app: &App, run: &ExecRun) -> Result<Option<Recovered>> {
    let folder = RunFolder::of(&app.project.runs(), &run.id);
    if folder.is_held().unwrap_or(true) || is_kept(run) {
        return Ok(None);
    }
    let facts = app.read(|tx| facts(tx, run, &folder))?;
    let (status, reason) = match recovery::judge(&facts) {
        Verdict::Complete => match folder.ended() {
            Some(ending) => (ending.status, COMPLETED.to_owned()),
            None => return Ok(None),
        },
        Verdict::Again => (RunStatus::Queued, NEVER_BEGUN.to_owned()),
        Verdict::Requeue(attempt) => (RunStatus::Queued, requeued(attempt)),
        Verdict::Lost(why) => (RunStatus::Lost, why.to_owned()),
    };
    Ok(Some(recovered(run, status, reason)))
}

const COMPLETED: &str = "it had ended when its supervisor died";

fn requeued(attempt: i64) -> String {
    format!("its supervisor died: it is begun again, as attempt {attempt}")
}

fn recovered(run: &ExecRun, status: RunStatus, reason: String) -> Recovered {
    Recovered { run: run.id.clone(), session: run.session.clone(), status, reason }
}

fn facts(tx: &ReadTx<'_>, run: &ExecRun, folder: &RunFolder) -> Result<Facts> {
    let session = run.session.as_ref().map(|session| sessions::find(tx, session)).transpose()?.flatten();
    let boot = host::boot_id();
    Ok(Facts {
        ended: folder.ended().is_some(),
        begun: folder.has_begun(),
        starting: run.status == RunStatus::Starting,
        same_boot: !boot.is_empty() && run.boot_id == boot,
        session_over: session.is_some_and(|session| session.status.is_final()),
        startable: folder.start().is_ok_and(|start| start.is_some()),
        attempt: run.attempt,
        policy: run.recovery,
    })
}

fn complete(app: &App, run: &ExecRun, folder: &RunFolder) -> Result<Option<Recovered>> {
    let Some(ending) = folder.ended() else { return Ok(None) };
    let left = kill(run, None)?;
    let ending = match (&ending.error_message, left.found.is_empty()) {
        (_, true) => ending,
        (Some(why), _) => Ending { error_message: Some(with_leftovers(why, &left)), ..ending.clone() },
        (None, _) => Ending { error_message: Some(with_leftovers("it left something running", &left)), ..ending },
    };
    write_end(app, run, &ending, COMPLETED)
}

fn lose(app: &App, run: &ExecRun, why: &str) -> Result<Option<Recovered>> {
    let why = with_leftovers(why, &kill(run, None)?);
    let ending = Ending { status: RunStatus::Lost, exit_code: None, signal: None, error_message: Some(why.clone()) };
    write_end(app, run, &ending, &why)
}

fn write_end(app: &App, run: &ExecRun, ending: &Ending, why: &str) -> Result<Option<Recovered>> {
    let done = finish::outside(app, run, ending)?;
    Ok(done.then(|| recovered(run, ending.status, why.to_owned())))
}

fn run_again(app: &App, run: &ExecRun, folder: &RunFolder, attempt: i64) -> Result<Option<Recovered>> {
    let left = kill(run, None)?;
    if !left.left.is_empty() {
        // Twice at once is worse than not again.
        let why = "its supervisor died, and something of it would not die";
        let why = with_leftovers(why, &left);
        let ending =
            Ending { status: RunStatus::Lost, exit_code: None, signal: None, error_message: Some(why.clone()) };
        return write_end(app, run, &ending, &why);
    }
    let why = with_leftovers(&requeued(attempt), &left);
    // Of output that cannot be written nothing is kept; that the run is begun again does not depend on it.
    let _ = finish::seam(app, run, attempt, &why);
    let settled = put_back(app, run, attempt, &why)?;
    // Last: were we killed before, the run would count as one that may have run, and not as one that never did.
    folder.forget_begun().with_context(|| format!("cannot write in {}", folder.path().display()))?;
    Ok(settled)
}

fn put_back(app: &App, run: &ExecRun, attempt: i64, why: &str) -> Result<Option<Recovered>> {
    let done = app.write(|tx| {
        if !exec_runs::put_back(tx, &run.id, attempt)? {
            return Ok(false);
        }
        let run = ExecRun { attempt, ..run.clone() };
        tx.record(
            &event::event(Kind::ExecRecovered, &run).with("status", RunStatus::Queued.as_str()).with("reason", why),
        )?;
        Ok(true)
    })?;
    Ok(done.then(|| recovered(run, RunStatus::Queued, why.to_owned())))
}

fn kill(run: &ExecRun, grace: Option<Duration>) -> Result<Leftovers> {
    // Numbers of another boot are other processes'; marks are not.
    orphan_processes::kill(run, grace).context("what a run left running cannot be ended")
}

fn with_leftovers(why: &str, left: &Leftovers) -> String {
    let names = |names: &[String]| names.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
    match (left.found.is_empty(), left.left.is_empty()) {
        (true, _) => why.to_owned(),
        (false, true) => format!("{why}; ended what it had left: {}", names(&left.found)),
        (false, false) => format!("{why}; would not die: {}", names(&left.left)),
    }
}
