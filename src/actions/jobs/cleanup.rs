//! Removes files that killed processes left in job directories, above all stored environments.

use std::{collections::BTreeMap, fs, path::PathBuf, time::Duration};

use anyhow::{Context as _, Result};

use super::rm;
use crate::{
    actions::App,
    domain::job::{JobId, JobStatus},
    env::Timestamp,
    store::jobs,
    supervisor::JobDir,
};

/// A younger directory may still be in creation.
const MIN_AGE: Duration = Duration::from_secs(60);

/// Removes the start files of final jobs and the directories that belong to no job. A directory that cannot be removed does
/// not stop the others.
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

/// Job directories without a row that are not locked and not in creation.
pub(in crate::actions) fn orphan_dirs(app: &App, known: &BTreeMap<JobId, JobStatus>) -> Vec<(JobId, PathBuf)> {
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
