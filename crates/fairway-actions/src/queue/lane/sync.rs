//! Brings a lane's base into its branch.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::sync_intent::{self, SyncPlan};
use super::{checkout, stack, worktree};
use crate::core::lookup;
use crate::queue::base_commit;
use crate::{Answer, App};
use fairway_core::domain::landing::{LandStyle, Landing};
use fairway_core::domain::lane::Lane;
use fairway_core::domain::{LaneName, Refusal, plural};
use fairway_core::os::git::{Git, Integration, MergeRepository, UncommittedWork};
use fairway_core::store::{ReadTx, WriteTx, landings, lanes, sessions};
use fairway_core::wire::LaneSyncView;

/// How many of the newest landings are searched for the candidate of `--onto`.
const MAX_LANDINGS: i64 = 1000;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SyncOptions {
    /// A candidate of a landing: the base on which it was made is brought in, in the landing's style, so that the lane gets the
    /// candidate's tree.
    pub onto: Option<String>,
    /// Rebase the branch on the base; by default the base is merged into the branch.
    pub rebase: bool,
    pub force: bool,
    pub dry_run: bool,
}

/// Brings the base into what is checked out in the lane's worktree, which moves its branch. The result is worked out first, so a conflict changes nothing.
///
/// # Errors
/// `no_worktree`; `lane_elsewhere`; `operation_unfinished`; `unsaved_work`; `in_use` while another session works in the lane;
/// `merge_commits`; `sync_conflict`; `git_failed`, also without a configured author.
pub fn sync(app: &App, name: &LaneName, options: &SyncOptions) -> Result<Answer> {
    if let Some(answer) = app.stored_response()? {
        return Ok(answer);
    }
    worktree::check_actor(app)?;
    let _held = worktree::lock(app, name)?;
    let lane = app.read(|tx| lookup::lane(tx, name))?;
    let dir = checkout::dir(app, &lane, &["lane", "sync", name.as_str()])?;
    let git = Git::new(app.env.vars(), &dir);
    let (incoming, rebase) = match &options.onto {
        Some(onto) => {
            let of = candidate(app, &git, &lane, onto)?;
            (Incoming { name: of.base, commit: of.base_before }, of.style == LandStyle::Rebase)
        }
        None => {
            let name = checkout::base(app, &lane).to_owned();
            let commit =
                base_commit::find(app, &git, &name)?.ok_or_else(|| Refusal::not_found("base branch", &name))?;
            (Incoming { name, commit }, options.rebase)
        }
    };
    let force = |_: &str| {
        let hint = format!("stop it, or sync in spite of it: fairway lane sync {name} --force");
        (!options.force).then_some(hint)
    };
    let mut update = prepare(app, &lane, dir.clone(), incoming, options.dry_run, force)?;
    if options.onto.is_none() {
        update.since = stack::replaced(&git, name, (&update.head, &update.base_commit));
    }
    // A merge would bring the same work twice.
    let rebase = rebase || update.since.is_some();
    if update.behind == 0 {
        let answer = update.answer("up_to_date", Some(&update.head), options.dry_run)?;
        return if options.dry_run { Ok(answer) } else { app.mutate(|_| Ok(answer)) };
    }
    if options.dry_run {
        let git = Git::new(app.env.vars(), &update.dir);
        let scratch = checkout::scratch(app, &git)?;
        let (how, to) = checkout::ask_merges(app, &git, |merges| {
            let merges = merges.with_attributes_of(&update.head);
            update.work_out(&git.with_scratch(&scratch), &merges.git().with_scratch(&scratch), rebase)
        })?;
        let to = Some(to).filter(|_| how == "fast_forward");
        return update.answer(how, to.as_deref(), true);
    }
    let (how, plan) = update.plan(app, rebase)?;
    let done = update.apply(app, &plan, |_| {
        let undo = format!("git -C {} reset --keep {}", shell_words::quote(&update.dir.to_string_lossy()), plan.from);
        let answer = update.answer(how, Some(&plan.to), false)?;
        Ok(answer.note(format!("to undo it: {undo}")))
    })?;
    if app.read(|tx| Ok(lane.parent(&lanes::all(tx)?).is_some()))? {
        stack::keep(&git, name, &update.base_commit)?;
    } else {
        stack::forget(&git, name)?;
    }
    Ok(done)
}

/// Finds the landing of this lane whose candidate `onto` names. No other commit may come into the lane in place of its base.
fn candidate(app: &App, git: &Git<'_>, lane: &Lane, onto: &str) -> Result<Landing> {
    let known = app.read(|tx| Ok(landings::newest(tx, MAX_LANDINGS)?))?;
    let commit = git.commit(onto);
    let is_it = |one: &Landing| one.lane.as_ref() == Some(&lane.name) && one.candidate == commit;
    let landing = known.into_iter().find(|one| commit.is_some() && is_it(one));
    Ok(landing.ok_or_else(|| Refusal::NoCandidate { lane: lane.name.clone(), commit: onto.to_owned() })?)
}

