//! Reconciling the store with reality: exited sessions become stale, live ones are revived, everything else is reported.
//! Tasks keep status, claimant and epoch.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::mpsc;
use std::thread;

use anyhow::Result;

use crate::board::silent_hosts::{self, SilentHosts};
use crate::jobs::recover::{self, Recovered};
use crate::jobs::{gc, notify};
use crate::land;
use crate::sessions::liveness::apply::{apply, should_revive};
use crate::sessions::liveness::backend_probe::BackendProber;
use crate::sessions::liveness::facts;
use crate::sessions::prompt;
use crate::sessions::report::idle_screen::{self, ScreenVerdict};
use crate::{Answer, App};
use fairway_core::adapters;
use fairway_core::adapters::plumbing::SessionDir;
use fairway_core::domain::rules::staleness::{self, BackendObservation, Liveness, ProcessObservation, StaleCause};
use fairway_core::domain::session::{Session, SessionStatus};
use fairway_core::domain::task::Task;
use fairway_core::domain::{SessionId, TaskId};
use fairway_core::env::Timestamp;
use fairway_core::os::files;
use fairway_core::os::lock::FileLock;
use fairway_core::store::tasks::{self, ListScope};
use fairway_core::store::{ReadTx, StoreError, sessions};
use fairway_core::wire::{ReconcileEntryView, ReconcileView, RecoveredJobView};

type Assessment = (Session, Liveness);

/// Checks every session that is not final and records the result. With `dry_run` it makes the same decisions and writes nothing.
/// While another reconcile is running it does nothing, and the answer says so.
pub fn reconcile(app: &App, dry_run: bool) -> Result<Answer> {
    // A dry run takes no lock, and a missing store is not created for one.
    let lock =
        if dry_run || app.store_for_reading()?.is_missing() { ReconcileLock::NotNeeded } else { acquire_lock(app)? };
    if matches!(lock, ReconcileLock::Busy) {
        return answer(&ReconcileView { busy: true, ..ReconcileView::default() }, &[], false);
    }
    if !dry_run && let Some(dir) = adapters::state_dir(&app.env) {
        let _ = SessionDir::forget_abandoned_starts(&dir, false);
    }
    // Read before this host writes to the store, which counts as a sign that it is alive.
    let silent_hosts = silent_hosts::find(app)?;
    if !dry_run {
        // Without an answer of the forge everything else is still reconciled.
        let _ = land::start_sync(app);
        if app.settings.store.is_on_server() {
            app.transaction(|_| Ok(()))?;
        }
        app.count_future_times_from_now()?;
    }
    let jobs = recover_jobs(app, dry_run);
    let notes = |is_suppressed| warnings(is_suppressed, &silent_hosts, &jobs.warnings);
    let now = app.store_for_reading()?.time(app.env.now())?;
    let found = app.read(|tx| Ok(sessions::live(tx)?))?;
    let (verdicts, outputs): (Vec<Liveness>, Vec<Option<Timestamp>>) =
        assess_all(app, &found, now, dry_run).into_iter().unzip();
    record_outputs(app, &found, &outputs)?;
    let idle = if dry_run { Vec::new() } else { look_at_screens(app, &found)? };
    let mut assessed: Vec<Assessment> = found.into_iter().zip(verdicts).collect();
    leave_undecided(&mut assessed, &silent_hosts);
    let is_counted = |session: &Session| {
        let is_of = |ids: &BTreeSet<String>| session.host_id.as_ref().is_some_and(|id| ids.contains(id));
        !is_of(&silent_hosts.ids) && !is_of(&silent_hosts.undecided)
    };
    let counted = assessed.iter_mut().filter(|(session, _)| is_counted(session));
    let is_suppressed = staleness::suppress_mass_stale(counted.map(|(session, verdict)| (&*session, verdict)));
    let changes = |(session, verdict): &Assessment| {
        staleness::should_mark_stale(session, verdict) || should_revive(session, verdict)
    };
    if dry_run || (app.idempotency_key.is_none() && !assessed.iter().any(changes)) {
        return app.read(|tx| {
            let claimed = claimed_tasks(tx)?;
            let marked: Vec<bool> = assessed.iter().map(changes).collect();
            let wrote = !idle.is_empty();
            let report = ReconcileView { idle, ..build_report(dry_run, &assessed, &marked, &claimed, &jobs, tx)? };
            answer(&report, &notes(is_suppressed), wrote)
        });
    }
    app.mutate(|tx| {
        let claimed = claimed_tasks(tx)?;
        let mut marked = Vec::with_capacity(assessed.len());
        for (session, verdict) in &assessed {
            marked.push(apply(tx, session, verdict)?);
        }
        let report = ReconcileView { idle, ..build_report(false, &assessed, &marked, &claimed, &jobs, tx)? };
        answer(&report, &notes(is_suppressed), true)
    })
}

