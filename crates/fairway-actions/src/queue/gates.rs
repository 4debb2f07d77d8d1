//! The gates before `done` and before a merge: collect the facts from git and the store, then evaluate the rule.

use std::collections::BTreeSet;

use anyhow::Result;
use serde_json::Value;

use crate::App;
use crate::core::lookup;
use crate::queue::base_commit;
use crate::queue::lane::{checkout, work};
use crate::queue::review::comments;
use crate::queue::task_worktree::{self, WorkDirectory};
use fairway_core::config::project::worktree_top;
use fairway_core::config::sandbox_defaults;
use fairway_core::domain::evidence::EvidenceResult;
use fairway_core::domain::id::Label;
use fairway_core::domain::review::{CommentStatus, LinePlace, OpenComment, Review, ReviewComment};
use fairway_core::domain::rules::gate::{self, Blocker, Gate, GateFacts, GateReport, WorkFacts};
use fairway_core::domain::rules::globs;
use fairway_core::domain::rules::open_question::{self, OpenQuestion};
use fairway_core::domain::task::Task;
use fairway_core::domain::{EventKind, Refusal, TaskId};
use fairway_core::os::git::Git;
use fairway_core::store::events::{self, LoggedEvent};
use fairway_core::store::{
    ReadTx, StoreError, checkpoints, claims, evidence, handoffs, review_comments, reviews, sessions,
};
use fairway_core::wire::ReviewCommentView;

/// The facts from git about the task's work, collected before the transaction that evaluates the gates.
#[derive(Debug, Default)]
pub(crate) struct GitFacts {
    dir: WorkDirectory,
    pub(crate) given: Option<String>,
    head: Option<String>,
    /// The commit that the facts in `work` describe.
    evaluated_commit: Option<String>,
    /// The comments that are open at that commit; empty when no gate asks for them.
    open_comments: Vec<OpenComment>,
    /// The id of the newest comment whose line git was asked about.
    newest_comment: i64,
    work: WorkFacts,
}

/// Collects the facts from git that the gates need, about `commit`, else about the commit of the task's work. `words` are the
/// arguments of the running command, which a refusal shows for the other host. Fails with `no_worktree` when a gate needs git
/// and no worktree is known; `lane_elsewhere` or `session_mismatch` when it is on another host; `lane_damaged`.
pub(crate) fn collect_facts(
    app: &App,
    id: &TaskId,
    gates: &[Gate],
    commit: Option<&str>,
    base: Option<&str>,
    words: &[&str],
) -> Result<GitFacts> {
    let (task, dir, lane, needs_git, passed_at) = app.read(|tx| {
        let task = lookup::task(tx, id)?;
        task_worktree::refuse_damaged(app, tx, &task)?;
        let lane = lookup::lane_of(tx, &task)?;
        let dir = task_worktree::of_work(app, tx, &task)?;
        let needs_git = needs_git(app, tx, &task, gates)?;
        if let (true, Some(refusal)) = (needs_git, dir.refusal(app, tx, words)?) {
            return Err(refusal.into());
        }
        let asks_evidence = gates.iter().any(|gate| matches!(gate, Gate::Evidence | Gate::Checks));
        let passed_at = if asks_evidence { commits_of_evidence(tx, id)? } else { BTreeSet::new() };
        Ok((task, dir, lane, needs_git, passed_at))
    })?;
    let can_land = base.is_none() && (task.fields.lane.is_some() || task.commit.is_some());
    let own_base =
        || lane.as_ref().map_or(&*app.settings.project.base_branch, |lane| checkout::base(app, lane)).to_owned();
    let base = base.map_or_else(own_base, str::to_owned);
    let work = if dir.here().is_some() { work::of_task(app, id, words)? } else { None };
    // The branch of a lane has its work also where the worktree is gone.
    let is_kept = lane.is_some() && work.as_ref().is_some_and(|work| work.commit().is_some());
    let existing = dir.here().filter(|dir| dir.is_dir());
    let place = existing.or_else(|| is_kept.then_some(app.project.root.as_path()));
    let Some(place) = place else {
        if needs_git {
            let why = match dir.here() {
                Some(dir) => format!("{} does not exist", dir.display()),
                None => "it was claimed in no worktree of this repository".to_owned(),
            };
            return Err(Refusal::NoWorktree { task: id.clone(), why }.into());
        }
        let work = WorkFacts { base, can_land, ..WorkFacts::default() };
        let evaluated_commit = commit.map(str::to_owned).or(task.commit);
        let (open_comments, newest_comment) = open_comments(app, id, gates, None, None)?;
        let given = commit.map(str::to_owned);
        return Ok(GitFacts { dir, given, head: None, evaluated_commit, open_comments, newest_comment, work });
    };
    let git = Git::new(app.env.vars(), place);
    let given = task_worktree::resolve_commit(&git, commit);
    // Git is not started outside of a repository.
    let is_in_git = worktree_top(place).is_some();
    let head = work.as_ref().and_then(|work| work.commit()).map(str::to_owned);
    let judged = commit_of(given.as_deref(), &task, head.as_deref());
    let clean = match existing {
        Some(_) if gates.contains(&Gate::CleanWorktree) => git.is_clean(),
        Some(_) => None,
        None => Some(true),
    };
    let tip = judged.as_ref().map(|_| base_commit::revision(app, &git, &base));
    let based = match (&judged, &tip) {
        (Some(commit), Some(tip)) if gates.contains(&Gate::BasedOn) => git.is_ancestor(tip, commit),
        _ => None,
    };
    let contained = judged.as_deref().zip(tip.as_deref()).map(|(commit, tip)| {
        let is_contained = |of: &&String| *of == commit || is_in_git && is_of_work(&git, of, commit, tip);
        passed_at.iter().filter(is_contained).cloned().collect()
    });
    let files =
        judged.as_deref().filter(|_| is_in_git && !passed_at.is_empty()).and_then(|commit| git.tree(commit).ok());
    let has_files = |of: &String| files.is_some() && full(&git, of).and_then(|of| git.tree(&of).ok()) == files;
    let same_files = passed_at.iter().filter(|of| has_files(of)).cloned().collect();
    let runs_later = match &judged {
        Some(commit) if gates.contains(&Gate::ReviewedExecutables) => runs_later(app, &git, &base, commit),
        _ => None,
    };
    let worktree = dir.here().map(|dir| dir.to_string_lossy().into_owned());
    let branch = work.as_ref().and_then(|work| work.on()).map(str::to_owned);
    let is_behind = task.fixed_commit().zip(head.as_deref()).is_some_and(|(fixed, head)| fixed != head);
    let work =
        WorkFacts { worktree, branch, clean, based, base, contained, same_files, can_land, is_behind, runs_later };
    let (open_comments, newest_comment) = open_comments(app, id, gates, Some(&git), judged.as_deref())?;
    Ok(GitFacts { dir, given, head, evaluated_commit: judged, open_comments, newest_comment, work })
}

