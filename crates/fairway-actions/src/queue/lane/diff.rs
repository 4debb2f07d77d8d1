//! The difference between a lane's worktree and its base.

use anyhow::Result;

use super::{checkout, work};
use crate::App;
use crate::core::lookup;
use crate::queue::base_commit;
use fairway_core::config::sandbox_defaults;
use fairway_core::domain::lane::Lane;
use fairway_core::domain::{LaneName, Refusal};
use fairway_core::env::Timestamp;
use fairway_core::os::git::{ChangedFile, DiffFormat, EarlierCommit, Git, WorktreeDiff};
use fairway_core::store::events;
use fairway_core::wire::{FileDiffView, LaneDiffView};

/// The difference between a lane's worktree and its base, or the commit that `since` names, as a document. It includes
/// uncommitted and new files. Nothing is written to the repository.
///
/// # Errors
/// `not_found` for the base and for `since`; `no_worktree`; `lane_elsewhere`.
pub fn view(app: &App, name: &LaneName, since: Option<&str>) -> Result<LaneDiffView> {
    with_diff(app, name, since, |git, diff, facts| {
        let mut files: Vec<FileDiffView> = diff.files(&facts.since)?.into_iter().map(file_view).collect();
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(LaneDiffView {
            lane: name.to_string(),
            worktree: git.dir().display().to_string(),
            branch: facts.branch,
            commit: facts.head,
            base: facts.base,
            since: facts.since,
            added: files.iter().filter_map(|file| file.added).sum(),
            deleted: files.iter().filter_map(|file| file.deleted).sum(),
            runs_later: runs_later(&files),
            files,
            special_files: diff.special().to_vec(),
            repositories: diff.repositories().to_vec(),
        })
    })
}

#[derive(Debug)]
pub struct DiffNotes {
    /// Paths of files in the commit that are now no regular files, for example a socket.
    pub special: Vec<String>,
    /// Paths of repositories that are not tracked.
    pub repositories: Vec<String>,
    /// Paths that a person's programs would run or read later.
    pub runs_later: Vec<String>,
}

fn notes(diff: &WorktreeDiff<'_>, since: &str) -> Result<DiffNotes> {
    let files: Vec<FileDiffView> = diff.files(since)?.into_iter().map(file_view).collect();
    let (special, repositories) = (diff.special().to_vec(), diff.repositories().to_vec());
    Ok(DiffNotes { special, repositories, runs_later: runs_later(&files) })
}

fn runs_later(files: &[FileDiffView]) -> Vec<String> {
    let defaults = sandbox_defaults();
    files.iter().map(|file| &file.path).filter(|path| defaults.runs_later(path)).cloned().collect()
}

/// Shows the difference on the terminal through git's pager.
pub fn show(
    app: &App,
    name: &LaneName,
    since: Option<&str>,
    format: DiffFormat,
    color: Option<bool>,
) -> Result<DiffNotes> {
    with_diff(app, name, since, |_, diff, facts| {
        diff.show(&facts.since, format, color)?;
        notes(diff, &facts.since)
    })
}

/// The difference in the form in which `git diff` prints it into a pipe.
pub fn text(
    app: &App,
    name: &LaneName,
    since: Option<&str>,
    format: DiffFormat,
    color: Option<bool>,
) -> Result<(Vec<u8>, DiffNotes)> {
    with_diff(app, name, since, |_, diff, facts| {
        Ok((diff.text(&facts.since, format, color)?, notes(diff, &facts.since)?))
    })
}

/// The changes of a lane.
#[derive(Debug)]
pub struct LanePatches {
    pub commit: String,
    /// From the base to the commit.
    pub committed: String,
    /// From the commit to the files of the worktree.
    pub uncommitted: String,
}

