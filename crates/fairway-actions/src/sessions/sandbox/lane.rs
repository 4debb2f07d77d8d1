//! The lane of a sandbox, and the sandbox's own repository while programs work in the lane.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;

use super::openings;
use crate::App;
use crate::core::{errors, lookup, trust};
use crate::queue::lane::checkout;
use fairway_core::config::sandbox_defaults;
use fairway_core::domain::lane::Lane;
use fairway_core::domain::{LaneName, Refusal};
use fairway_core::os::files;
use fairway_core::os::git::{Git, LaneClone, TakenBack};
use fairway_core::os::lock::FileLock;
use fairway_core::store::lanes;
use fairway_core::wire::{SandboxRefusedView, SandboxTakeBackView};

/// The largest number of notes about what has come out of a sandbox.
const MAX_NOTES: usize = 20;

/// A lane with a worktree on this host.
#[derive(Debug)]
pub struct SandboxLane {
    pub lane: LaneName,
    pub worktree: PathBuf,
    /// The directory with the sandbox's own files.
    pub dir: PathBuf,
    branch: String,
}

/// The repository of a sandbox. Until it is dropped, no other sandbox works on the lane.
#[derive(Debug)]
pub struct OpenRepository {
    pub clone: LaneClone,
    _lock: FileLock,
}

/// Finds the lane with this name, else that of the session, else the one whose worktree contains the working directory.
///
/// # Errors
/// `not_found`; `no_worktree` outside of every lane; `wrong_branch` for a worktree that is not a linked one or has no branch
/// checked out.
pub fn find(app: &App, name: Option<&LaneName>) -> Result<SandboxLane> {
    let found = match name.or(app.actor.lane.as_ref()) {
        Some(name) => app.read(|tx| lookup::lane(tx, name))?,
        None => around(app)?,
    };
    let worktree = checkout::dir(app, &found, &["sandbox", "run", "--lane", found.name.as_str()])?;
    let worktree = worktree.canonicalize().map_err(errors::internal)?;
    let unfit = |why: String| Refusal::SandboxLaneUnfit { lane: found.name.clone(), why };
    if !worktree.join(".git").is_file() {
        return Err(unfit("its worktree is not a linked one".to_owned()).into());
    }
    let branch = Git::new(app.env.vars(), &worktree).current_branch()?;
    let branch = branch.ok_or_else(|| unfit("no branch is checked out, as in the middle of a rebase".to_owned()))?;
    Ok(SandboxLane { dir: app.project.sandbox_dir(&found.name), lane: found.name, worktree, branch })
}

fn around(app: &App) -> Result<Lane> {
    let here = app.env.cwd.canonicalize().unwrap_or_else(|_| app.env.cwd.clone());
    let is_around = |lane: &Lane| {
        let dir = lane.worktree.as_ref().and_then(|dir| PathBuf::from(dir).canonicalize().ok());
        dir.is_some_and(|dir| here.starts_with(dir))
    };
    let found = app.read(|tx| Ok(lanes::all(tx)?))?.into_iter().find(is_around);
    Ok(found.ok_or_else(|| Refusal::SandboxWithoutLane { directory: here.display().to_string() })?)
}

impl SandboxLane {
    fn lock(&self) -> Result<FileLock> {
        for dir in self.dir.parent().into_iter().chain([&*self.dir]) {
            files::private_dir(dir).map_err(errors::internal)?;
        }
        let lock = FileLock::try_acquire(&self.dir.join("lock")).map_err(errors::internal)?;
        Ok(lock.ok_or_else(|| Refusal::SandboxRunning { lane: self.lane.clone() })?)
    }

    /// Makes a new repository for the sandbox. Before that, the commits of an earlier one that was left behind are brought into
    /// the lane's branch; when that fails they are kept aside, and a note says so.
    ///
    /// # Errors
    /// `in_use` while another sandbox works on the lane.
    pub fn open(&self, app: &App, notes: &mut Vec<String>) -> Result<OpenRepository> {
        let lock = self.lock()?;
        let git = Git::new(app.env.vars(), &self.worktree);
        if let Some(left) = LaneClone::left_in(&git, &self.dir, &self.branch)? {
            match self.settle(app, &left) {
                Ok(note) => notes.extend(note),
                Err(error) => notes.push(format!("{error:#}; to try again: fairway sandbox take-back {}", self.lane)),
            }
        }
        let clone = LaneClone::create(&git, &self.dir, &self.branch)?;
        Ok(OpenRepository { clone, _lock: lock })
    }

    /// Brings the commits of the sandbox into the lane's branch and removes its repository. When that fails, the repository is kept
    /// under a number.
    ///
    /// # Errors
    /// `take_back_refused`.
    pub fn settle(&self, app: &App, clone: &LaneClone) -> Result<Option<String>> {
        match self.take_back(app, clone) {
            Ok(note) => {
                clone.remove().map_err(errors::internal)?;
                Ok(note)
            }
            Err(error) => {
                let why = format!("{error:#}");
                let number = clone.set_aside(&why).map_err(errors::internal)?;
                Err(Refusal::TakeBackRefused { lane: self.lane.clone(), number, why }.into())
            }
        }
    }

