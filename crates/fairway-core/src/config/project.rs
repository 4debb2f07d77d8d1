//! Where the project is. Inside a linked git worktree it is the main worktree's, so that every lane shares one store;
//! no git process is needed to tell.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::{ConfigError, trust_record};
use crate::domain::LaneName;
use crate::env::{Env, vars};
use crate::os::digest::sha256_hex;

pub const CONFIG_FILE: &str = ".fairway.toml";
pub const STATE_DIR: &str = ".fairway";
pub const STORE_FILE: &str = "fairway.db";

/// The file name of the store of jobs' output, beside the store.
pub const OUTPUT_FILE: &str = "runs.db";

/// The directory of the worktrees that Fairway makes, in the state directory.
pub const WORKTREES_DIR: &str = "worktrees";

/// The directory of facts about stores, in the user's state directory.
const KNOWN_STORES: &str = "stores";

/// The paths of a project, all of them absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The directory that holds `.fairway.toml`.
    pub root: PathBuf,
    /// `.fairway` under the root.
    pub state: PathBuf,
    pub store: PathBuf,
    /// The directory for facts about stores outside of their trees; `None` without a home directory.
    known_stores: Option<PathBuf>,
}

impl Project {
    /// Describes the project with this root directory; nothing is read from the disk. Its store is at the path in `FAIRWAY_DB` if
    /// that is set, otherwise in the project's state directory.
    pub fn at(root: PathBuf, env: &Env) -> Self {
        let state = root.join(STATE_DIR);
        let store = match env.var_os(vars::FAIRWAY_DB) {
            Some(path) => env.cwd.join(path),
            None => state.join(STORE_FILE),
        };
        Self { root, state, store, known_stores: env.state_dir().map(|dir| dir.join(KNOWN_STORES)) }
    }

    /// The directory for facts about this project's store that are kept outside of the project: how far the store's event log has
    /// come, and snapshots of the store. It lies in the user's state directory; its name is made from the store's canonical path.
    /// Returns `None` without a home directory.
    pub fn outside_dir(&self) -> Option<PathBuf> {
        let known = self.known_stores.as_ref()?;
        let name = sha256_hex(canonical_or_near(&self.store).as_os_str().as_bytes());
        Some(known.join(name.get(..16)?))
    }

    /// Finds the project by `--root`, otherwise by `FAIRWAY_ROOT`, otherwise in the working directory and above it.
    /// Fails with [`ConfigError::NoProject`] when there is none, and with another error when the working directory is gone or
    /// `FAIRWAY_ROOT` names no project.
    pub fn discover(env: &Env, root: Option<&Path>) -> Result<Self, ConfigError> {
        let stated = root.map(Path::to_path_buf).or_else(|| env.var_os(vars::FAIRWAY_ROOT).map(PathBuf::from));
        if let Some(stated) = stated {
            let by_variable = root.is_none();
            let root = real(normalize(&env.cwd.join(stated)));
            return match root.join(CONFIG_FILE).is_file() {
                true => Ok(Self::at(root, env)),
                false if by_variable => Err(root_gone(env, root)),
                false => Err(no_project(env, root)),
            };
        }
        if let Some(why) = &env.cwd_error {
            return Err(ConfigError::NoWorkingDir { why: why.clone() });
        }
        let found = env.cwd.ancestors().find_map(|dir| {
            if dir.join(CONFIG_FILE).is_file() {
                let home = main_counterpart(dir).or_else(|| home_of_lost_worktree(dir));
                return Some(home.map_or_else(|| dir.to_path_buf(), real));
            }
            // A linked worktree whose branch does not carry the file: the main worktree may.
            let main = main_worktree_of(dir)?;
            main.join(CONFIG_FILE).is_file().then(|| real(main))
        });
        match found {
            Some(root) => Ok(Self::at(root, env)),
            None => Err(no_project(env, env.cwd.clone())),
        }
    }

