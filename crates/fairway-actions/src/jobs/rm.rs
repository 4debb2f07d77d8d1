//! Deletes ended jobs.

use std::fs;

use anyhow::{Context as _, Result};

use super::{event, find, recover, scheduler};
use crate::{Answer, App};
use fairway_core::domain::job::{Job, JobId};
use fairway_core::domain::{EventKind, Refusal, plural};
use fairway_core::store::job_output::OutputStore;
use fairway_core::store::{WriteTx, jobs};
use fairway_core::supervisor::JobDir;
use fairway_core::wire::RemovedJobsView;

/// Deletes jobs with their output, all or none. With `force`, jobs of another host or container that have no supervisor are
/// first recorded as lost, with `why` as the reason, and their queues continue.
///
/// # Errors
/// `not_found`, `ambiguous`; `host_alive` without `why` while the host of a job still reports; `in_use` for a job that is not
/// final.
pub fn rm(app: &App, targets: &[String], force: bool, why: Option<&str>) -> Result<Answer> {
    if force {
        for text in targets {
            let job = app.read(|tx| find::of_actor(app, tx, text))?;
            recover::give_up_elsewhere(app, &job, why)?;
        }
    }
    let mut removed: Vec<JobId> = Vec::new();
    let answer = app.mutate(|tx| {
        let mut found: Vec<Job> = Vec::new();
        for text in targets {
            let job = find::of_actor(app, tx, text)?;
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
        let line = format!("removed {}", plural::count(ids.len(), "job"));
        let document = RemovedJobsView { removed: ids.clone() };
        Ok(Answer { ids, ..Answer::new(&document, "", line)? })
    })?;
    delete_files(app, &removed)?;
    if force {
        scheduler::schedule(app)?;
    }
    Ok(answer)
}

/// Deletes the row of a job that is final. Returns `false`, without a change, when the row is gone or the job is not final.
pub(super) fn delete_row(tx: &WriteTx<'_>, job: &Job) -> Result<bool> {
    if !jobs::remove(tx, &job.id)? {
        return Ok(false);
    }
    tx.record(&event::for_job(EventKind::ExecRemoved, job).with("status", job.status.as_str()))?;
    Ok(true)
}

/// Deletes the output and directories of jobs and returns the freed bytes. When one directory cannot be removed, the others
/// are removed nevertheless.
pub(crate) fn delete_files(app: &App, ids: &[JobId]) -> Result<u64> {
    let output = OutputStore::open_for_reading(&app.project.output_file())?;
    let (mut freed, mut done) = (0, Ok(()));
    for id in ids {
        if let Some(output) = &output {
            output.delete_job(id)?;
        }
        let dir = JobDir::of(&app.project.jobs_dir(), id);
        freed += dir_size(&dir);
        let removed = dir.remove().with_context(|| format!("cannot remove {}", dir.path().display()));
        done = done.and(removed);
    }
    done.map(|()| freed)
}

/// The total size of a job's files in bytes.
pub(crate) fn dir_size(dir: &JobDir) -> u64 {
    let files = fs::read_dir(dir.path()).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).filter(fs::Metadata::is_file).map(|file| file.len()).sum()
}
