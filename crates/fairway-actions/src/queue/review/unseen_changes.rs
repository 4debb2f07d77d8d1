//! The part of some work that a reviewer has not seen.

use anyhow::Result;

use crate::App;
use crate::queue::lane::diff::file_view;
use fairway_core::domain::commit_id;
use fairway_core::domain::seen_work::SeenCommit;
use fairway_core::os::git::{ChangedFile, CommitChange, Git, GitError, MergeRepository, NewWork, RangeCommit};
use fairway_core::wire::{FileDiffView, ReviewChangesView, ReviewCommitView};

const DIR: &str = "review";
/// How many of the seen commits the new work is compared with.
const MAX_COMPARED: usize = 4;
/// The longest patch, in bytes. A longer one is cut, and does not count as seen.
const MAX_PATCH_BYTES: usize = 1 << 20;

#[derive(Debug, Clone, Copy)]
pub(super) struct Work<'a> {
    pub commit: &'a str,
    pub base: &'a str,
    pub base_tip: &'a str,
    /// The newest commit of the base that the work contains.
    pub fork: &'a str,
}

/// The part of some work that a reviewer has not seen. Of the commits that the reviewer has seen, the work is compared with
/// the one that leaves the least to read; when it can be compared with none, everything is shown.
pub(super) fn unseen(app: &App, git: &Git<'_>, work: Work<'_>, seen: &[SeenCommit]) -> Result<ReviewChangesView> {
    let merges = MergeRepository::open(git, &app.project.state.join(DIR));
    let mut why_all = None;
    let mut least: Option<(&SeenCommit, NewWork)> = None;
    for one in seen.iter().take(MAX_COMPARED) {
        let merges = merges.as_ref().map_err(ToString::to_string);
        match merges.and_then(|merges| since(git, merges, work, one)) {
            Ok(new) if least.as_ref().is_none_or(|(_, least)| lines(&new.files) < lines(&least.files)) => {
                least = Some((one, new));
            }
            Ok(_) => {}
            Err(why) => why_all = why_all.or(Some(why)),
        }
    }
    let reader = merges.as_ref().map_or(*git, MergeRepository::git);
    let (since, new) = match least {
        Some((since, new)) => (Some(since), new),
        None => (None, reader.work_between(work.fork, work.commit)?),
    };
    let before = since.map_or((work.fork, work.fork), |since| (&*since.fork, &*since.commit));
    // The list of commits is only a help; the lines do not depend on it.
    let commits = reader.range_between(before, (work.fork, work.commit)).unwrap_or_default();
    Ok(view(work, since, why_all.filter(|_| since.is_none()), new, commits))
}

/// Every path that the work changes since it forked from its base; for a renamed file both names.
pub(super) fn paths(git: &Git<'_>, work: Work<'_>) -> Result<Vec<String>, GitError> {
    let files = git.files_between(work.fork, work.commit, &[])?;
    Ok(files.into_iter().flat_map(|file| [Some(file.path), file.old_path]).flatten().collect())
}

/// The part of the work that is new since a seen commit, or the reason why it is unknown.
fn since(git: &Git<'_>, merges: &MergeRepository, work: Work<'_>, seen: &SeenCommit) -> Result<NewWork, String> {
    let short = commit_id::short(&seen.commit);
    if git.commit(&seen.commit).is_none() {
        return Err(format!("the commit {short}, which you have seen, is not in this repository"));
    }
    // What the base had when the work was seen counts as the base's part. A base that has lost it leaves it to the work.
    if git.is_ancestor(&seen.fork, work.base_tip) != Some(true) {
        return Err(format!("'{}' no longer contains the commit that {short} left it at", work.base));
    }
    merges.new_since(&seen.commit, work.commit, work.fork).map_err(|error| error.to_string())
}

fn lines(files: &[ChangedFile]) -> (u64, usize) {
    // A binary file has no lines, and is something to see all the same.
    let changed = |file: &ChangedFile| file.added.unwrap_or(1) + file.deleted.unwrap_or(1);
    (files.iter().map(changed).sum(), files.len())
}

fn view(
    work: Work<'_>,
    since: Option<&SeenCommit>,
    why_all: Option<String>,
    new: NewWork,
    commits: Vec<RangeCommit>,
) -> ReviewChangesView {
    let mut patch = String::from_utf8_lossy(&new.patch).into_owned();
    let patch_cut = patch.len() > MAX_PATCH_BYTES;
    if patch_cut {
        let end = (0..=MAX_PATCH_BYTES).rev().find(|end| patch.is_char_boundary(*end)).unwrap_or_default();
        patch.truncate(end);
    }
    let mut files: Vec<FileDiffView> = new.files.into_iter().map(file_view).collect();
    files.sort_by(|one, other| one.path.cmp(&other.path));
    ReviewChangesView {
        commit: work.commit.to_owned(),
        base: work.base.to_owned(),
        fork: work.fork.to_owned(),
        since: since.map(|since| since.commit.clone()),
        why_all,
        conflicts: new.conflicts,
        commits: commits.into_iter().map(commit_view).collect(),
        added: files.iter().filter_map(|file| file.added).sum(),
        deleted: files.iter().filter_map(|file| file.deleted).sum(),
        files,
        patch,
        patch_cut,
    }
}

fn commit_view(commit: RangeCommit) -> ReviewCommitView {
    let RangeCommit { change, before, after, subject } = commit;
    let change = match change {
        CommitChange::Same => "same",
        CommitChange::Changed => "changed",
        CommitChange::Dropped => "dropped",
        CommitChange::New => "new",
    };
    ReviewCommitView { change, before, after, subject }
}
