//! Forgetting runs that have ended.

use std::fs;

use anyhow::{Context as _, Result};
use serde_json::json;

use super::{event, find};
use crate::{
    actions::{Answer, App},
    domain::{
        EventKind, Refusal,
        job::{Job, JobId},
    },
    store::{WriteTx, job_output::OutputStore, jobs},
    supervisor::JobDir,
};

/// Forgets runs with all that they printed: all of them or none.
///
/// # Errors
/// `not_found`, `ambiguous`; `in_use` for a run that is not final.
pub fn rm(app: &App, runs: &[String]) -> Result<Answer> {
    let mut removed: Vec<JobId> = Vec::new();
    let answer = app.mutate(|tx| {
        let mut found: Vec<Job> = Vec::new();
        for text in runs {
            let job = find::job(tx, text)?;
            if !found.contains(&job) {
                found.push(job);
            }
        }
        for job in found {
            if !job.status.is_final() {
                let by = format!("it is {}", job.status);
                return Err(Refusal::InUse { noun: "run", id: job.id.to_string(), by }.into());
            }
            if delete_row(tx, &job)? {
                removed.push(job.id);
            }
        }
        let ids: Vec<String> = removed.iter().map(ToString::to_string).collect();
        let line = format!("removed {} run(s)", ids.len());
        Ok(Answer { ids: ids.clone(), ..Answer::new(&json!({ "removed": ids }), "", line)? })
    })?;
    delete_files(app, &removed)?;
    Ok(answer)
}

/// Forgets a final run's row.
pub(super) fn delete_row(tx: &WriteTx<'_>, job: &Job) -> Result<bool> {
    if !jobs::remove(tx, &job.id)? {
        return Ok(false);
    }
    tx.record(&event::for_job(EventKind::ExecRemoved, job).with("status", job.status.as_str()))?;
    Ok(true)
}

/// Removes what runs have left outside the store, also when something of one of them cannot be removed. Answers how many bytes
/// that frees.
///
/// # Errors
/// As the output's store fails, or the first of the directories.
pub(in crate::actions) fn delete_files(app: &App, runs: &[JobId]) -> Result<u64> {
    let output = OutputStore::open_for_reading(&app.project.output_file())?;
    let (mut freed, mut done) = (0, Ok(()));
    for job in runs {
        if let Some(output) = &output {
            output.delete_job(job)?;
        }
        let dir = JobDir::of(&app.project.jobs_dir(), job);
        freed += dir_size(&dir);
        let removed = dir.remove().with_context(|| format!("cannot remove {}", dir.path().display()));
        done = done.and(removed);
    }
    done.map(|()| freed)
}

/// The bytes that a run's files hold.
pub(in crate::actions) fn dir_size(dir: &JobDir) -> u64 {
    let files = fs::read_dir(dir.path()).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).filter(fs::Metadata::is_file).map(|file| file.len()).sum()
}
