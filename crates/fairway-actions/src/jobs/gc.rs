//! Deletes finished jobs beyond the configured age, number or size.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::rm;
use crate::{Answer, App};
use fairway_core::domain::job::{JobId, JobStatus};
use fairway_core::domain::plural;
use fairway_core::domain::rules::retention::{self, Finished, Limits};
use fairway_core::env::Timestamp;
use fairway_core::store::jobs;
use fairway_core::supervisor::JobDir;
use fairway_core::wire::JobGcView;

/// Jobs deleted in one transaction.
const BATCH_SIZE: usize = 100;
/// Finished jobs that are kept.
const MAX_FINISHED: usize = 10_000;
/// After how many jobs a garbage collection is considered.
const GC_EVERY_JOBS: i64 = 32;

#[derive(Debug, Default)]
pub struct GcReport {
    pub jobs: Vec<JobId>,
    /// Freed bytes; in a dry run the upper limit.
    pub bytes: u64,
}

/// Deletes the jobs that exceed the retention limits. With `dry_run` it only lists them.
pub fn gc(app: &App, dry_run: bool) -> Result<Answer> {
    let collected = if dry_run { plan(app)? } else { collect(app)? };
    let ids: Vec<String> = collected.jobs.iter().map(ToString::to_string).collect();
    let document = JobGcView { dry_run, removed: ids.clone(), bytes: collected.bytes };
    let line = match (dry_run, ids.len()) {
        (_, 0) => "unchanged: no job exceeds the limits".to_owned(),
        (true, count) => format!("would remove {}, at most {} bytes", plural::count(count, "job"), collected.bytes),
        (false, count) => format!("removed {}, {} bytes", plural::count(count, "job"), collected.bytes),
    };
    Ok(Answer { ids, ..Answer::new(&document, "", line)? })
}

/// Deletes the jobs that exceed the retention limits, and files that killed processes left.
pub fn collect(app: &App) -> Result<GcReport> {
    let due = plan(app)?.jobs;
    let mut collected = GcReport::default();
    for some in due.chunks(BATCH_SIZE) {
        let removed = app.transaction(|tx| {
            let mut removed = Vec::new();
            for id in some {
                if let Some(job) = jobs::find(tx, id)?
                    && rm::delete_row(tx, &job)?
                {
                    removed.push(job.id);
                }
            }
            Ok(removed)
        })?;
        collected.bytes += rm::delete_files(app, &removed)?;
        collected.jobs.extend(removed);
    }
    remove_stale(app)?;
    Ok(collected)
}

/// Runs [`collect`] at the end of every 32nd job, if a quick check finds a limit exceeded. Errors are ignored: a later run tries
/// again.
pub fn gc_if_due(app: &App, seq: i64) {
    if seq % GC_EVERY_JOBS != 0 {
        return;
    }
    let settings = &app.settings.jobs;
    let due = app.read(|tx| {
        let (count, first) = jobs::count_finished(tx)?;
        let old = settings.keep_for.zip(first).is_some_and(|(age, first)| app.env.now().since(first) > age);
        Ok(old || usize::try_from(count).is_ok_and(|count| count > MAX_FINISHED) || settings.keep_bytes.is_some())
    });
    if due.unwrap_or(false) {
        let _ = collect(app);
    }
}

fn plan(app: &App) -> Result<GcReport> {
    let settings = &app.settings.jobs;
    let limits = Limits { age: settings.keep_for, count: MAX_FINISHED, bytes: settings.keep_bytes };
    let kept = app.read(|tx| Ok(jobs::finished_sizes(tx)?))?;
    let found: Vec<Finished> = kept
        .iter()
        .map(|(_, at, bytes)| Finished { at: *at, bytes: u64::try_from(*bytes).unwrap_or_default() })
        .collect();
    let due = retention::surplus(&found, &limits, app.env.now());
    Ok(GcReport {
        jobs: kept.iter().take(due).map(|(id, ..)| id.clone()).collect(),
        bytes: found.iter().take(due).map(|job| job.bytes).sum(),
    })
}

/// The minimum age of an orphaned directory: a younger one may belong to a job that is being spawned.
const MIN_AGE: Duration = Duration::from_secs(60);

/// Removes the start files of final jobs and the directories that belong to no job. When one directory cannot be removed, the
/// others are removed nevertheless.
pub(super) fn remove_stale(app: &App) -> Result<()> {
    let known: BTreeMap<JobId, JobStatus> = app.read(|tx| Ok(jobs::all(tx)?))?.into_iter().collect();
    let mut done = Ok(());
    for (id, path, is_fresh) in job_dirs(app) {
        let dir = JobDir::of(&app.project.jobs_dir(), &id);
        let is_left = match known.get(&id) {
            // A queued job's start file is still needed; its lock belongs to the process that starts it.
            Some(status) => status.is_final() && dir.has_start_spec(),
            None => !is_fresh,
        };
        if !is_left {
            continue;
        }
        let cleared = clean_dir(app, &dir, &id).with_context(|| format!("cannot clean up {}", path.display()));
        done = done.and(cleared);
    }
    done
}

fn clean_dir(app: &App, dir: &JobDir, id: &JobId) -> Result<()> {
    let Some(_hold) = dir.try_lock()? else { return Ok(()) };
    match app.read(|tx| Ok(jobs::find(tx, id)?))? {
        Some(job) if job.status.is_final() => Ok(dir.remove_start_spec()?),
        Some(_) => Ok(()),
        None => rm::delete_files(app, std::slice::from_ref(id)).map(drop),
    }
}

/// Job directories without a row in the store, except those that a process has locked or may be creating now.
pub(crate) fn orphan_dirs(app: &App, known: &BTreeMap<JobId, JobStatus>) -> Vec<(JobId, PathBuf)> {
    let is_left = |(id, _, is_fresh): &(JobId, PathBuf, bool)| {
        let dir = JobDir::of(&app.project.jobs_dir(), id);
        !known.contains_key(id) && !is_fresh && dir.is_locked().is_ok_and(|held| !held)
    };
    job_dirs(app).into_iter().filter(is_left).map(|(id, path, _)| (id, path)).collect()
}

/// All job directories, each with a flag that says whether it may still be in creation.
fn job_dirs(app: &App) -> Vec<(JobId, PathBuf, bool)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(app.project.jobs_dir()).into_iter().flatten().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| JobId::parse(name).ok()) else { continue };
        let made = entry.metadata().ok().and_then(|found| found.modified().ok()).and_then(Timestamp::from_system_time);
        let is_fresh = made.is_none_or(|at| app.env.now().since(at) < MIN_AGE);
        found.push((id, entry.path(), is_fresh));
    }
    found.sort();
    found
}
