//! The gates before `done` and before a merge: collect the facts from git and the store, then evaluate the rule.

use std::path::PathBuf;

use anyhow::Result;

use crate::actions::{
    App,
    core::{lookup, task_worktree},
};
use crate::{
    domain::{
        EventKind, TaskId,
        id::Label,
        rules::{
            gate::{self, Blocker, Gate, GateFacts, GateReport, WorkFacts},
            globs,
        },
        task::Task,
    },
    env::Timestamp,
    os::git::Git,
    store::{ReadTx, checkpoints, claims, events, evidence, handoffs, lanes, reviews},
    wire::GateReportView,
};

/// The facts from git. They are collected before the transaction that evaluates the gates.
#[derive(Debug)]
pub(crate) struct GitFacts {
    dir: PathBuf,
    /// The full hash of the caller's commit.
    pub(crate) given: Option<String>,
    head: Option<String>,
    /// The commit that `work` is about.
    evaluated_commit: Option<String>,
    work: WorkFacts,
}

/// Collects the facts from git that the gates need.
///
/// # Errors
/// `not_found`; as the store fails.
pub(crate) fn collect_facts(
    app: &App,
    id: &TaskId,
    gates: &[Gate],
    commit: Option<&str>,
    base: Option<&str>,
) -> Result<GitFacts> {
    let (directory, own, lane_base) = app.read(|tx| {
        let task = lookup::task(tx, id)?;
        let lane = task.fields.lane.as_ref().map(|name| lanes::find(tx, name)).transpose()?.flatten();
        Ok((task_worktree::dir(app, tx, &task)?, task.commit, lane.and_then(|lane| lane.base)))
    })?;
    let git = Git::new(app.env.vars(), &directory);
    let given = task_worktree::resolve_commit(&git, commit);
    let needs_commit = gates.iter().any(|gate| matches!(gate, Gate::Checks | Gate::Reviews | Gate::BasedOn));
    let head = if needs_commit && given.is_none() && own.is_none() { git.head() } else { None };
    let judged = given.clone().or(own).or_else(|| head.clone());
    let base = base.map(str::to_owned).or(lane_base).unwrap_or_else(|| app.settings.base_branch.clone());
    let clean = if gates.contains(&Gate::CleanWorktree) { git.is_clean() } else { None };
    let based = match &judged {
        Some(commit) if gates.contains(&Gate::BasedOn) => git.is_ancestor(&base, commit),
        _ => None,
    };
    Ok(GitFacts { dir: directory, given, head, evaluated_commit: judged, work: WorkFacts { clean, based, base } })
}

/// Evaluates the gates of a task in this transaction. A git fact about another directory or commit counts as unknown.
///
/// # Errors
/// As the store fails.
pub(crate) fn evaluate(
    app: &App,
    tx: &ReadTx<'_>,
    task: &Task,
    gates: &[Gate],
    git_facts: &GitFacts,
) -> Result<GateReport> {
    let same_dir = task_worktree::dir(app, tx, task)? == git_facts.dir;
    let head = git_facts.head.clone().filter(|_| same_dir);
    let commit = git_facts.given.clone().or_else(|| task.commit.clone()).or(head);
    let work = WorkFacts {
        clean: git_facts.work.clean.filter(|_| same_dir),
        based: git_facts.work.based.filter(|_| same_dir && commit == git_facts.evaluated_commit),
        base: git_facts.work.base.clone(),
    };
    let holders = if gates.contains(&Gate::Reviews) { claimants(tx, &task.id)? } else { Vec::new() };
    let open_handoffs: Vec<i64> = handoffs::of_task(tx, &task.id)?
        .iter()
        .filter(|handoff| handoff.answered_at.is_none())
        .map(|handoff| handoff.id)
        .collect();
    let claimed_at = match task.state.claim() {
        Some(claim) => Some(claim.claimed_at),
        None => claims::last_claimed_at(tx, &task.id)?.map(Timestamp::from_millis),
    };
    let facts = GateFacts {
        task: &task.id,
        claimed_at,
        commit: commit.as_deref(),
        evidence: &evidence::of_task(tx, &task.id)?,
        checks: &task.fields.checks,
        reviews: &reviews::of_task(tx, &task.id)?,
        domains: &required_domains(app, task),
        claimants: &holders,
        open_handoffs: &open_handoffs,
        checkpoint: checkpoints::newest(tx, &task.id)?.map(|checkpoint| checkpoint.state),
        work: &work,
    };
    Ok(gate::evaluate(gates, &facts))
}

/// The claimants of a task since it was last reopened.
fn claimants(tx: &ReadTx<'_>, id: &TaskId) -> Result<Vec<String>> {
    let reopened = events::newest_of(tx, id, |kind| kind == EventKind::TaskReopened)?;
    let since = reopened.and_then(|event| event.data.get("epoch")?.as_i64()).unwrap_or_default();
    Ok(claims::claimants_since(tx, id, since)?)
}

/// The review domains that must approve a task: its own, and those that its paths are routed to.
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

/// Whether a task may be merged into `base` (default: its lane's base, else the project's), with the blockers.
///
/// # Errors
/// `not_found`; as the store fails.
pub fn merge_ready(app: &App, id: &TaskId, base: Option<&str>) -> Result<GateReportView> {
    let gates = &app.settings.merge_gates;
    let git_facts = collect_facts(app, id, gates, None, base)?;
    let report = app.read(|tx| evaluate(app, tx, &lookup::task(tx, id)?, gates, &git_facts))?;
    Ok(GateReportView::from(&report))
}

/// The blockers of `done` and merge that the store alone knows. What needs git, and what depends on a commit that is not
/// recorded with the task, is left out.
///
/// # Errors
/// As the store fails.
pub(in crate::actions) fn stored_blockers(app: &App, tx: &ReadTx<'_>, task: &Task) -> Result<Vec<Blocker>> {
    let settings = &app.settings;
    let required = settings.done_gates.iter().chain(&settings.merge_gates).copied();
    let mut gates: Vec<Gate> = required.filter(|gate| !matches!(gate, Gate::CleanWorktree | Gate::BasedOn)).collect();
    let mut known = Vec::new();
    gates.retain(|gate| {
        let is_new = !known.contains(gate);
        known.push(*gate);
        is_new
    });
    let facts =
        GitFacts { dir: PathBuf::new(), given: None, head: None, evaluated_commit: None, work: WorkFacts::default() };
    let mut blockers = evaluate(app, tx, task, &gates, &facts)?.blockers;
    if task.commit.is_none() {
        blockers.retain(|blocker| !matches!(blocker.code, "check_outdated" | "review_lapsed"));
    }
    Ok(blockers)
}
