//! Bring a lane's base into its branch.

use std::path::Path;

use anyhow::Result;

use super::{
    checkout,
    sync_intent::{self, SyncPlan},
    worktree,
};
use crate::{
    actions::{Answer, App, core::lookup},
    domain::{LaneName, Refusal, lane::Lane},
    os::git::{Git, Integration, MergeRepository, UncommittedWork},
    store::{ReadTx, landings, sessions},
    wire::LaneSyncView,
};

/// The candidates of so many of the newest landings are known.
const MAX_LANDINGS: i64 = 1000;

/// How the base comes into the lane.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SyncOptions {
    /// The candidate of a landing of the lane, in place of the base.
    pub onto: Option<String>,
    /// Rebase the branch on the base; otherwise merge the base into the branch.
    pub rebase: bool,
    /// Also while a session works in the lane.
    pub force: bool,
    /// Change nothing.
    pub dry_run: bool,
}

/// Brings the base into the lane's branch and worktree. The result is worked out before the worktree changes, so a conflict
/// leaves everything as it was.
///
/// # Errors
/// `no_worktree`; `lane_elsewhere`; `not_found` for the worktree, the base or the candidate; `wrong_branch`; `unsaved_work`; `in_use` while
/// another session works in the lane; `merge_commits`; `sync_conflict`; `git_failed`, also without a configured author.
pub fn sync(app: &App, name: &LaneName, options: &SyncOptions) -> Result<Answer> {
    if let Some(answer) = app.stored_response()? {
        return Ok(answer);
    }
    worktree::check_actor(app)?;
    let _held = worktree::lock(app, name)?;
    let (lane, left, busy) = app.read(|tx| {
        let lane = lookup::lane(tx, name)?;
        Ok((lane, sync_intent::find(tx, name)?, other_session(app, tx, name)?))
    })?;
    let dir = checkout::dir(app, &lane, &["lane", "sync", name.as_str()])?;
    let git = Git::new(app.env.vars(), &dir);
    let (base, base_commit) = match &options.onto {
        Some(onto) => candidate(app, &git, &lane, onto)?,
        None => {
            let base = checkout::base(app, &lane).to_owned();
            let commit = git.commit(&base).ok_or_else(|| Refusal::not_found("base branch", &base))?;
            (base, commit)
        }
    };
    let head = git.head().ok_or_else(|| Refusal::NoCommit { base: base.clone() })?;
    if let (Some(left), false) = (&left, options.dry_run) {
        settle(app, name, left, &head)?;
    }
    let branch = check_branch(&git, &lane, &dir)?;
    let (behind, ahead) = git.count_apart(&base_commit, &head)?;
    let facts = Facts { name, dir: &dir, branch, base, base_commit, head, behind };
    if behind == 0 {
        let line = format!("unchanged: lane {name} already contains {}", facts.base);
        let answer = facts.answer("up_to_date", Some(&facts.head), options.dry_run, line)?;
        return if options.dry_run { Ok(answer) } else { app.mutate(|_| Ok(answer)) };
    }
    check_clean(&git, &facts, left.as_ref())?;
    if let (Some(session), false) = (busy, options.force) {
        let why = format!("session {session} works in it");
        let hint = format!("stop it, or sync in spite of it: fairway lane sync {name} --force");
        return Err(Refusal::LaneHeld { lane: name.clone(), why, hint }.into());
    }
    if options.dry_run {
        let scratch = checkout::scratch(app, &git)?;
        let (how, to) = checkout::ask_merges(app, &git, |merges| {
            let merges = merges.with_attributes_of(&facts.head);
            facts.plan(&git.with_scratch(&scratch), &merges.git().with_scratch(&scratch), ahead, options.rebase)
        })?;
        let to = Some(to).filter(|_| how == "fast_forward");
        return facts.answer(how, to.as_deref(), true, facts.line("would", how, ahead));
    }
    let merges = MergeRepository::open(&git, &app.project.state.join("sync"))?.writing_to_project();
    let merges = merges.with_attributes_of(&facts.head);
    let (how, to) = facts.plan(&git, &merges.git(), ahead, options.rebase)?;
    let plan = SyncPlan {
        base: facts.base.clone(),
        base_commit: facts.base_commit.clone(),
        how: how.to_owned(),
        behind,
        from: facts.head.clone(),
        to,
    };
    sync_intent::write(app, name, &plan)?;
    if let Err(error) = git.move_to(&plan.to) {
        app.transaction(|tx| sync_intent::clear(tx, name))?;
        return Err(error.into());
    }
    app.mutate(|tx| {
        sync_intent::record(tx, name, &plan, false)?;
        let undo = format!("git -C {} reset --keep {}", shell_words::quote(&facts.dir.to_string_lossy()), plan.from);
        let answer = facts.answer(how, Some(&plan.to), false, facts.line("", how, ahead))?;
        Ok(answer.note(format!("to undo it: {undo}")))
    })
}