/// Commits that come into a lane: the base of a sync, or the work that is handed over.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) name: String,
    pub(crate) commit: String,
}

/// A lane's branch and the commits that it is to get.
#[derive(Debug)]
pub(crate) struct LaneUpdate {
    name: LaneName,
    dir: PathBuf,
    branch: String,
    base: String,
    base_commit: String,
    pub(crate) head: String,
    /// The newest commit of the branch that the base has as another one, or has replaced.
    since: Option<String>,
    /// How many of the incoming commits the branch lacks.
    pub(crate) behind: u64,
    ahead: u64,
}

/// Checks that a lane can get the commits of `incoming`, after completing or dropping an interrupted sync. The caller must
/// have locked the lane's worktree `dir`. `busy` is called with another session that works in the lane; it returns the hint
/// for a refusal, or `None` to continue nevertheless. Fails with `operation_unfinished`, `unsaved_work`, `in_use`; `not_found` without
/// a commit.
pub(crate) fn prepare(
    app: &App,
    lane: &Lane,
    dir: PathBuf,
    incoming: Incoming,
    dry_run: bool,
    busy: impl FnOnce(&str) -> Option<String>,
) -> Result<LaneUpdate> {
    let name = &lane.name;
    let (left, other) = app.read(|tx| Ok((sync_intent::find(tx, name)?, other_session(app, tx, name)?)))?;
    let git = Git::new(app.env.vars(), &dir);
    let Incoming { name: base, commit: base_commit } = incoming;
    let head = git.head().ok_or_else(|| Refusal::NoCommit { base: base.clone() })?;
    if let (Some(left), false) = (&left, dry_run) {
        settle(app, name, left, &head)?;
    }
    let branch = checked_out(&git, name, &dir)?;
    let (behind, ahead) = git.count_apart(&base_commit, &head)?;
    if behind > 0 {
        check_clean(&git, name, &dir, left.is_some_and(|left| left.from == head))?;
        if let Some((session, hint)) = other.and_then(|session| busy(&session).map(|hint| (session, hint))) {
            let why = format!("session {session} works in it");
            return Err(Refusal::LaneHeld { lane: name.clone(), why, hint }.into());
        }
        git.bring_content(&head, &base_commit)?;
    }
    Ok(LaneUpdate { name: name.clone(), dir, branch, base, base_commit, head, since: None, behind, ahead })
}

impl LaneUpdate {
    /// Makes the commit to which the lane's branch will move, and moves nothing. The first value says how the branch will
    /// move: `fast_forward`, `merge` or `rebase`. Fails with `sync_conflict`, `merge_commits`.
    pub(crate) fn plan(&self, app: &App, rebase: bool) -> Result<(&'static str, SyncPlan)> {
        let git = Git::new(app.env.vars(), &self.dir).asking(app.env.terminal.stdin);
        let merges = MergeRepository::open(&git, &app.project.state.join("sync"))?.writing_to_project();
        let merges = merges.with_attributes_of(&self.head);
        let (how, to) = self.work_out(&git, &merges.git(), rebase)?;
        let plan = SyncPlan {
            base: self.base.clone(),
            base_commit: self.base_commit.clone(),
            how: how.to_owned(),
            behind: self.behind,
            from: self.head.clone(),
            to,
        };
        Ok((how, plan))
    }

