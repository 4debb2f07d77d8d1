//! Settling what sessions left behind: the dead are marked, the living revived, and what is left alone is reported.
//! Tasks keep status, claimant and epoch.

use std::{collections::BTreeMap, fmt::Write as _, sync::mpsc, thread};

use anyhow::Result;

use crate::{
    actions::{
        Answer, App,
        jobs::{
            gc, notify,
            recover::{self, Recovered},
        },
        sessions::liveness::{
            apply::{apply, should_revive},
            backend_probe::BackendProber,
            facts,
        },
    },
    domain::{
        SessionId, TaskId,
        rules::liveness::{self, Liveness, ProcessObservation},
        session::{Session, SessionStatus},
        task::Task,
    },
    env::Timestamp,
    os::{files, lock::FileLock},
    store::{
        ReadTx, StoreError, sessions,
        tasks::{self, ListScope},
    },
    wire::{ReconcileEntryView, ReconcileView, RecoveredJobView},
};

/// A session and what is made of it.
type Assessment = (Session, Liveness);

/// Looks at every session that is not final, and marks it. With `dry_run` the verdicts are the same and nothing is
/// written. While another one is at work it only says so.
///
/// # Errors
/// As the store fails.
pub fn reconcile(app: &App, dry_run: bool) -> Result<Answer> {
    // A look does not get into anybody's way, and makes no lock file either.
    let lock = if dry_run || !app.project.store.exists() { ReconcileLock::NotNeeded } else { acquire_lock(app)? };
    if matches!(lock, ReconcileLock::Busy) {
        return answer(&ReconcileView { busy: true, ..ReconcileView::default() }, &[], false);
    }
    let runs = recover_jobs(app, dry_run);
    let notes = |braked| warnings(braked, &runs.warnings);
    let now = app.env.now();
    let found = app.read(|tx| Ok(sessions::live(tx)?))?;
    let verdicts = assess_all(app, &found, now);
    let mut judged: Vec<Assessment> = found.into_iter().zip(verdicts).collect();
    let braked = liveness::suppress_mass_stale(judged.iter_mut().map(|(session, verdict)| (&*session, verdict)));
    let settles = |(session, verdict): &Assessment| {
        liveness::should_mark_stale(session, verdict) || should_revive(session, verdict)
    };
    if dry_run || (app.idempotency_key.is_none() && !judged.iter().any(settles)) {
        return app.read(|tx| {
            let held = held_tasks(tx)?;
            let marked: Vec<bool> = judged.iter().map(settles).collect();
            let report = build_report(dry_run, &judged, &marked, &held, &runs, tx)?;
            answer(&report, &notes(braked), false)
        });
    }
    app.mutate(|tx| {
        let held = held_tasks(tx)?;
        let mut marked = Vec::with_capacity(judged.len());
        for (session, verdict) in &judged {
            marked.push(apply(tx, session, verdict)?);
        }
        answer(&build_report(false, &judged, &marked, &held, &runs, tx)?, &notes(braked), true)
    })
}