/// The short name and the commit of a candidate with which the lane was to land. Nothing else comes into the lane in place of its
/// base.
fn candidate(app: &App, git: &Git<'_>, lane: &Lane, onto: &str) -> Result<(String, String)> {
    let known = app.read(|tx| Ok(landings::newest(tx, MAX_LANDINGS)?))?;
    let commit = git.commit(onto).filter(|commit| {
        known.iter().any(|one| one.lane.as_ref() == Some(&lane.name) && one.candidate.as_ref() == Some(commit))
    });
    let commit = commit.ok_or_else(|| Refusal::NoCandidate { lane: lane.name.clone(), commit: onto.to_owned() })?;
    Ok((commit.get(..12).unwrap_or(&commit).to_owned(), commit))
}

/// The facts of a sync.
struct Facts<'a> {
    name: &'a LaneName,
    dir: &'a Path,
    branch: String,
    base: String,
    base_commit: String,
    head: String,
    behind: u64,
}

impl Facts<'_> {
    /// The commit to move to, and how it is made.
    fn plan(&self, git: &Git<'_>, merges: &Git<'_>, ahead: u64, rebase: bool) -> Result<(&'static str, String)> {
        if ahead == 0 {
            return Ok(("fast_forward", self.base_commit.clone()));
        }
        let verb = if rebase { "rebase" } else { "merge" };
        let result = if rebase {
            if git.has_merges(&self.base_commit, &self.head)? {
                return Err(Refusal::MergeCommits { lane: self.name.clone() }.into());
            }
            git.plan_rebase(merges, &self.head, &self.base_commit)?
        } else {
            let message = format!("Merge branch '{}' into {}", self.base, self.branch);
            git.plan_merge(merges, &self.head, &self.base_commit, &message)?
        };
        match result {
            Integration::Commit(commit) => Ok((verb, commit)),
            Integration::Conflict { files, commit } => {
                let by_hand =
                    format!("git -C {} {verb} {}", shell_words::quote(&self.dir.to_string_lossy()), self.base);
                let (lane, base) = (self.name.clone(), self.base.clone());
                Err(Refusal::SyncConflict { lane, base, files, commit, by_hand }.into())
            }
        }
    }

    fn line(&self, would: &str, how: &str, ahead: u64) -> String {
        let Self { name, base, branch, behind, .. } = self;
        let is_plan = !would.is_empty();
        let verb = match (how, is_plan) {
            ("fast_forward", true) => "fast-forward",
            ("fast_forward", false) => "fast-forwarded",
            ("rebase", true) => "rebase",
            ("rebase", false) => "rebased",
            (_, true) => "merge",
            (_, false) => "merged",
        };
        let verb = if is_plan { format!("{would} {verb}") } else { verb.to_owned() };
        let commits = |count: u64| if count == 1 { "1 commit".to_owned() } else { format!("{count} commits") };
        match how {
            "fast_forward" => format!("lane {name}: {verb} {branch} to {base} ({})", commits(*behind)),
            "rebase" => format!("lane {name}: {verb} {} of {branch} on {base}", commits(ahead)),
            _ => format!("lane {name}: {verb} {} of {base} into {branch}", commits(*behind)),
        }
    }

    fn answer(&self, how: &'static str, to: Option<&str>, dry_run: bool, line: String) -> Result<Answer> {
        let view = LaneSyncView {
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
        };
        Answer::new(&view, self.name, line)
    }
}

/// The live session of the lane that is not the caller, if any.
fn other_session(app: &App, tx: &ReadTx<'_>, name: &LaneName) -> Result<Option<String>> {
    let live = sessions::live(tx)?;
    let other = live.iter().find(|one| one.lane.as_ref() == Some(name) && app.actor.session.as_ref() != Some(&one.id));
    Ok(other.map(|session| session.id.to_string()))
}

/// Records the move of an interrupted sync, or forgets it when the branch did not move.
fn settle(app: &App, name: &LaneName, left: &SyncPlan, head: &str) -> Result<()> {
    app.transaction(|tx| {
        if head == left.to { sync_intent::record(tx, name, left, true) } else { sync_intent::clear(tx, name) }
    })
}

/// The lane's branch, which must be checked out.
fn check_branch(git: &Git<'_>, lane: &Lane, dir: &Path) -> Result<String> {
    let have = git.current_branch()?;
    match (&lane.branch, have) {
        (Some(wants), Some(have)) if *wants == have => Ok(have),
        (None, Some(have)) => Ok(have),
        (wants, have) => {
            let (lane, wants, dir) = (lane.name.clone(), wants.clone(), dir.display().to_string());
            Err(Refusal::WrongBranch { lane, wants, have, dir }.into())
        }
    }
}

/// Refuses a worktree with changes.
fn check_clean(git: &Git<'_>, facts: &Facts<'_>, left: Option<&SyncPlan>) -> Result<()> {
    let work = UncommittedWork { changes: git.changes()?, ..UncommittedWork::default() };
    let Some(text) = work.text() else { return Ok(()) };
    let mut why = format!("its worktree {text}");
    if left.is_some_and(|left| left.from == facts.head) {
        why.push_str("; some may be of a sync that was interrupted");
    }
    let (lane, dir) = (facts.name.clone(), Some(facts.dir.display().to_string()));
    Err(Refusal::UnsavedWork { lane, verb: "sync", why, dir }.into())
}
