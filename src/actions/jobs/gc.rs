//! Deletes finished jobs beyond the configured age, number or size.

use anyhow::Result;

use super::{cleanup, rm};
use crate::{
    actions::{Answer, App},
    domain::{
        job::JobId,
        plural,
        rules::retention::{self, Finished, Limits},
    },
    store::jobs,
    wire::JobGcView,
};

/// Jobs deleted in one transaction.
const BATCH_SIZE: usize = 100;
/// The garbage collection is considered at the end of every 32nd job.
const GC_EVERY_JOBS: i64 = 32;

/// The jobs that were deleted, or would be.
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
    cleanup::remove_stale(app)?;
    Ok(collected)
}

/// Runs [`collect`] at the end of every 32nd job, if a cheap check finds a limit exceeded. Errors are ignored: the next run
/// tries again.
pub fn gc_if_due(app: &App, seq: i64) {
    if seq % GC_EVERY_JOBS != 0 {
        return;
    }
    let settings = &app.settings.jobs;
    let many = i64::try_from(settings.keep_runs).unwrap_or(i64::MAX);
    let due = app.read(|tx| {
        let (count, first) = jobs::count_finished(tx)?;
        let old = settings.keep_for.zip(first).is_some_and(|(age, first)| app.env.now().since(first) > age);
        Ok(old || count > many || settings.keep_bytes.is_some())
    });
    if due.unwrap_or(false) {
        let _ = collect(app);
    }
}

fn plan(app: &App) -> Result<GcReport> {
    let settings = &app.settings.jobs;
    let limits = Limits { age: settings.keep_for, count: settings.keep_runs, bytes: settings.keep_bytes };
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
