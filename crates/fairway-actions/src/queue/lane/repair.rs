//! Makes a lane's worktree again after its directory was removed or its creation was interrupted, and connects it with its
//! repository after the project was moved.

use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Result;

use super::checkout::{self, Presence};
use super::copies;
use super::edit::{self, here};
use super::worktree::{self, Checkout};
use crate::core::{errors, lookup, other_host};
use crate::queue::base_commit;
use crate::{Answer, App};
use fairway_core::config::project::{WORKTREES_DIR, WayBack, is_lost_worktree, way_back, worktree_record};
use fairway_core::domain::lane::Lane;
use fairway_core::domain::{Event, EventKind, LaneName, Refusal};
use fairway_core::os::files;
use fairway_core::os::git::{Git, Repository};
use fairway_core::store::lanes;

/// Makes a lane's worktree again from its branch, or from the lane's base when the branch is gone. An existing worktree
/// stays; one of a moved project is connected with its repository again.
///
/// # Errors
/// `no_worktree`; `lane_elsewhere`; `lane_held` when other files are in its directory.
pub fn repair(app: &App, name: &LaneName) -> Result<Answer> {
    if let Some(answer) = app.stored_response()? {
        return Ok(answer);
    }
    worktree::check_actor(app)?;
    let _held = worktree::lock(app, name)?;
    let lane = app.read(|tx| lookup::lane(tx, name))?;
    other_host::refuse_lane(app, &lane, &["lane", "repair", name.as_str()])?;
    if let Some(dir) = lost_worktree(app, &lane)? {
        return connect(app, &lane, &dir);
    }
    let dir = match checkout::presence(app, &lane) {
        Presence::None | Presence::Elsewhere => return Err(Refusal::LaneWithoutWorktree { lane: name.clone() }.into()),
        Presence::Present(dir) => {
            let inside = Repository::of(Git::new(app.env.vars(), &dir));
            if !inside.is_unfinished()? {
                return app
                    .mutate(|tx| edit::answer(tx, name, format!("unchanged: the worktree of lane {name} is there")));
            }
            inside.checkout()?;
            return record(app, &lane, &dir, false);
        }
        Presence::Damaged(dir, _) => return mend(app, &lane, &dir),
        // The directory is there without its `.git` file.
        Presence::Missing(dir) if lane.owns_worktree && has_files(&dir) => return mend(app, &lane, &dir),
        Presence::Missing(dir) => dir,
    };
    let branch = lane.branch_name();
    let git = Repository::of(Git::new(app.env.vars(), &app.project.root));
    let is_new_branch = make(app, &git, &lane, &branch, &dir)?;
    Repository::of(Git::new(app.env.vars(), &dir)).checkout()?;
    record(app, &lane, &dir, is_new_branch)
}

fn has_files(dir: &Path) -> bool {
    dir.read_dir().is_ok_and(|mut entries| entries.next().is_some())
}

/// Connects the directory with git's record of the worktree by a new `.git` file. The other files stay. An existing `.git` entry
/// is kept under another name beside it.
fn mend(app: &App, lane: &Lane, dir: &Path) -> Result<Answer> {
    let Some(record) = worktree_record(&app.project.root, dir) else {
        let fresh = fresh_worktree(lane, dir);
        if is_lost_worktree(dir) || fresh.exists() {
            return record_anew(app, lane, dir, &fresh);
        }
        let quoted = shell_words::quote(&dir.to_string_lossy()).into_owned();
        let why = format!("git has no record of its worktree, and {} has files", dir.display());
        let hint = format!("move them away: mv {quoted} {quoted}.old && fairway lane repair {}", lane.name);
        return Err(Refusal::LaneHeld { lane: lane.name.clone(), why, hint }.into());
    };
    let _alone = worktree::lock_git(app)?;
    let kept = set_aside(&dir.join(".git"), &record).map_err(errors::internal)?;
    files::write_atomic(&dir.join(".git"), format!("gitdir: {}\n", record.display()).as_bytes(), 0o644)
        .and_then(|()| files::write_atomic(&record.join("commondir"), b"../..\n", 0o644))
        .and_then(|()| match way_back(&record, dir) {
            WayBack::Here => Ok(()),
            WayBack::Elsewhere | WayBack::Gone => {
                let back = format!("{}\n", dir.join(".git").display());
                files::write_atomic(&record.join("gitdir"), back.as_bytes(), 0o644)
            }
        })
        .map_err(errors::internal)?;
    let head = fs::read_to_string(record.join("HEAD")).unwrap_or_default();
    let is_sound = head.starts_with("ref: refs/") || head.trim_end().chars().all(|digit| digit.is_ascii_hexdigit());
    if let (Some(branch), false) = (&lane.branch, is_sound && !head.is_empty()) {
        let text = format!("ref: refs/heads/{branch}\n");
        files::write_atomic(&record.join("HEAD"), text.as_bytes(), 0o644).map_err(errors::internal)?;
    }
    let note = kept.map(|kept| format!("the repository that was in its place is {}", kept.display()));
    Ok(recorded_connection(app, lane, dir)?.with_notes(note))
}

/// Renames the `.git` entry, unless it leads to this record already. Returns the new path.
fn set_aside(entry: &Path, record: &Path) -> io::Result<Option<PathBuf>> {
    let own = format!("gitdir: {}", record.display());
    let is_own = || fs::read_to_string(entry).is_ok_and(|text| text.trim_end() == own);
    match entry.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
        Ok(found) if found.is_file() && is_own() => return Ok(None),
        Ok(_) => {}
    }
    let free = (1..).map(|number| entry.with_file_name(format!(".git.replaced.{number}")));
    let kept = free.take(1000).find(|path| path.symlink_metadata().is_err());
    let kept = kept.ok_or_else(|| io::Error::other("there are too many replaced repositories"))?;
    fs::rename(entry, &kept)?;
    Ok(Some(kept))
}