/// Makes sessions unknown, and not stale, whose host is silent and may not be judged yet.
fn leave_undecided(assessed: &mut [Assessment], silent_hosts: &SilentHosts) {
    let Some(reason) = silent_hosts.why() else { return };
    for (session, verdict) in assessed {
        if session.host_id.as_ref().is_some_and(|id| silent_hosts.undecided.contains(id))
            && let Liveness::Stale(StaleCause::NoHeartbeat, why) = verdict
        {
            *verdict = Liveness::Unknown(format!("{why}; {reason}"));
        }
    }
}

/// Judges every session, with the time of its last output where its backend knows it; a dry run does not ask for that. A
/// second thread reads the process states while the backends are queried.
fn assess_all(app: &App, sessions: &[Session], now: Timestamp, dry_run: bool) -> Vec<(Liveness, Option<Timestamp>)> {
    let mut prober = BackendProber::new();
    thread::scope(|scope| {
        let (send, observed) = mpsc::channel();
        scope.spawn(move || sessions.iter().map(facts::process_state).try_for_each(|process| send.send(process)));
        let judge = |(session, process): (&Session, ProcessObservation)| {
            let backend = prober.probe(app, session, &process, now);
            let runs = backend == BackendObservation::Alive && !dry_run;
            let last_output = if runs { prober.last_output(app, session) } else { None };
            (facts::assess(app, session, &process, &backend, now), last_output)
        };
        sessions.iter().zip(observed).map(judge).collect()
    })
}

/// Records the times of the last output that differ from the stored ones.
fn record_outputs(app: &App, sessions: &[Session], outputs: &[Option<Timestamp>]) -> Result<()> {
    let news: Vec<(&Session, Timestamp)> = sessions
        .iter()
        .zip(outputs)
        .filter(|(session, output)| **output != session.last_output_at)
        .filter_map(|(session, output)| Some((session, (*output)?)))
        .collect();
    if news.is_empty() {
        return Ok(());
    }
    app.transaction(|tx| news.iter().try_for_each(|(session, at)| Ok(sessions::set_last_output(tx, session, *at)?)))
}

/// Records which sessions are idle by their screen, and delivers their waiting prompts.
fn look_at_screens(app: &App, sessions: &[Session]) -> Result<Vec<ReconcileEntryView>> {
    let mut idle = Vec::new();
    for session in app.read(|tx| idle_screen::candidates(tx, sessions))? {
        if idle_screen::look(app, &session.id)? == ScreenVerdict::Idle {
            // A prompt that cannot be delivered stays queued.
            let _ = prompt::deliver(app, &session.id);
            let why = "its screen shows no work and stands still";
            idle.push(ReconcileEntryView::new(Some(&session.id), session.task.as_ref(), why));
        }
    }
    Ok(idle)
}

