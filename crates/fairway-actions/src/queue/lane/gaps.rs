//! What git leaves out of a new worktree, though the team's work needs it: hooks in a directory that git ignores, and submodules.

use std::path::Path;

use crate::App;
use fairway_core::domain::plural;
use fairway_core::os::git::{Git, GitError};

/// Something that a worktree lacks.
pub(crate) struct Gap {
    pub(crate) code: &'static str,
    /// A sentence about the worktree, such as `has no files of 1 submodule (lib)`.
    pub(crate) what: String,
    /// The command that brings it.
    pub(crate) fix: String,
}

impl Gap {
    pub(super) fn note(&self) -> String {
        format!("its worktree {}: {}", self.what, self.fix)
    }
}

/// What the worktree of a lane lacks.
pub(crate) fn find(app: &App, dir: &Path) -> Result<Vec<Gap>, GitError> {
    let git = Git::new(app.env.vars(), dir);
    let quoted = |path: &Path| shell_words::quote(&path.to_string_lossy()).into_owned();
    let mut gaps = Vec::new();
    if let Some(hooks) = git.relative_hooks_path()?.filter(|hooks| !dir.join(hooks).is_dir()) {
        let (from, to) = (app.project.root.join(&hooks), dir.join(&hooks));
        let above = to.parent().unwrap_or(dir);
        let fix = if from.is_dir() {
            format!("mkdir -p {0} && cp -R {1} {0}/", quoted(above), quoted(&from))
        } else {
            format!("git -C {} config --get core.hooksPath", quoted(dir))
        };
        gaps.push(Gap {
            code: "hooks_absent",
            what: format!("lacks the hooks of core.hooksPath ({hooks}), so none run"),
            fix,
        });
    }
    let absent = git.absent_submodules()?;
    if let Some(first) = absent.first() {
        let more = if absent.len() > 1 { ", …" } else { "" };
        let what = format!("has no files of {} ({first}{more})", plural::count(absent.len(), "submodule"));
        let fix = format!("git -C {} submodule update --init --recursive", quoted(dir));
        gaps.push(Gap { code: "submodules_absent", what, fix });
    }
    Ok(gaps)
}
