//! What killed processes have left in the directories of runs: above all environments, which nobody needs any more.

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

/// A younger directory may be one that is just being made.
const MIN_AGE: Duration = Duration::from_secs(60);

/// Removes what runs were started with that will not be started again, and directories that belong to no run. One that cannot be
/// cleared keeps nobody from clearing the others.
///
/// # Errors
/// As the stores fail, or the first of the directories.
pub(super) fn remove_stale(app: &App) -> Result<()> {
    let known: BTreeMap<JobId, JobStatus> = app.read(|tx| Ok(jobs::all(tx)?))?.into_iter().collect();
    let mut done = Ok(());
    for (id, path, is_fresh) in job_dirs(app) {
        let dir = JobDir::of(&app.project.jobs_dir(), &id);
        let is_left = match known.get(&id) {
            // The lock of a run that waits is its starter's.
            Some(status) => status.is_final() && dir.has_start_spec(),
            None => !is_fresh,
        };
        if !is_left {
            continue;
        }
        let cleared = clean_dir(app, &dir, &id).with_context(|| format!("cannot clear {}", path.display()));
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

/// Directories that no row knows of, which nobody is just making or looks after.
pub(in crate::actions) fn orphan_dirs(app: &App, known: &BTreeMap<JobId, JobStatus>) -> Vec<(JobId, PathBuf)> {
    let is_left = |(id, _, is_fresh): &(JobId, PathBuf, bool)| {
        let dir = JobDir::of(&app.project.jobs_dir(), id);
        !known.contains_key(id) && !is_fresh && dir.is_locked().is_ok_and(|held| !held)
    };
    job_dirs(app).into_iter().filter(is_left).map(|(id, path, _)| (id, path)).collect()
}

/// All directories of runs, and whether one may be just being made.
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