    /// The directory in which a new project is to be created: the named one, else the working directory. Inside a linked
    /// worktree it is, in place of the working directory, the same directory of the main worktree, where every command will look
    /// for it.
    ///
    /// # Errors
    /// [`ConfigError::NoWorkingDir`] when no directory is named and the working directory is gone; [`ConfigError::RootGone`]
    /// inside a session whose project is gone; [`ConfigError::NotInRepository`] in a worktree of a bare repository without a
    /// `.git` beside it.
    pub fn init_root(env: &Env, root: Option<&Path>) -> Result<PathBuf, ConfigError> {
        let stated = root.map(Path::to_path_buf).or_else(|| env.var_os(vars::FAIRWAY_ROOT).map(PathBuf::from));
        match (stated, &env.cwd_error) {
            (Some(stated), _) => {
                let place = real(normalize(&env.cwd.join(stated)));
                if root.is_none() && env.var_os(vars::FAIRWAY_SESSION_ID).is_some() && !place.is_dir() {
                    return Err(root_gone(env, place));
                }
                Ok(place)
            }
            (None, Some(why)) => Err(ConfigError::NoWorkingDir { why: why.clone() }),
            (None, None) => {
                let here = normalize(&env.cwd);
                let Some(place) = main_counterpart(&here) else { return Ok(here) };
                match GitDir::around(&here) {
                    Some(git) if !place.join(CONFIG_FILE).is_file() && !git.is_found_from(&place) => {
                        Err(ConfigError::NotInRepository { place, repository: git.common })
                    }
                    _ => Ok(place),
                }
            }
        }
    }

    /// The name of the root directory.
    pub fn dir_name(&self) -> String {
        self.root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// The nearest other project whose root is a directory above this project's root; `None` when there is none. Commands in this
    /// project do not use it.
    pub fn enclosing(&self) -> Option<&Path> {
        self.root.ancestors().skip(1).find(|dir| dir.join(CONFIG_FILE).is_file())
    }

    /// The directory with one subdirectory for each background job.
    pub fn jobs_dir(&self) -> PathBuf {
        self.state.join("runs")
    }

    /// The SQLite file beside the store that records where the bytes of jobs' output are.
    pub fn output_file(&self) -> PathBuf {
        self.store.with_file_name(OUTPUT_FILE)
    }

    /// The directories outside of a worktree to which programs in the worktree must be able to write: Fairway's own, and for a
    /// linked worktree its git directory and the repository's common one. A commit alone would need less, but a rebase, a merge
    /// and the deletion of a branch lock files directly in the common directory. The main worktree's git directory lies in the
    /// worktree.
    pub fn writable_dirs(&self, worktree: &Path) -> Vec<PathBuf> {
        let mut dirs = vec![self.state.clone()];
        dirs.extend(self.store.parent().filter(|dir| !dir.starts_with(&self.state)).map(Path::to_path_buf));
        let linked = worktree.ancestors().find(|dir| dir.join(".git").exists()).and_then(linked_git_dirs);
        // A sandbox that protects a worktree's own git directory wants it named beside the common one.
        dirs.extend(linked.into_iter().flat_map(|(own, common)| [common, own]));
        dirs
    }

    /// The paths in [`Self::writable_dirs`] that programs in a linked worktree must not write. Git reads in them which repository
    /// the worktree belongs to and which programs to run, and it does so outside of a sandbox too. Returns none for the main
    /// worktree.
    pub fn protected_git_files(&self, worktree: &Path) -> Vec<PathBuf> {
        let linked = worktree.ancestors().find(|dir| dir.join(".git").exists()).and_then(linked_git_dirs);
        let files = |(own, common): (PathBuf, PathBuf)| {
            let own = ["commondir", "gitdir", "config.worktree"].map(|name| own.join(name));
            own.into_iter().chain(["config", "hooks"].map(|name| common.join(name)))
        };
        linked.into_iter().flat_map(files).collect()
    }

    /// The directory with the settings files of hooks that launches pass to agents, and with the files that show that those hooks
    /// run.
    pub fn launch_hooks_dir(&self) -> PathBuf {
        self.runtime_dir().join("hooks")
    }

    /// The directories that must not lie inside a session's worktree: the project's own state, the user's state directory, and
    /// git's common directory. A session's worktree may itself lie inside the project's state.
    pub fn protected_dirs(&self) -> Vec<PathBuf> {
        let user = self.known_stores.as_deref().and_then(Path::parent).map(Path::to_path_buf);
        let found = [Some(self.state.clone()), user, GitDir::around(&self.root).map(|git| git.common)];
        found.into_iter().flatten().map(|dir| dir.canonicalize().unwrap_or(dir)).collect()
    }

    /// The directory for the files that only the sandbox of this lane has.
    pub fn sandbox_dir(&self, lane: &LaneName) -> PathBuf {
        self.state.join("sandbox").join(lane.as_str())
    }

    /// The directory for the files of landings, with the checkouts for their checks.
    pub fn land_dir(&self) -> PathBuf {
        self.state.join("land")
    }

    /// The directory of sockets and locks, and of the sockets by which waiting processes are woken.
    pub fn runtime_dir(&self) -> PathBuf {
        self.state.join("runtime")
    }
}

/// The path without links: a project that is reached over a link is the same project. A path that is not there stays.
fn real(path: PathBuf) -> PathBuf {
    path.canonicalize().unwrap_or(path)
}

/// The path of a `.fairway.toml` that is missing in one of these directories or above, although a store beside it or the user's
/// trust shows that it existed. A hook that runs there must not behave as if it were outside of every project.
pub fn missing_config<'a>(env: &Env, dirs: impl IntoIterator<Item = &'a Path>) -> Option<PathBuf> {
    let was_here = |dir: &Path| {
        let has_store = || dir.join(STATE_DIR).join(STORE_FILE).is_file();
        !dir.join(CONFIG_FILE).is_file() && (has_store() || trust_record::is_recorded(env, dir))
    };
    dirs.into_iter().find_map(|dir| {
        let main = dir.ancestors().find(|ancestor| is_worktree_top(ancestor)).and_then(main_worktree_of);
        let mut around = dir.ancestors().chain(main.iter().flat_map(|main| main.ancestors()));
        around.find(|dir| was_here(dir)).map(|dir| dir.join(CONFIG_FILE))
    })
}