    /// Notes about what has come out and what programs of the person would run or follow: in the commits since `began`, and in the
    /// worktree, whose names at the top were `before`.
    pub fn came_out(&self, app: &App, clone: &LaneClone, began: &str, before: &[String]) -> Result<Vec<String>> {
        let git = Git::new(app.env.vars(), &self.worktree);
        let lane = &self.lane;
        let (defaults, mut notes) = (sandbox_defaults(), Vec::new());
        let branch = format!("refs/heads/{}", self.branch);
        if !began.is_empty() {
            let changed = git.changed_between(began, &branch)?.into_iter().filter(|path| defaults.runs_later(path));
            notes.extend(changed.map(|path| format!("would run on your machine: {path}, in the commits of {lane}")));
            let links = git.new_links_out(began, &branch)?.into_iter();
            notes.extend(links.map(|path| format!("leads out of the lane: {path}, a link in the commits of {lane}")));
        }
        let new = openings::later_names(&self.worktree).into_iter().filter(|name| !before.contains(name));
        notes.extend(new.map(|name| format!("would run on your machine: {name} is new in the lane {lane}")));
        let below = |dir: PathBuf| dir.strip_prefix(&self.worktree).map(|path| path.join(".git")).unwrap_or(dir);
        let repositories = clone.foreign_repositories().into_iter().map(below);
        notes.extend(repositories.map(|path| {
            format!("would run on your machine: {}, when you run git there or add it to the lane", path.display())
        }));
        if let Some(more) = notes.len().checked_sub(MAX_NOTES).filter(|more| *more > 0) {
            notes.truncate(MAX_NOTES);
            notes.push(format!(
                "{more} more would run on your machine or lead out of the lane: fairway lane diff {lane}"
            ));
        }
        Ok(notes)
    }

    /// Moves the lane's branch to the commit of the sandbox. If the branch was moved outside meanwhile, it stays, and the commit is
    /// kept under a ref of its own. Returns a note about the result, and `None` when the sandbox has not moved its branch.
    fn take_back(&self, app: &App, clone: &LaneClone) -> Result<Option<String>> {
        let git = Git::new(app.env.vars(), &self.worktree);
        let short = |commit: &str| commit.chars().take(10).collect::<String>();
        let limit = app.settings.sandbox.take_back_limit;
        Ok(match clone.take_back(&git, self.lane.as_str(), &self.dir, limit)? {
            TakenBack::Unchanged => None,
            TakenBack::Moved { commit, commits: 0 } => {
                Some(format!("the branch {} is at {} now", self.branch, short(&commit)))
            }
            TakenBack::Moved { commit, commits } => {
                let count = fairway_core::domain::plural::count(commits, "new commit");
                Some(format!("{count} on {}, now at {}", self.branch, short(&commit)))
            }
            TakenBack::Kept { commit, kept_as } => Some(format!(
                "the branch {} was moved outside meanwhile: {} of the sandbox is kept as {kept_as}",
                self.branch,
                short(&commit)
            )),
        })
    }
}

/// Tries again to take back the commits of the lane's sandboxes that were refused, oldest first. `discard` is the number of one
/// that is removed instead, with its commits; then no other is tried.
///
/// # Errors
/// `not_found`; `in_use` while a sandbox works on the lane; `untrusted`; those of [`find`].
pub fn take_back_refused(app: &App, name: &LaneName, discard: Option<u32>) -> Result<SandboxTakeBackView> {
    trust::require(app)?;
    let place = find(app, Some(name))?;
    let _lock = place.lock()?;
    let git = Git::new(app.env.vars(), &place.worktree);
    let (mut notes, mut refused) = (Vec::new(), Vec::new());
    let mut all = LaneClone::refused_in(&place.dir);
    if let Some(number) = discard {
        let one = all.iter().find(|one| one.number == number);
        let one = one.ok_or_else(|| Refusal::not_found("repository", number.to_string()))?;
        fs::remove_dir_all(&one.dir).map_err(errors::internal)?;
        notes.push(format!("the commits of the repository {number} are given up"));
        all.clear();
    }
    for one in all {
        let Some(clone) = LaneClone::of_refused(&git, &one, &place.branch)? else { continue };
        match place.take_back(app, &clone) {
            Ok(note) => {
                clone.remove().map_err(errors::internal)?;
                notes.push(note.unwrap_or_else(|| format!("the repository {} had no new commit", one.number)));
            }
            Err(error) => refused.push(SandboxRefusedView { number: one.number, why: format!("{error:#}") }),
        }
    }
    Ok(SandboxTakeBackView { lane: name.to_string(), notes, refused })
}