    /// Moves the branch and the worktree, and records the move in one transaction with `change`. When `change` refuses, both
    /// are moved back. A crash leaves an intent that the next sync or acceptance completes or drops.
    pub(crate) fn apply(
        &self,
        app: &App,
        plan: &SyncPlan,
        change: impl FnOnce(&WriteTx<'_>) -> Result<Answer>,
    ) -> Result<Answer> {
        let git = Git::new(app.env.vars(), &self.dir);
        sync_intent::write(app, &self.name, plan)?;
        if let Err(error) = git.move_to(&plan.to) {
            app.transaction(|tx| sync_intent::clear(tx, &self.name))?;
            return Err(error.into());
        }
        let done = app.mutate(|tx| {
            sync_intent::record(tx, &self.name, plan, false)?;
            change(tx)
        });
        // Only after a refusal it is certain that nothing was written. If the branch has a newer commit, the move stays.
        if done.as_ref().is_err_and(anyhow::Error::is::<Refusal>)
            && git.head().as_ref() == Some(&plan.to)
            && git.move_to(&plan.from).is_ok()
        {
            app.transaction(|tx| sync_intent::clear(tx, &self.name))?;
        }
        done
    }

    /// The commit to move to, and how it is made.
    fn work_out(&self, git: &Git<'_>, merges: &Git<'_>, rebase: bool) -> Result<(&'static str, String)> {
        if self.ahead == 0 {
            return Ok(("fast_forward", self.base_commit.clone()));
        }
        let verb = if rebase { "rebase" } else { "merge" };
        let result = if rebase {
            let since = self.since.as_deref();
            if git.has_merges(since.unwrap_or(&self.base_commit), &self.head)? {
                return Err(Refusal::MergeCommits { lane: self.name.clone() }.into());
            }
            git.plan_rebase(merges, &self.head, &self.base_commit, since)?
        } else {
            let message = format!("Merge branch '{}' into {}", self.base, self.branch);
            git.plan_merge(merges, &self.head, &self.base_commit, &message)?
        };
        match result {
            Integration::Commit(commit) => Ok((verb, commit)),
            Integration::Conflict { files, commit } => {
                let onto = self.since.as_ref().map(|since| format!("--onto {} {since}", self.base));
                let dir = self.dir.to_string_lossy();
                let by_hand =
                    format!("git -C {} {verb} {}", shell_words::quote(&dir), onto.as_ref().unwrap_or(&self.base));
                let (lane, base) = (self.name.clone(), self.base.clone());
                Err(Refusal::SyncConflict { lane, base, files, commit, by_hand }.into())
            }
        }
    }

    pub(crate) fn line(&self, how: &str, is_plan: bool) -> String {
        let Self { name, base, branch, behind, ahead, .. } = self;
        let verb = match (how, is_plan) {
            ("up_to_date", _) => return format!("lane {name} already contains {base}"),
            ("fast_forward", true) => "would fast-forward",
            ("fast_forward", false) => "fast-forwarded",
            ("rebase", true) => "would rebase",
            ("rebase", false) => "rebased",
            (_, true) => "would merge",
            (_, false) => "merged",
        };
        let commits = |number: u64| plural::count(number, "commit");
        match how {
            "fast_forward" => format!("lane {name}: {verb} {branch} to {base} ({})", commits(*behind)),
            "rebase" => format!("lane {name}: {verb} {} of {branch} on {base}", commits(*ahead)),
            _ => format!("lane {name}: {verb} {} of {base} into {branch}", commits(*behind)),
        }
    }

    pub(crate) fn view(&self, how: &'static str, to: Option<&str>, dry_run: bool) -> LaneSyncView {
        LaneSyncView {
            lane: self.name.to_string(),
            worktree: self.dir.display().to_string(),
            branch: self.branch.clone(),
            base: self.base.clone(),
            base_commit: self.base_commit.clone(),
            how,
            behind: self.behind,
            from: self.head.clone(),
            to: to.map(str::to_owned),
            dry_run,
        }
    }

    fn answer(&self, how: &'static str, to: Option<&str>, dry_run: bool) -> Result<Answer> {
        let line = self.line(how, dry_run);
        let line = if how == "up_to_date" { format!("unchanged: {line}") } else { line };
        Answer::new(&self.view(how, to, dry_run), &self.name, line)
    }
}

/// A live session of the lane other than the caller's.
fn other_session(app: &App, tx: &ReadTx<'_>, name: &LaneName) -> Result<Option<String>> {
    let live = sessions::live(tx)?;
    let other = live.iter().find(|one| one.lane.as_ref() == Some(name) && app.actor.session.as_ref() != Some(&one.id));
    Ok(other.map(|session| session.id.to_string()))
}

/// Ends an interrupted sync: records its move, or deletes its intent when the branch did not move.
fn settle(app: &App, name: &LaneName, left: &SyncPlan, head: &str) -> Result<()> {
    app.transaction(|tx| {
        if head == left.to { sync_intent::record(tx, name, left, true) } else { sync_intent::clear(tx, name) }
    })
}

/// The branch that is checked out, or `HEAD` where none is. Fails with `operation_unfinished`.
fn checked_out(git: &Git<'_>, name: &LaneName, dir: &Path) -> Result<String> {
    if let Some(operation) = git.unfinished_operation()? {
        let (of, dir) = (format!("the lane {name}"), dir.display().to_string());
        return Err(Refusal::OperationUnfinished { of, operation, dir }.into());
    }
    Ok(git.current_branch()?.unwrap_or_else(|| "HEAD".to_owned()))
}

/// Refuses a worktree with changes. `is_interrupted` says that some of them may come from an interrupted sync.
fn check_clean(git: &Git<'_>, name: &LaneName, dir: &Path, is_interrupted: bool) -> Result<()> {
    let work = UncommittedWork { changes: git.changes()?, ..UncommittedWork::default() };
    let Some(text) = work.text() else { return Ok(()) };
    let mut why = format!("its worktree {text}");
    if is_interrupted {
        why.push_str("; some may be of a sync that was interrupted");
    }
    Err(Refusal::UnsavedWork { lane: name.clone(), verb: "sync", why, dir: Some(dir.display().to_string()) }.into())
}