/// The error of a search that began in this directory.
fn no_project(env: &Env, from: PathBuf) -> ConfigError {
    let missing = missing_config(env, [from.as_path()]);
    ConfigError::NoProject { from, missing }
}

/// The error for an environment that names a root without a project.
fn root_gone(env: &Env, root: PathBuf) -> ConfigError {
    let has_store = |dir: &Path| dir.join(CONFIG_FILE).is_file() && dir.join(STATE_DIR).join(STORE_FILE).is_file();
    let here = env.cwd.ancestors().filter(|_| env.cwd_error.is_none());
    let found = here.filter(|dir| **dir != *root).find(|dir| has_store(dir)).map(Path::to_path_buf);
    ConfigError::RootGone { root, found, session: env.var(vars::FAIRWAY_SESSION_ID).map(str::to_owned) }
}

/// The project around a lane's worktree whose repository is gone from the path that the worktree names: the project was moved
/// with both. The worktree's own configuration would make a project of the lane.
fn home_of_lost_worktree(dir: &Path) -> Option<PathBuf> {
    let mut around = dir.ancestors().skip(1).filter(|dir| dir.ends_with(Path::new(STATE_DIR).join(WORKTREES_DIR)));
    let home = around.next()?.ancestors().nth(2)?;
    let top = dir.ancestors().find(|ancestor| is_worktree_top(ancestor))?;
    let is_lost = top.starts_with(home) && top != home && is_lost_worktree(top);
    (is_lost && home.join(CONFIG_FILE).is_file()).then(|| home.to_path_buf())
}

/// Whether a directory is a linked worktree whose repository is not where its `.git` file says.
pub fn is_lost_worktree(top: &Path) -> bool {
    link_target(top).is_some_and(|target| !target.exists())
}

/// The counterpart of `dir` in the main worktree, when `dir` lies in a linked one.
fn main_counterpart(dir: &Path) -> Option<PathBuf> {
    let top = dir.ancestors().find(|ancestor| is_worktree_top(ancestor))?;
    let inside = dir.strip_prefix(top).ok()?;
    Some(normalize(&main_worktree_of(top)?.join(inside)))
}