/// The commit that everything about a task speaks of: the given one, else that at which it was handed in, else the one that is
/// checked out.
pub(crate) fn commit_of(given: Option<&str>, task: &Task, head: Option<&str>) -> Option<String> {
    given.or(task.fixed_commit()).or(head).map(str::to_owned).or_else(|| task.commit.clone())
}

/// The paths that the work changed since it left the base and that a person's programs would run or read later, such as hooks
/// and build files.
fn runs_later(app: &App, git: &Git<'_>, base: &str, commit: &str) -> Option<Vec<String>> {
    let base = git.commit(&base_commit::revision(app, git, base))?;
    let fork = git.merge_base(&base, commit).ok()??;
    let defaults = sandbox_defaults();
    let changed = git.changed_between(&fork, commit).ok()?;
    Some(changed.into_iter().filter(|path| defaults.runs_later(path)).collect())
}

/// The reviewers' comments that are open at a commit, and the id of the newest comment. Both are empty when no gate
/// asks for comments. A comment whose line git cannot follow counts as open.
fn open_comments(
    app: &App,
    id: &TaskId,
    gates: &[Gate],
    git: Option<&Git<'_>>,
    commit: Option<&str>,
) -> Result<(Vec<OpenComment>, i64)> {
    if !gates.contains(&Gate::Comments) {
        return Ok((Vec::new(), 0));
    }
    let all = app.read(|tx| Ok(review_comments::of_task(tx, id)?))?;
    let root = Git::new(app.env.vars(), &app.project.root);
    let newest = all.iter().map(|comment| comment.id).max().unwrap_or_default();
    let followed = comments::followed(git.unwrap_or(&root), &all, commit);
    let open = |view: ReviewCommentView| OpenComment {
        id: view.id,
        reviewer: view.reviewer,
        place: LinePlace { path: view.path, line: view.line },
    };
    let is_open = |view: &ReviewCommentView| view.status == CommentStatus::Open;
    Ok((followed.into_iter().filter(is_open).map(open).collect(), newest))
}

/// The commits at which evidence of the current claim passed.
fn commits_of_evidence(tx: &ReadTx<'_>, id: &TaskId) -> Result<BTreeSet<String>, StoreError> {
    let claimed_at = claims::chain(tx, id)?.map(|chain| chain.since);
    let evidence = evidence::of_task(tx, id)?;
    let passed = gate::since_claim(&evidence, claimed_at).filter(|record| record.result == EvidenceResult::Pass);
    Ok(passed.filter_map(|record| record.commit.clone()).collect())
}

