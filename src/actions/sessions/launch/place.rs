//! The place of a launched session: its worktree, its branch and its transcript.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::request::LaunchRequest;
use crate::{
    actions::{
        App,
        queue::lane::checkout::{self, Presence},
    },
    config::project::normalize,
    domain::{Refusal, SessionId, lane::Lane, task::Task},
    os::{executable as files, user},
};

pub(super) fn worktree(app: &App, request: &LaunchRequest, lane: Option<&Lane>) -> Result<PathBuf, Refusal> {
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
pub(super) fn check_worktree(
    app: &App,
    request: &LaunchRequest,
    lane: Option<&Lane>,
    worktree: &Path,
) -> Result<(), Refusal> {
    if let (None, Some(lane)) = (&request.worktree, lane) {
        if let Presence::Missing(dir) = checkout::presence(app, lane) {
            return Err(Refusal::WorktreeMissing { lane: lane.name.clone(), dir: dir.display().to_string() });
        }
        checkout::refuse_damaged(app, lane)?;
    }
    if worktree.is_dir() { Ok(()) } else { Err(Refusal::not_found("worktree", worktree.display().to_string())) }
}

pub(super) fn branch(request: &LaunchRequest, lane: Option<&Lane>, task: Option<&Task>) -> Option<String> {
    request.branch.clone().or_else(|| lane?.branch.clone()).or_else(|| task?.branch.clone())
}

/// The transcript's file, which must be writable as far as that is known without writing.
pub(super) fn transcript(app: &App, request: &LaunchRequest, id: &SessionId) -> Result<PathBuf, Refusal> {
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

pub(super) fn path_text(what: &'static str, path: &Path) -> Result<String, Refusal> {
    let text = path.to_str().ok_or_else(|| Refusal::invalid(what, "is not valid UTF-8"))?;
    if text.chars().any(char::is_control) {
        return Err(Refusal::invalid(what, "contains control characters"));
    }
    Ok(text.to_owned())
}