enum ReconcileLock {
    NotNeeded,
    Acquired(#[expect(dead_code, reason = "held until it is dropped")] FileLock),
    Busy,
}

fn acquire_lock(app: &App) -> Result<ReconcileLock> {
    let runtime = app.project.runtime_dir();
    let path = runtime.join("reconcile.lock");
    let lock = || {
        files::private_dir(&app.project.state)?;
        files::private_dir(&runtime)?;
        FileLock::try_acquire(&path)
    };
    let lock = lock().map_err(|error| StoreError::io(path.display().to_string(), error))?;
    Ok(lock.map_or(ReconcileLock::Busy, ReconcileLock::Acquired))
}

fn claimed_tasks(tx: &ReadTx<'_>) -> Result<Vec<Task>, StoreError> {
    let mut claimed = Vec::new();
    tasks::for_each(tx, ListScope::Claimed, |task| {
        claimed.push(task);
        Ok(true)
    })?;
    Ok(claimed)
}

/// `changed[n]` says whether the verdict of `assessed[n]` was written; in a dry run whether it would be.
fn build_report(
    dry_run: bool,
    assessed: &[Assessment],
    changed: &[bool],
    claimed: &[Task],
    jobs: &JobRecovery,
    tx: &ReadTx<'_>,
) -> Result<ReconcileView> {
    let runs_recovered = jobs
        .recovered
        .iter()
        .map(|run| RecoveredJobView::new(&run.job, run.session.as_ref(), run.status, run.reason.clone()));
    let runs_recovered = runs_recovered.collect();
    let mut report = ReconcileView { dry_run, checked: assessed.len(), runs_recovered, ..ReconcileView::default() };
    let mut live = BTreeMap::new();
    for ((session, verdict), changed) in assessed.iter().zip(changed) {
        let finding = |why: &str| ReconcileEntryView::new(Some(&session.id), session.task.as_ref(), why);
        let mut is_live = session.status != SessionStatus::Stale;
        match verdict {
            Liveness::Stale(_, why) if staleness::should_mark_stale(session, verdict) => {
                if *changed {
                    is_live = false;
                    report.stale.push(finding(why));
                } else {
                    report.unknown.push(finding("it changed during the check"));
                }
            }
            Liveness::Live(why) if should_revive(session, verdict) => {
                is_live = is_live || *changed;
                if *changed {
                    report.revived.push(finding(why));
                }
            }
            Liveness::Unknown(why) => report.unknown.push(finding(why)),
            Liveness::OtherHost(why) => report.skipped.push(finding(why)),
            Liveness::Live(_) | Liveness::Stale(..) | Liveness::Unobservable => {}
        }
        if is_live {
            live.insert(&session.id, session);
        }
    }
    report.unattended = find_unattended(tx, claimed, &live)?;
    Ok(report)
}

/// Claimed tasks that no live session works on, and live sessions that work on a closed task.
fn find_unattended(
    tx: &ReadTx<'_>,
    claimed: &[Task],
    live: &BTreeMap<&SessionId, &Session>,
) -> Result<Vec<ReconcileEntryView>, StoreError> {
    let mut found = Vec::new();
    for task in claimed {
        let Some(claim) = task.state.claim() else { continue };
        // A person works without a session.
        let Some(claimant) = claim.session.as_ref() else { continue };
        // Its claimant, or a session that was launched for the task meanwhile.
        let attended =
            live.contains_key(claimant) || live.values().any(|session| session.task.as_ref() == Some(&task.id));
        if attended {
            continue;
        }
        let why = match sessions::find(tx, claimant)? {
            // A dry run has marked nothing: a session that is not live here would be stale.
            Some(session) if !session.status.is_final() => format!("claimed by {}, which is stale", claim.claimant),
            Some(session) => format!("claimed by {}, which is {}", claim.claimant, session.status),
            None => format!("claimed by {}, which has no session", claim.claimant),
        };
        found.push(ReconcileEntryView::new(Some(claimant), Some(&task.id), why));
    }
    for session in live.values() {
        let task: Option<&TaskId> = session.task.as_ref();
        if let Some(task) = task.map(|id| tasks::find(tx, id)).transpose()?.flatten()
            && task.state.status().is_closed()
        {
            let why = format!("{} is {}, but its session is still running", task.id, task.state.status());
            found.push(ReconcileEntryView::new(Some(&session.id), Some(&task.id), why));
        }
    }
    Ok(found)
}

/// The recovered jobs, and the warnings of failed steps: sessions are reconciled all the same.
#[derive(Debug, Default)]
struct JobRecovery {
    recovered: Vec<Recovered>,
    warnings: Vec<String>,
}

/// Recovers jobs without a supervisor, sends pending notifications, and removes jobs whose retention has ended.
fn recover_jobs(app: &App, dry_run: bool) -> JobRecovery {
    let mut jobs = JobRecovery::default();
    match recover::recover(app, dry_run) {
        Ok(recovered) => jobs.recovered = recovered,
        Err(error) => jobs.warnings.push(format!("warning: not all jobs were recovered: {error:#}")),
    }
    if dry_run {
        return jobs;
    }
    // The next reconcile sends what cannot be sent now.
    if let Err(error) = notify::send_all_pending(app) {
        jobs.warnings.push(format!("warning: pending job notifications were not sent: {error:#}"));
    }
    if let Err(error) = gc::collect(app) {
        jobs.warnings.push(format!("warning: not all old jobs were removed: {error:#}"));
    }
    jobs
}

fn warnings(is_suppressed: bool, silent_hosts: &SilentHosts, failed: &[String]) -> Vec<String> {
    let is_suppressed = is_suppressed.then(|| {
        "warning: most sessions have no recent heartbeat; the clock may be wrong, so none is marked stale for that reason".to_owned()
    });
    let undecided = silent_hosts.why().map(|why| format!("warning: {why}: fairway session reconcile"));
    is_suppressed.into_iter().chain(undecided).chain(failed.iter().cloned()).collect()
}

fn answer(report: &ReconcileView, notes: &[String], wrote: bool) -> Result<Answer> {
    let line =
        if report.busy { "unchanged: another reconcile is running".to_owned() } else { format_report(report, wrote) };
    let ids = report
        .stale
        .iter()
        .chain(&report.revived)
        .chain(&report.idle)
        .filter_map(|finding| finding.session_id.clone())
        .collect();
    let mut answer = Answer::new(report, "", line)?;
    answer.ids = ids;
    answer.notes = notes.to_vec();
    Ok(answer)
}

fn format_report(report: &ReconcileView, wrote: bool) -> String {
    let mut text = match (report.dry_run, wrote || !report.runs_recovered.is_empty()) {
        (true, _) => {
            format!("would change {} of {} sessions", report.stale.len() + report.revived.len(), report.checked)
        }
        (false, true) => {
            let changed = report.stale.len() + report.revived.len() + report.idle.len();
            let recovered = match report.runs_recovered.len() {
                0 => String::new(),
                1 => ", recovered 1 job".to_owned(),
                count => format!(", recovered {count} jobs"),
            };
            format!("changed {changed} of {} sessions{recovered}", report.checked)
        }
        (false, false) => format!("unchanged: {} sessions", report.checked),
    };
    for (what, findings) in [
        ("stale", &report.stale),
        ("revived", &report.revived),
        ("idle", &report.idle),
        ("unknown", &report.unknown),
        ("skipped", &report.skipped),
        ("unattended", &report.unattended),
    ] {
        for finding in findings {
            let about: Vec<&str> =
                [&finding.session_id, &finding.task_id].into_iter().flatten().map(String::as_str).collect();
            let _ = write!(text, "\n  {what:<12}{}: {}", about.join(" "), finding.reason);
        }
    }
    for run in &report.runs_recovered {
        let _ = write!(text, "\n  {:<12}{}: {}", "job", run.run_id, run.reason);
    }
    text
}