/// Judges every session. Processes are looked at on the side, while the first answer of a backend is waited for.
fn assess_all(app: &App, sessions: &[Session], now: Timestamp) -> Vec<Liveness> {
    let mut asking = BackendProber::new();
    thread::scope(|scope| {
        let (tell, told) = mpsc::channel();
        scope.spawn(move || sessions.iter().map(facts::process_state).try_for_each(|process| tell.send(process)));
        let judge = |(session, process): (&Session, ProcessObservation)| {
            let backend = asking.probe(app, session, &process, now);
            facts::assess(app, session, &process, &backend, now)
        };
        sessions.iter().zip(told).map(judge).collect()
    })
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

fn held_tasks(tx: &ReadTx<'_>) -> Result<Vec<Task>, StoreError> {
    let mut held = Vec::new();
    tasks::for_each(tx, ListScope::Claimed, |task| {
        held.push(task);
        Ok(true)
    })?;
    Ok(held)
}

/// `settled[n]` says whether the verdict on `judged[n]` took effect, or would.
fn build_report(
    dry_run: bool,
    judged: &[Assessment],
    settled: &[bool],
    held: &[Task],
    runs: &JobRecovery,
    tx: &ReadTx<'_>,
) -> Result<ReconcileView> {
    let runs_recovered = runs
        .recovered
        .iter()
        .map(|run| RecoveredJobView::new(&run.job, run.session.as_ref(), run.status, run.reason.clone()));
    let runs_recovered = runs_recovered.collect();
    let mut report = ReconcileView { dry_run, checked: judged.len(), runs_recovered, ..ReconcileView::default() };
    let mut live = BTreeMap::new();
    for ((session, verdict), settled) in judged.iter().zip(settled) {
        let finding = |why: &str| ReconcileEntryView::new(Some(&session.id), session.task.as_ref(), why);
        let mut runs = session.status != SessionStatus::Stale;
        match verdict {
            Liveness::Stale(_, why) if liveness::should_mark_stale(session, verdict) => {
                if *settled {
                    runs = false;
                    report.stale.push(finding(why));
                } else {
                    report.unknown.push(finding("it changed during the check"));
                }
            }
            Liveness::Live(why) if should_revive(session, verdict) => {
                runs = runs || *settled;
                if *settled {
                    report.revived.push(finding(why));
                }
            }
            Liveness::Unknown(why) => report.unknown.push(finding(why)),
            Liveness::OtherHost(why) => report.skipped.push(finding(why)),
            Liveness::Live(_) | Liveness::Stale(..) | Liveness::Unobservable => {}
        }
        if runs {
            live.insert(&session.id, session);
        }
    }
    report.unattended = find_unattended(tx, held, &live)?;
    Ok(report)
}

/// Held tasks that no live session works on, and live sessions that work on a closed task.
fn find_unattended(
    tx: &ReadTx<'_>,
    held: &[Task],
    live: &BTreeMap<&SessionId, &Session>,
) -> Result<Vec<ReconcileEntryView>, StoreError> {
    let mut found = Vec::new();
    for task in held {
        let Some(claim) = task.state.claim() else { continue };
        let holder = claim.session.as_ref();
        // Its holder, or one that was launched for it meanwhile.
        let attended = holder.is_some_and(|id| live.contains_key(id))
            || live.values().any(|session| session.task.as_ref() == Some(&task.id));
        if attended {
            continue;
        }
        let why = match holder.map(|id| sessions::find(tx, id)).transpose()?.flatten() {
            // A dry run has marked nothing: whoever is not live here would be stale.
            Some(session) if !session.status.is_final() => format!("claimed by {}, which is stale", claim.claimant),
            Some(session) => format!("claimed by {}, which is {}", claim.claimant, session.status),
            None => format!("claimed by {}, which has no session", claim.claimant),
        };
        found.push(ReconcileEntryView::new(holder, Some(&task.id), why));
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

/// What was done about background runs, and what of it failed: sessions are settled all the same.
#[derive(Debug, Default)]
struct JobRecovery {
    recovered: Vec<Recovered>,
    warnings: Vec<String>,
}

/// Settles the runs that nobody looks after, tells sessions what they are owed, and forgets what is not kept any longer.
fn recover_jobs(app: &App, dry_run: bool) -> JobRecovery {
    let mut runs = JobRecovery::default();
    match recover::recover(app, dry_run) {
        Ok(settled) => runs.recovered = settled,
        Err(error) => runs.warnings.push(format!("warning: not all jobs were recovered: {error:#}")),
    }
    if dry_run {
        return runs;
    }
    // What cannot be told now is told by the next one.
    if let Err(error) = notify::send_all_pending(app) {
        runs.warnings.push(format!("warning: pending job notifications were not sent: {error:#}"));
    }
    if let Err(error) = gc::collect(app) {
        runs.warnings.push(format!("warning: not all old jobs were removed: {error:#}"));
    }
    runs
}

fn warnings(braked: bool, failed: &[String]) -> Vec<String> {
    let braked = braked.then(|| {
        "warning: most sessions have no recent heartbeat; the clock may be wrong, so none is marked stale for that reason".to_owned()
    });
    braked.into_iter().chain(failed.iter().cloned()).collect()
}

fn answer(report: &ReconcileView, notes: &[String], wrote: bool) -> Result<Answer> {
    let line =
        if report.busy { "unchanged: another reconcile is running".to_owned() } else { format_report(report, wrote) };
    let ids = report.stale.iter().chain(&report.revived).filter_map(|finding| finding.session_id.clone()).collect();
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
            format!("changed {} of {} sessions", report.stale.len() + report.revived.len(), report.checked)
        }
        (false, false) => format!("unchanged: {} sessions", report.checked),
    };
    for (what, findings) in [
        ("stale", &report.stale),
        ("revived", &report.revived),
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
