//! A program that Fairway starts and observes, in a sandbox apart from that of the lane's session. It has its own repository,
//! whose commits are removed with it, and no connection to Fairway.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use super::mount_mark::MountMark;
use super::run::{self, Finished, Inside};
use super::{lane, openings};
use crate::App;
use crate::core::{errors, sandbox_availability, trust};
use fairway_core::domain::sandbox::SandboxClass;
use fairway_core::domain::{LaneName, Refusal};
use fairway_core::env::vars;
use fairway_core::os::git::{Git, LaneClone};
use fairway_core::os::lock::FileLock;
use fairway_core::os::{files, random, signals};

/// The prefix of the name of such a sandbox's directory. No lane's name begins with it.
const PREFIX: &str = "@";
/// The age from which a directory is removed if its process was killed.
const ABANDONED_AGE: Duration = Duration::from_secs(60 * 60);

/// The program to run, and its sandbox and directory.
#[derive(Debug)]
pub struct ApartRequest {
    pub class: SandboxClass,
    pub lane: Option<LaneName>,
    /// The checkout of a landing to run in, instead of the worktree of a lane.
    pub checkout: Option<PathBuf>,
    /// The names of variables that are passed to the program, in addition to the configured ones.
    pub env: Vec<String>,
    pub argv: Vec<OsString>,
}

/// Runs a program in the foreground, in a sandbox of its own, until it ends. The commits that it makes there are lost; a note
/// says so.
///
/// # Errors
/// `sandbox_unavailable`; `untrusted`; those of [`lane::find`]; `invalid_value` for a checkout that is not one of a landing.
pub fn run(app: &App, request: &ApartRequest) -> Result<Finished> {
    trust::require(app)?;
    // The repository goes also when the program is ended by a signal.
    signals::defer_ends().map_err(errors::internal)?;
    let network = app.settings.sandbox.network_of(request.class);
    let maker = sandbox_availability::require(app, request.class, network)?;
    let (worktree, lane, mark) = match &request.checkout {
        Some(dir) => (checkout(app, dir)?, None, None),
        None => {
            let place = lane::find(app, request.lane.as_ref())?;
            let mark = MountMark::hold(&place.dir).map_err(errors::internal)?;
            (place.worktree, Some(place.lane), Some(mark))
        }
    };
    let scratch = Scratch::create(&app.project.state.join("sandbox")).map_err(errors::internal)?;
    let clone = LaneClone::create_detached(&Git::new(app.env.vars(), &worktree), &scratch.dir)?;
    let opened = run::of_worktree(app, &worktree, None, Some(&clone))?;
    let env = [&request.env[..], &[vars::FAIRWAY_EXEC_RUN.to_owned()]].concat();
    let inside = Inside {
        worktree: &worktree,
        dir: &scratch.dir,
        lane: lane.as_ref(),
        provider: None,
        class: request.class,
        network,
        env: &env,
        argv: &request.argv,
    };
    let mut ended = run::inside(app, &maker, opened, &inside)?;
    match mark {
        Some(mark) => mark.release(&worktree).map_err(errors::internal)?,
        None => openings::remove_empty(&worktree),
    }
    let notes =
        clone.has_new_commit().then(|| "the commits that the program has made are gone with its sandbox".to_owned());
    ended.notes.extend(notes);
    Ok(ended)
}

/// Checks that a directory is the checkout of a landing, in which no other program works.
fn checkout(app: &App, dir: &Path) -> Result<PathBuf> {
    let of_landings = app.project.land_dir().canonicalize().ok();
    let real = dir.canonicalize().ok().filter(|real| of_landings.is_some() && real.parent() == of_landings.as_deref());
    let found = real.filter(|real| real.join(".git").is_file());
    Ok(found.ok_or_else(|| Refusal::invalid("checkout", format!("{} is none of a landing", dir.display())))?)
}

/// A directory for the repository. It is removed when this value is dropped.
#[derive(Debug)]
struct Scratch {
    dir: PathBuf,
    _lock: FileLock,
}

impl Scratch {
    fn create(parent: &Path) -> std::io::Result<Self> {
        files::private_dir(parent)?;
        remove_abandoned(parent);
        let dir = parent.join(format!("{PREFIX}{}", random::hex()?));
        files::private_dir(&dir)?;
        let lock = FileLock::try_acquire(&dir.join("lock"))?;
        Ok(Self { _lock: lock.ok_or_else(|| std::io::Error::other("a new directory is in use"))?, dir })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left is removed later.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Removes the old directories of processes that were killed.
fn remove_abandoned(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let dir = entry.path();
        let age = entry.metadata().ok().and_then(|found| found.modified().ok()?.elapsed().ok());
        let is_old = age.is_some_and(|age| age > ABANDONED_AGE);
        if is_old
            && entry.file_name().to_string_lossy().starts_with(PREFIX)
            && matches!(FileLock::try_acquire(&dir.join("lock")), Ok(Some(_)))
        {
            let _ = fs::remove_dir_all(&dir);
        }
    }
}