/// The lane's worktree, when it lost its repository because the project was moved.
fn lost_worktree(app: &App, lane: &Lane) -> Result<Option<PathBuf>> {
    Ok(match checkout::presence(app, lane) {
        Presence::None | Presence::Elsewhere | Presence::Damaged(..) => None,
        Presence::Present(dir) => Some(dir).filter(|dir| is_lost_worktree(dir)),
        Presence::Missing(_) if lane.owns_worktree => {
            let moved_along = app.project.state.join(WORKTREES_DIR).join(lane.name.as_str());
            let places = [PathBuf::from(worktree::default_path(app, &lane.name)?), moved_along];
            places.into_iter().find(|dir| is_lost_worktree(dir))
        }
        Presence::Missing(_) => None,
    })
}

fn connect(app: &App, lane: &Lane, dir: &Path) -> Result<Answer> {
    let _alone = worktree::lock_git(app)?;
    Repository::of(Git::new(app.env.vars(), &app.project.root)).repair_worktree(dir)?;
    recorded_connection(app, lane, dir)
}

/// Where a new record comes from: git names it by the last part of the path.
fn fresh_worktree(lane: &Lane, dir: &Path) -> PathBuf {
    dir.with_file_name(format!(".{}.repair", lane.name)).join(lane.name.as_str())
}

/// Gives the directory a new record of git, at the lane's branch. Git has dropped the old one with its index, as `git worktree prune`
/// does while the directory is away. The files stay, so that what differs from the branch is uncommitted work.
fn record_anew(app: &App, lane: &Lane, dir: &Path, fresh: &Path) -> Result<Answer> {
    let git = &Repository::of(Git::new(app.env.vars(), &app.project.root));
    let branch = lane.branch_name();
    if fresh.join(".git").exists() {
        // Of a repair that was interrupted. No file was checked out there.
        git.remove_worktree(fresh, true)?;
    }
    make(app, git, lane, &branch, fresh)?;
    let _alone = worktree::lock_git(app)?;
    fs::rename(fresh.join(".git"), dir.join(".git"))
        .and_then(|()| fs::remove_dir(fresh))
        .and_then(|()| fresh.parent().map_or(Ok(()), fs::remove_dir))
        .map_err(errors::internal)?;
    git.repair_worktree(dir)?;
    Repository::of(Git::new(app.env.vars(), dir)).read_index()?;
    recorded_connection(app, lane, dir)
}

fn recorded_connection(app: &App, lane: &Lane, dir: &Path) -> Result<Answer> {
    let git = Git::new(app.env.vars(), dir);
    Repository::around(git)?;
    let branch = git.current_branch()?;
    let place = dir.to_string_lossy().into_owned();
    app.mutate(|tx| {
        let lane = here(Lane { worktree: Some(place.clone()), ..lookup::lane(tx, &lane.name)? });
        lanes::upsert(tx, &lane)?;
        tx.record(
            &Event::new(EventKind::LaneWorktreeRepaired)
                .lane(Some(&lane.name))
                .with("worktree", lane.worktree.as_deref())
                .with("branch", branch.as_deref())
                .with("new_branch", false),
        )?;
        let line = format!("connected the worktree of lane {} at {place} with its repository again", lane.name);
        edit::answer(tx, &lane.name, line)
    })
}

/// Creates the worktree, and its branch if that is gone. Returns whether the branch is new.
fn make(app: &App, git: &Repository<'_>, lane: &Lane, branch: &str, dir: &Path) -> Result<bool> {
    let _alone = worktree::lock_git(app)?;
    if dir.is_file() {
        return Err(Refusal::AlreadyExists { noun: "directory", id: dir.display().to_string() }.into());
    }
    if dir.is_dir() {
        // Empty: `add_worktree` and the removal of git's record need a free path.
        fs::remove_dir(dir).map_err(errors::internal)?;
    }
    if git.has_worktree(dir)? {
        // Drops git's record of the directory that is gone; git refuses that for a locked worktree.
        worktree::remove_worktree(app, git, dir, Checkout::Complete)?;
    }
    let is_new_branch = git.branch_commit(branch)?.is_none();
    if is_new_branch {
        let base = checkout::base(app, lane);
        let commit = base_commit::find(app, git.git(), base)?.ok_or_else(|| Refusal::not_found("base branch", base))?;
        git.create_branch(branch, &commit)?;
    }
    git.add_worktree(dir, branch)?;
    Ok(is_new_branch)
}

fn record(app: &App, lane: &Lane, dir: &Path, is_new_branch: bool) -> Result<Answer> {
    let copied = copies::copy_missing(app, dir)?;
    let branch = Git::new(app.env.vars(), dir).current_branch()?;
    app.mutate(|tx| {
        lanes::upsert(tx, &here(lookup::lane(tx, &lane.name)?))?;
        tx.record(
            &Event::new(EventKind::LaneWorktreeRepaired)
                .lane(Some(&lane.name))
                .with("worktree", lane.worktree.as_deref())
                .with("branch", branch.as_deref())
                .with("new_branch", is_new_branch),
        )?;
        let origin = if is_new_branch { "a new branch" } else { "its branch" };
        let line =
            format!("made the worktree of lane {} again, on {origin} {}", lane.name, branch.as_deref().unwrap_or("-"));
        Ok(edit::answer(tx, &lane.name, line)?.with_notes(copied))
    })
}
