//! The place of a launched session: its worktree with the branch, its sandbox, its transcript, and the backend's state.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use anyhow::Result;

use super::{choice::Choice, request::LaunchRequest, sandbox};
use crate::{
    actions::{
        App,
        core::other_host,
        queue::lane::checkout::{self, Presence},
    },
    adapters,
    config::project::normalize,
    domain::{Refusal, SessionId, lane::Lane, sandbox::SandboxClass},
    os::{executable as files, git::Git, user},
};

/// Where a session will work.
pub(super) struct Place {
    pub worktree: PathBuf,
    /// Whether the worktree is there; else the launch makes it.
    pub is_there: bool,
    pub branch: Option<String>,
    pub sandbox: SandboxClass,
    /// The transcript's file.
    pub transcript: PathBuf,
    /// The directory where backend scripts keep their state.
    pub backend_state: PathBuf,
}

impl Place {
    /// The place for a choice.
    ///
    /// # Errors
    /// `other_host` for a lane with its worktree elsewhere; `not_found`, `worktree_missing` for a worktree that nothing makes;
    /// `sandbox_required`; `invalid_value` for the transcript.
    pub(super) fn of(app: &App, request: &LaunchRequest, choice: &Choice) -> Result<Self> {
        let work = &choice.work;
        let lane = work.lane.as_ref();
        if let (None, Some(lane)) = (&request.worktree, lane) {
            let words = ["session", "launch", "--role", work.role.as_str(), "--lane", lane.name.as_str()];
            other_host::refuse_lane(app, lane, &words)?;
        }
        let worktree = worktree(app, request, lane)?;
        let is_there = worktree.is_dir();
        let makes_worktree = choice.setup.pre_start.as_ref().is_some_and(|commands| !commands.is_empty());
        if !work.is_planned && !makes_worktree {
            check_worktree(app, request, lane, &worktree)?;
        }
        let sandbox = sandbox::class(app, request, &choice.role, lane)?;
        let transcript = transcript(app, request, &choice.id)?;
        let home = || Refusal::invalid("the environment", "has no home directory; set HOME or XDG_STATE_HOME");
        let backend_state = adapters::state_dir(&app.env).ok_or_else(home)?;
        let configured =
            request.branch.clone().or_else(|| lane?.branch.clone()).or_else(|| work.task.as_ref()?.branch.clone());
        let branch = configured.or_else(|| Git::new(app.env.vars(), &worktree).branch().filter(|_| is_there));
        Ok(Self { worktree, is_there, branch, sandbox, transcript, backend_state })
    }
}

fn worktree(app: &App, request: &LaunchRequest, lane: Option<&Lane>) -> Result<PathBuf, Refusal> {
    let configured = match &request.worktree {
        Some(dir) => app.env.cwd.join(dir),
        None => lane.and_then(|lane| lane.worktree.as_ref()).map_or_else(|| app.project.root.clone(), PathBuf::from),
    };
    let dir = normalize(&configured);
    if dir.exists() && !dir.is_dir() {
        return Err(Refusal::not_found("worktree", dir.display().to_string()));
    }
    Ok(dir)
}

/// Checks that the worktree is there; a launch without `pre_start` does not make one.
fn check_worktree(app: &App, request: &LaunchRequest, lane: Option<&Lane>, worktree: &Path) -> Result<(), Refusal> {
    if let (None, Some(lane)) = (&request.worktree, lane) {
        if let Presence::Missing(dir) = checkout::presence(app, lane) {
            return Err(Refusal::WorktreeMissing { lane: lane.name.clone(), dir: dir.display().to_string() });
        }
        checkout::refuse_damaged(app, lane)?;
    }
    if worktree.is_dir() { Ok(()) } else { Err(Refusal::not_found("worktree", worktree.display().to_string())) }
}

/// The transcript's file, which must be writable as far as that is known without writing.
fn transcript(app: &App, request: &LaunchRequest, id: &SessionId) -> Result<PathBuf, Refusal> {
    let invalid = |why: String| Refusal::Invalid { what: "transcript", why };
    let path = match &request.transcript {
        Some(path) => normalize(&app.project.root.join(path)),
        None => {
            let dir = app.project.state.join("transcripts");
            // A cloned repository may contain one with any target.
            if dir.is_symlink() {
                return Err(invalid(format!("{} is a symbolic link", dir.display())));
            }
            dir.join(format!("{id}.log"))
        }
    };
    match fs::symlink_metadata(&path) {
        Ok(found) if !found.is_file() => return Err(invalid(format!("{} is not a file", path.display()))),
        Ok(found) if found.uid() != user::uid() => {
            return Err(invalid(format!("{} belongs to another user", path.display())));
        }
        Ok(_) if files::is_writable(&path) => return Ok(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let dir = path.ancestors().skip(1).find(|dir| dir.exists());
            if dir.is_some_and(|dir| dir.is_dir() && files::is_writable(dir)) {
                return Ok(path);
            }
        }
        Ok(_) | Err(_) => {}
    }
    Err(invalid(format!("{} is not writable", path.display())))
}