/// The top of the git worktree around a directory: its nearest ancestor with a `.git` entry that git made. Returns `None` outside
/// of every worktree.
pub fn worktree_top(dir: &Path) -> Option<PathBuf> {
    dir.ancestors().find(|dir| is_worktree_top(dir))?.canonicalize().ok()
}

/// Whether a directory has a `.git` entry that git made. Sandboxes place empty ones, and devices, above a project.
fn is_worktree_top(dir: &Path) -> bool {
    let entry = dir.join(".git");
    match fs::metadata(&entry) {
        Ok(found) if found.is_dir() => entry.join("HEAD").symlink_metadata().is_ok(),
        // Also one that leads nowhere: a worktree whose repository was moved.
        Ok(found) if found.is_file() => link_target(dir).is_some(),
        _ => false,
    }
}

/// The git directory that the `.git` file of a linked worktree or a submodule names.
fn link_target(top: &Path) -> Option<PathBuf> {
    let link = fs::read_to_string(top.join(".git")).ok()?;
    Some(normalize(&top.join(link.trim_end().strip_prefix("gitdir: ")?)))
}

/// The git directory of the worktree whose top is `top`; `None` when that directory is not the top of a worktree.
pub fn git_dir(top: &Path) -> Option<PathBuf> {
    is_worktree_top(top).then(|| link_target(top).unwrap_or_else(|| top.join(".git")))
}

/// The git directory of the linked worktree whose top is `top`; `None` when that directory is not the top of one.
pub fn linked_git_dir(top: &Path) -> Option<PathBuf> {
    is_worktree_top(top).then(|| link_target(top))?
}

/// The git repository around a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitDir {
    pub top: PathBuf,
    /// The directory that all worktrees of the repository share.
    pub common: PathBuf,
}

impl GitDir {
    /// The repository of the nearest worktree around a directory; `None` outside of every worktree.
    pub fn around(dir: &Path) -> Option<Self> {
        let top = dir.ancestors().find(|dir| is_worktree_top(dir))?;
        let own = link_target(top).unwrap_or_else(|| top.join(".git"));
        let common = fs::read_to_string(own.join("commondir"));
        let common = common.map_or_else(|_| own.clone(), |common| normalize(&own.join(common.trim_end())));
        Some(Self { top: top.to_path_buf(), common })
    }

    /// Whether git finds the same repository from a directory.
    fn is_found_from(&self, dir: &Path) -> bool {
        let common = |git: &Self| git.common.canonicalize().ok();
        Self::around(dir).is_some_and(|found| common(&found).is_some_and(|found| common(self) == Some(found)))
    }
}

pub fn is_same_repository(one: &Path, other: &Path) -> bool {
    if one == other {
        return true;
    }
    let main = |top: &Path| main_worktree_of(top).unwrap_or_else(|| top.to_path_buf()).canonicalize().ok();
    main(one).is_some_and(|found| main(other) == Some(found))
}

/// Why a directory is not a sound worktree of the repository around `root`. Returns `None` when it is one, when that repository
/// is unknown, and when the worktree's repository was moved. No git runs: an agent can write all of these files.
pub fn worktree_damage(root: &Path, top: &Path) -> Option<String> {
    let common = GitDir::around(root)?.common.canonicalize().ok()?;
    let entry = top.join(".git");
    let found = entry.symlink_metadata().ok()?;
    if found.is_dir() || found.is_symlink() {
        let is_main = entry.canonicalize().is_ok_and(|own| own == common);
        return (!is_main).then(|| "its .git file was replaced by another repository".to_owned());
    }
    let Some(own) = link_target(top) else { return Some("its .git file names no repository".to_owned()) };
    let Ok(real) = own.canonicalize() else {
        let repository = own.parent().filter(|dir| dir.ends_with("worktrees")).and_then(Path::parent);
        let is_dropped = repository.is_some_and(|dir| dir.canonicalize().is_ok_and(|dir| dir == common));
        return is_dropped.then(|| "git has dropped its record of the worktree".to_owned());
    };
    // The main worktree of a repository with a directory elsewhere.
    if real == common {
        return None;
    }
    if real.parent() != Some(common.join("worktrees").as_path()) {
        return Some(format!("its .git file names another repository, {}", own.display()));
    }
    if way_back(&real, top) == WayBack::Elsewhere {
        return Some(format!("{} names another worktree", real.join("gitdir").display()));
    }
    let named = fs::read_to_string(real.join("commondir")).ok();
    let named = named.map(|named| normalize(&real.join(named.trim_end())));
    match named.as_deref().map(Path::canonicalize) {
        Some(Ok(found)) if found == common => None,
        _ => Some(format!("{} names another repository", real.join("commondir").display())),
    }
}