/// The changes of a lane as patches, those in its commit and those in none apart.
pub fn patches(app: &App, name: &LaneName) -> Result<LanePatches> {
    let text = |patch: Vec<u8>| String::from_utf8_lossy(&patch).into_owned();
    with_diff(app, name, None, |git, diff, facts| {
        Ok(LanePatches {
            committed: text(git.work_between(&facts.since, &facts.head)?.patch),
            uncommitted: text(diff.text(&facts.head, DiffFormat::Patch, Some(false))?),
            commit: facts.head,
        })
    })
}

struct Facts {
    head: String,
    branch: Option<String>,
    base: String,
    /// The commit that the worktree is compared with.
    since: String,
}

fn with_diff<T>(
    app: &App,
    name: &LaneName,
    since: Option<&str>,
    act: impl FnOnce(&Git<'_>, &WorktreeDiff<'_>, Facts) -> Result<T>,
) -> Result<T> {
    let lane = app.read(|tx| lookup::lane(tx, name))?;
    let words = ["lane", "diff", name.as_str()];
    let dir = checkout::dir(app, &lane, &words)?;
    let work = work::of_lane(app, &lane, &words)?;
    let top = Git::new(app.env.vars(), &dir).top()?;
    let git = Git::new(app.env.vars(), &top);
    let base = checkout::base(app, &lane).to_owned();
    let head = work.commit().ok_or_else(|| Refusal::NoCommit { base: base.clone() })?.to_owned();
    let branch = work.on().map(str::to_owned);
    let since = match since {
        Some(since) => since_commit(app, &git, (&lane, branch.as_deref()), since)?,
        None => {
            let base_commit = base_commit::find(app, &git, &base)?;
            let base_commit = base_commit.ok_or_else(|| Refusal::not_found("base branch", &base))?;
            let fork = git.merge_base(&base_commit, &head)?;
            fork.ok_or_else(|| Refusal::not_found("common commit", format!("{base}...{name}")))?
        }
    };
    let diff = WorktreeDiff::open(git, &checkout::temp_dir(app))?;
    act(&git, &diff, Facts { head, branch, base, since })
}

pub(crate) fn file_view(file: ChangedFile) -> FileDiffView {
    let status = match file.letter {
        'A' => "added",
        'C' => "copied",
        'D' => "deleted",
        'R' => "renamed",
        'T' => "type_changed",
        'U' => "unmerged",
        _ => "modified",
    };
    FileDiffView { path: file.path, old_path: file.old_path, status, added: file.added, deleted: file.deleted }
}

/// The commit that `since` names. A number is that of an event, and stands for the commit that the checked out branch of the
/// lane had at the time of the event; any other text is a commit, branch or tag. Fails with `not_found`, also for an event that is older than
/// the branch's reflog.
fn since_commit(app: &App, git: &Git<'_>, of: (&Lane, Option<&str>), since: &str) -> Result<String> {
    let is_number = since.bytes().all(|byte| byte.is_ascii_digit());
    match since.parse::<i64>() {
        Ok(seq) if is_number => at_event(app, git, of, seq),
        _ => Ok(git.commit(since).ok_or_else(|| Refusal::not_found("commit", since))?),
    }
}

fn at_event(app: &App, git: &Git<'_>, (lane, branch): (&Lane, Option<&str>), seq: i64) -> Result<String> {
    let at = app.read(|tx| Ok(events::time(tx, seq)?))?;
    let at = at.ok_or_else(|| Refusal::not_found("event", seq.to_string()))?;
    let reference = branch.map_or_else(|| "HEAD".to_owned(), |branch| format!("refs/heads/{branch}"));
    let before = |begins| -> anyhow::Error {
        let lane: LaneName = lane.name.clone();
        Refusal::BeforeReflog { lane, branch: branch.unwrap_or("HEAD").into(), event: seq, at, begins }.into()
    };
    match git.commit_at(&reference, at.millis().div_euclid(1_000))? {
        EarlierCommit::At(commit) => Ok(commit),
        EarlierCommit::Before(begins) => Err(before(Some(Timestamp::from_millis(begins * 1_000)))),
        EarlierCommit::NoReflog => Err(before(None)),
    }
}