/// Whether what passed at the commit `recorded` says something about the work at `commit`: one of the two contains the other,
/// and the base at `base` does not have all of the first.
fn is_of_work(git: &Git<'_>, recorded: &str, commit: &str, base: &str) -> bool {
    let (Some(recorded), Some(commit)) = (full(git, recorded), full(git, commit)) else { return false };
    let is_in_base = |one: &str| git.is_ancestor(one, base) == Some(true);
    let is_on_one_line = matches!(git.count_apart(&recorded, &commit), Ok((0, _) | (_, 0)));
    is_on_one_line && (!is_in_base(&recorded) || is_in_base(&commit))
}

/// The whole hash of a commit. A recorded abbreviation that git completes to a hash with other digits does not count.
fn full(git: &Git<'_>, recorded: &str) -> Option<String> {
    git.commit(recorded).filter(|full| full.starts_with(recorded))
}

/// Whether one of the gates cannot be evaluated for this task without asking git.
pub(crate) fn needs_git(app: &App, tx: &ReadTx<'_>, task: &Task, gates: &[Gate]) -> Result<bool> {
    for gate in gates {
        let asks_git = match gate {
            Gate::Checks => !task.fields.checks.is_empty(),
            Gate::Reviews => {
                let required = required_domains(app, task);
                !required.is_empty() || !requested_domains(tx, &reviews::of_task(tx, &task.id)?, &required)?.is_empty()
            }
            Gate::CleanWorktree | Gate::BasedOn | Gate::ReviewedExecutables => true,
            Gate::Comments => review_comments::of_task(tx, &task.id)?.iter().any(|one| one.resolved.is_none()),
            Gate::Evidence | Gate::HandoffsAccepted | Gate::NoOpenQuestions => false,
        };
        if asks_git {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Evaluates the gates with the facts that [`collect_facts`] has found before this transaction. When the task has another
/// directory or commit by now, the facts about these count as unknown.
pub(crate) fn evaluate(
    app: &App,
    tx: &ReadTx<'_>,
    task: &Task,
    gates: &[Gate],
    git_facts: &GitFacts,
) -> Result<GateReport> {
    let same_dir = task_worktree::of_work(app, tx, task)? == git_facts.dir;
    let head = git_facts.head.clone().filter(|_| same_dir);
    let commit = commit_of(git_facts.given.as_deref(), task, head.as_deref());
    let is_evaluated = same_dir && commit == git_facts.evaluated_commit;
    let work = WorkFacts {
        worktree: git_facts.work.worktree.clone().filter(|_| same_dir),
        branch: git_facts.work.branch.clone().filter(|_| same_dir),
        clean: git_facts.work.clean.filter(|_| same_dir),
        based: git_facts.work.based.filter(|_| is_evaluated),
        base: git_facts.work.base.clone(),
        // What is known about another commit counts for nothing.
        contained: git_facts.work.contained.clone().map(|all| if is_evaluated { all } else { BTreeSet::new() }),
        same_files: git_facts.work.same_files.iter().filter(|_| is_evaluated).cloned().collect(),
        can_land: git_facts.work.can_land,
        is_behind: git_facts.work.is_behind && is_evaluated,
        runs_later: git_facts.work.runs_later.clone().filter(|_| is_evaluated),
    };
    let asks_reviews = gates.iter().any(|gate| matches!(gate, Gate::Reviews | Gate::ReviewedExecutables));
    let holders = if asks_reviews { claimants(tx, &task.id)? } else { Vec::new() };
    let mut open_handoffs = handoffs::of_task(tx, &task.id)?;
    open_handoffs.retain(|handoff| handoff.answered_at.is_none());
    let open_handoffs: Vec<i64> = open_handoffs.iter().map(|handoff| handoff.id).collect();
    // Evidence of a dead session counts for the session that continues its claim.
    let claimed_at = claims::chain(tx, &task.id)?.map(|chain| chain.since);
    let (reviews, required) = (reviews::of_task(tx, &task.id)?, required_domains(app, task));
    let open_comments = still_open(tx, task, gates, git_facts, is_evaluated)?;
    let question = if gates.contains(&Gate::NoOpenQuestions) { open_question(app, tx, task)? } else { None };
    let facts = GateFacts {
        task: &task.id,
        claimed_at,
        commit: commit.as_deref(),
        evidence: &evidence::of_task(tx, &task.id)?,
        checks: &task.fields.checks,
        reviews: &reviews,
        requested_domains: &requested_domains(tx, &reviews, &required)?,
        domains: &required,
        is_for_claimant: claims::latest_epoch(tx, &task.id, &app.actor.name)?.is_some(),
        claimants: &holders,
        open_handoffs: &open_handoffs,
        open_comments: &open_comments,
        question: question.as_ref(),
        now: app.env.now(),
        work: &work,
    };
    Ok(gate::evaluate(gates, &facts))
}

/// The comments that are open in this transaction: without those that were resolved since git was asked, and with those that
/// were written since. When git was asked about other work, every unresolved comment counts.
fn still_open(
    tx: &ReadTx<'_>,
    task: &Task,
    gates: &[Gate],
    git_facts: &GitFacts,
    is_same_work: bool,
) -> Result<Vec<OpenComment>> {
    if !gates.contains(&Gate::Comments) {
        return Ok(Vec::new());
    }
    let newest = git_facts.newest_comment;
    let unresolved = review_comments::of_task(tx, &task.id)?.into_iter().filter(|one| one.resolved.is_none());
    let open = |one: ReviewComment| match git_facts.open_comments.iter().find(|known| known.id == one.id) {
        Some(known) if is_same_work => Some(known.clone()),
        // Git found that its line was changed.
        None if is_same_work && one.id <= newest => None,
        _ => Some(OpenComment { id: one.id, reviewer: one.reviewer, place: one.place }),
    };
    Ok(unresolved.filter_map(open).collect())
}

fn open_question(app: &App, tx: &ReadTx<'_>, task: &Task) -> Result<Option<OpenQuestion>> {
    let newest = checkpoints::newest_written(tx, &task.id)?;
    let claimant = task.state.claim().and_then(|claim| claim.session.as_ref());
    let claimant = claimant.map(|id| sessions::find(tx, id)).transpose()?.flatten();
    Ok(open_question::find(newest.as_ref(), claimant.as_ref(), app.actor.session.as_ref()))
}

/// The actors that have claimed a task since it was last reopened.
pub(crate) fn claimants(tx: &ReadTx<'_>, id: &TaskId) -> Result<Vec<String>> {
    let reopened = events::newest_of(tx, id, |kind| kind == EventKind::TaskReopened)?;
    let since = reopened.and_then(|event| event.data.get("epoch")?.as_i64()).unwrap_or_default();
    Ok(claims::claimants_since(tx, id, since)?)
}

/// The review domains that must approve a task: those that the task names, and those to which `review_routes` assigns one of
/// its paths.
pub(crate) fn required_domains(app: &App, task: &Task) -> Vec<Label> {
    let routed =
        app.settings.review_routes.iter().filter_map(|route| {
            globs::first_overlap(&task.fields.paths, &route.paths).is_some().then_some(&route.domain)
        });
    let mut domains: Vec<Label> = task.fields.review_domains.iter().chain(routed).cloned().collect();
    domains.sort();
    domains.dedup();
    domains
}

/// The domains, besides the required ones, in which a review was requested and not withdrawn.
pub(crate) fn requested_domains(
    tx: &ReadTx<'_>,
    reviews: &[Review],
    required: &[Label],
) -> Result<Vec<Label>, StoreError> {
    let mut domains: Vec<Label> = Vec::new();
    for review in reviews {
        let is_known = required.contains(&review.domain) || domains.contains(&review.domain);
        if !is_known && was_requested(tx, review)? {
            domains.push(review.domain.clone());
        }
    }
    domains.sort();
    Ok(domains)
}

/// Whether a review is a request or answers one. Reviews may also be given without a request.
fn was_requested(tx: &ReadTx<'_>, review: &Review) -> Result<bool, StoreError> {
    if review.verdict.is_none() {
        return Ok(true);
    }
    let is_request = |kind| kind == EventKind::ReviewRequested;
    let of_review = |event: &LoggedEvent| event.data.get("id").and_then(Value::as_i64) == Some(review.id);
    Ok(events::newest_matching(tx, &review.task, is_request, of_review)?.is_some())
}

/// The blockers of `done` and of a merge that can be found in the store without git. Those that depend on a commit are left
/// out while the task has no recorded commit.
pub(crate) fn stored_blockers(app: &App, tx: &ReadTx<'_>, task: &Task) -> Result<Vec<Blocker>> {
    let settings = &app.settings;
    let asks_git =
        |gate| matches!(gate, Gate::CleanWorktree | Gate::BasedOn | Gate::Comments | Gate::ReviewedExecutables);
    let mut gates: Vec<Gate> = Vec::new();
    for gate in settings.done_gates().iter().chain(settings.merge_gates()) {
        if !asks_git(*gate) && !gates.contains(gate) {
            gates.push(*gate);
        }
    }
    let mut blockers = evaluate(app, tx, task, &gates, &GitFacts::default())?.into_blockers();
    if task.commit.is_none() {
        blockers.retain(|blocker| !matches!(blocker.code, "check_outdated" | "review_lapsed"));
    }
    Ok(blockers)
}