/// The worktree to which git's record of a worktree leads, by its file `gitdir`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WayBack {
    Here,
    Elsewhere,
    /// To a path that is gone: the worktree or the project was moved.
    Gone,
}

/// Tells where git's record of a worktree, the directory `record`, leads: to the worktree at `top`, to another one, or to a path
/// that does not exist.
pub fn way_back(record: &Path, top: &Path) -> WayBack {
    let named = fs::read_to_string(record.join("gitdir")).ok();
    let named = named.and_then(|named| normalize(&record.join(named.trim_end())).canonicalize().ok());
    match (named, top.join(".git").canonicalize()) {
        (Some(named), Ok(own)) if named == own => WayBack::Here,
        (Some(_), Ok(_)) => WayBack::Elsewhere,
        _ => WayBack::Gone,
    }
}

/// The directory with git's record of the worktree at `top`, below the common directory of the repository around `root`. When no
/// record names the worktree, it is the record that the worktree's own `.git` file names, unless another worktree has that one
/// too. Returns `None` when there is neither.
pub fn worktree_record(root: &Path, top: &Path) -> Option<PathBuf> {
    let common = GitDir::around(root)?.common.canonicalize().ok()?;
    let top = top.canonicalize().ok()?;
    let mut records = fs::read_dir(common.join("worktrees")).ok()?.flatten().map(|entry| entry.path());
    let by_record = records.find(|record| {
        let named = fs::read_to_string(record.join("gitdir")).unwrap_or_default();
        let named = Path::new(named.trim_end());
        named.file_name() == Some(".git".as_ref())
            && named.parent().and_then(|dir| dir.canonicalize().ok()).is_some_and(|dir| dir == top)
    });
    // Where the way back was rewritten, the worktree's own word counts, unless another worktree says the same.
    let by_worktree = || {
        let record =
            link_target(&top)?.canonicalize().ok().filter(|own| own.parent() == Some(&common.join("worktrees")))?;
        let named = fs::read_to_string(record.join("gitdir")).unwrap_or_default();
        let other = normalize(&record.join(named.trim_end()));
        let is_others = other.parent().and_then(link_target).and_then(|target| target.canonicalize().ok()).as_ref()
            == Some(&record);
        (!is_others).then_some(record)
    };
    by_record.or_else(by_worktree)
}

/// The main worktree's top (of a bare repository, the directory that holds it), when `top` is a linked worktree's. A
/// submodule's `.git` is a file too, but leads to a directory without `commondir`.
fn main_worktree_of(top: &Path) -> Option<PathBuf> {
    let (_, common) = linked_git_dirs(top)?;
    common.parent().map(Path::to_path_buf)
}

/// The own git directory of a linked worktree and the repository's common one.
fn linked_git_dirs(top: &Path) -> Option<(PathBuf, PathBuf)> {
    let own = link_target(top)?;
    let common = fs::read_to_string(own.join("commondir")).ok()?;
    let common = normalize(&own.join(common.trim_end()));
    Some((own, common))
}

/// The canonical path of a file that may not exist, and whose directories may not exist either: the nearest existing directory
/// above it is made canonical. A file that is itself a link is not followed.
pub fn canonical_or_near(path: &Path) -> PathBuf {
    let path = normalize(path);
    let found = path.ancestors().skip(1).find_map(|dir| Some((dir, dir.canonicalize().ok()?)));
    let rest = found.as_ref().and_then(|(dir, real)| Some(real.join(path.strip_prefix(dir).ok()?)));
    rest.unwrap_or(path)
}

/// Removes `.` and `..` from an absolute path, as git does for its own files. Links are not followed.
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
