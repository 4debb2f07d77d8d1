//! Where the project is. Inside a linked git worktree it is the main worktree's, so that every lane shares one store;
//! no git process is needed to tell.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use super::ConfigError;
use crate::env::{Env, vars};

/// The configuration's file name.
pub const CONFIG_FILE: &str = ".fairway.toml";
/// The state directory's name, under the root.
pub const STATE_DIR: &str = ".fairway";
/// The store's file name, in the state directory.
pub const STORE_FILE: &str = "fairway.db";

/// The file name of the store of runs' output, beside the store.
pub const OUTPUT_FILE: &str = "runs.db";

/// A project's places. All absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The directory that holds `.fairway.toml`.
    pub root: PathBuf,
    /// `.fairway` under the root.
    pub state: PathBuf,
    /// The store's file.
    pub store: PathBuf,
}

impl Project {
    /// A project at this root; `FAIRWAY_DB` moves its store.
    #[must_use]
    pub fn at(root: PathBuf, env: &Env) -> Self {
        let state = root.join(STATE_DIR);
        let store = match env.var_os(vars::FAIRWAY_DB) {
            Some(path) => env.cwd.join(path),
            None => state.join(STORE_FILE),
        };
        Self { root, state, store }
    }

    /// Finds the project: `--root`, `FAIRWAY_ROOT`, then upwards from the working directory.
    ///
    /// # Errors
    /// [`ConfigError::NoProject`] when there is none.
    pub fn discover(env: &Env, root: Option<&Path>) -> Result<Self, ConfigError> {
        let stated = root.map(Path::to_path_buf).or_else(|| env.var_os(vars::FAIRWAY_ROOT).map(PathBuf::from));
        if let Some(stated) = stated {
            let root = normalize(&env.cwd.join(stated));
            return if root.join(CONFIG_FILE).is_file() {
                Ok(Self::at(root, env))
            } else {
                Err(ConfigError::NoProject { from: root })
            };
        }
        let found = env.cwd.ancestors().find_map(|dir| {
            if dir.join(CONFIG_FILE).is_file() {
                return Some(main_counterpart(dir).unwrap_or_else(|| dir.to_path_buf()));
            }
            // A linked worktree whose branch does not carry the file: the main worktree may.
            let main = main_worktree_of(dir)?;
            main.join(CONFIG_FILE).is_file().then_some(main)
        });
        match found {
            Some(root) => Ok(Self::at(root, env)),
            None => Err(ConfigError::NoProject { from: env.cwd.clone() }),
        }
    }

    /// Where a project for the working directory is to be made: what was named, else this directory, and of a linked
    /// worktree its counterpart in the main one, where every command will look for it.
    #[must_use]
    pub fn init_root(env: &Env, root: Option<&Path>) -> PathBuf {
        let stated = root.map(Path::to_path_buf).or_else(|| env.var_os(vars::FAIRWAY_ROOT).map(PathBuf::from));
        match stated {
            Some(stated) => normalize(&env.cwd.join(stated)),
            None => {
                let here = normalize(&env.cwd);
                main_counterpart(&here).unwrap_or(here)
            }
        }
    }

    /// The nearest project around this one's root, whose commands see nothing of this one.
    #[must_use]
    pub fn enclosing(&self) -> Option<&Path> {
        self.root.ancestors().skip(1).find(|dir| dir.join(CONFIG_FILE).is_file())
    }

    /// The directory of background runs, one directory each.
    #[must_use]
    pub fn jobs_dir(&self) -> PathBuf {
        self.state.join("runs")
    }

    /// The file that says where their output lies, beside the store.
    #[must_use]
    pub fn output_file(&self) -> PathBuf {
        self.store.with_file_name(OUTPUT_FILE)
    }

    /// The directories outside of a worktree that work in it must write: Fairway's own, and for a linked worktree the parts of
    /// git's common directory that a commit writes. Git's hooks and configuration are not among them: what an agent writes
    /// there would run outside of its sandbox.
    #[must_use]
    pub fn writable_dirs(&self, worktree: &Path) -> Vec<PathBuf> {
        let mut dirs = vec![self.state.clone()];
        dirs.extend(self.store.parent().filter(|dir| !dir.starts_with(&self.state)).map(Path::to_path_buf));
        let linked = worktree.ancestors().find(|dir| dir.join(".git").exists()).and_then(linked_git_dirs);
        if let Some((own, common)) = linked {
            dirs.push(own);
            dirs.extend(
                ["objects", "refs", "logs"].map(|part| common.join(part)).into_iter().filter(|dir| dir.is_dir()),
            );
        }
        dirs
    }

    /// The directory of the hooks that launches bring, and of the signs that they run.
    #[must_use]
    pub fn launch_hooks_dir(&self) -> PathBuf {
        self.runtime_dir().join("hooks")
    }

    /// The directory of sockets, locks and wakes.
    #[must_use]
    pub fn runtime_dir(&self) -> PathBuf {
        self.state.join("runtime")
    }
}

/// The same directory in the main worktree, when `dir` lies in a linked one.
fn main_counterpart(dir: &Path) -> Option<PathBuf> {
    let top = dir.ancestors().find(|ancestor| ancestor.join(".git").exists())?;
    let inside = dir.strip_prefix(top).ok()?;
    Some(normalize(&main_worktree_of(top)?.join(inside)))
}

/// The top of the git worktree around a directory: its nearest ancestor with a `.git` entry.
#[must_use]
pub fn worktree_top(dir: &Path) -> Option<PathBuf> {
    let top = dir.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok())?;
    top.canonicalize().ok()
}

/// Whether two worktrees belong to one repository.
#[must_use]
pub fn is_same_repository(one: &Path, other: &Path) -> bool {
    let main = |top: &Path| main_worktree_of(top).unwrap_or_else(|| top.to_path_buf()).canonicalize().ok();
    main(one).is_some() && main(one) == main(other)
}

/// The main worktree's top (of a bare repository, the directory that holds it), when `top` is a linked worktree's. A
/// submodule's `.git` is a file too, but leads to a directory without `commondir`.
fn main_worktree_of(top: &Path) -> Option<PathBuf> {
    let (_, common) = linked_git_dirs(top)?;
    common.parent().map(Path::to_path_buf)
}

/// The own git directory of a linked worktree and the repository's common one.
fn linked_git_dirs(top: &Path) -> Option<(PathBuf, PathBuf)> {
    let link = fs::read_to_string(top.join(".git")).ok()?;
    let own = normalize(&top.join(link.trim_end().strip_prefix("gitdir: ")?));
    let common = fs::read_to_string(own.join("commondir")).ok()?;
    let common = normalize(&own.join(common.trim_end()));
    Some((own, common))
}

/// An absolute path without `.` and `..`, as git writes them into its own files; links stay as they are.
#[must_use]
pub fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}
