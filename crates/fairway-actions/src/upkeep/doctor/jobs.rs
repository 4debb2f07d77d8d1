//! Findings of `doctor` about jobs.

use std::collections::BTreeMap;

use anyhow::Result;

use super::findings::{FIX_COMMAND, display_path, io_error};
use crate::App;
use crate::jobs::{gc, rm, supervision};
use fairway_core::domain::finding::{Finding, Severity};
use fairway_core::domain::job::{JobId, JobStatus};
use fairway_core::domain::plural;
use fairway_core::os::host;
use fairway_core::store::job_output::OutputStore;
use fairway_core::store::{ReadTx, jobs};
use fairway_core::supervisor::JobDir;

/// The maximum number of findings of one kind.
const MAX_PER_KIND: usize = 20;

/// Findings about jobs and their output, and a note with the number and size of all jobs.
pub(super) fn find(app: &App, tx: &ReadTx<'_>) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    let known: BTreeMap<JobId, JobStatus> = jobs::all(tx)?.into_iter().collect();
    let host = host::identity();
    for job in jobs::active(tx)?.iter().take(MAX_PER_KIND) {
        if !host.owns(&job.host, job.host_id.as_deref()) {
            let message =
                format!("job {} is {} on host {}; it cannot be checked from this host", job.id, job.status, job.host);
            found.push(Finding::new("run_elsewhere", Severity::Note, message));
        } else if !supervision::is_supervised(app, job) {
            let message = format!("job {} is {} and has no supervisor", job.id, job.status);
            let finding = Finding::new("run_unsupervised", Severity::Warning, message);
            found.push(finding.with_fix("fairway session reconcile"));
        }
    }
    let elsewhere = jobs::elsewhere(tx, &host)?;
    // The directory of another host's job is there.
    let missing = known.keys().filter(|id| !elsewhere.contains(*id));
    let missing = missing.filter(|id| !JobDir::of(&app.project.jobs_dir(), id).path().is_dir());
    for id in missing.take(MAX_PER_KIND) {
        let message = format!("the directory of job {id} is missing; its output is lost");
        let fix = match known.get(id) {
            Some(status) if status.is_final() => format!("fairway exec rm {id}"),
            _ => format!("fairway exec kill {id}"),
        };
        found.push(Finding::new("run_folder_missing", Severity::Warning, message).with_fix(fix));
    }
    for (_, path) in gc::orphan_dirs(app, &known).into_iter().take(MAX_PER_KIND) {
        let message = format!("{} belongs to no job", display_path(app, &path));
        found.push(Finding::new("run_folder_left", Severity::Warning, message).with_fix(FIX_COMMAND));
    }
    check_output(app, &mut found);
    if !known.is_empty() {
        let finished = known.values().filter(|status| status.is_final()).count();
        let bytes: u64 = known.keys().map(|id| rm::dir_size(&JobDir::of(&app.project.jobs_dir(), id))).sum();
        let jobs = plural::count(known.len(), "job");
        let message = format!("{jobs}, {finished} of them finished, with {} KiB of files", bytes.div_ceil(1024));
        found.push(Finding::new("runs", Severity::Note, message));
    }
    Ok(found)
}

fn check_output(app: &App, found: &mut Vec<Finding>) {
    let faults = match OutputStore::open_for_reading(&app.project.output_file()) {
        Ok(None) => return,
        Ok(Some(output)) => output.integrity_errors().unwrap_or_else(|error| vec![error.to_string()]),
        Err(error) => vec![error.to_string()],
    };
    for fault in faults {
        let message = format!("job output cannot be read: {fault}");
        let path = display_path(app, &app.project.output_file());
        let fix = format!("end all jobs, then move {path} away; a new one is created");
        found.push(Finding::new("output_damaged", Severity::Error, message).with_fix(fix));
    }
}

/// Removes directories that belong to no job, with their rows in the output store.
pub(super) fn fix(app: &App, findings: &mut Vec<Finding>) -> Result<()> {
    let Ok(known) = app.read(|tx| Ok(jobs::all(tx)?)) else { return Ok(()) };
    let known = known.into_iter().collect();
    for (id, path) in gc::orphan_dirs(app, &known) {
        let dir = JobDir::of(&app.project.jobs_dir(), &id);
        let lock = dir.try_lock().map_err(|error| io_error(&path, error))?;
        if lock.is_none() || app.read(|tx| Ok(jobs::find(tx, &id)?))?.is_some() {
            continue;
        }
        rm::delete_files(app, &[id])?;
        let message = format!("removed {}, which belonged to no job", display_path(app, &path));
        findings.push(Finding::new("repaired", Severity::Note, message));
    }
    Ok(())
}
