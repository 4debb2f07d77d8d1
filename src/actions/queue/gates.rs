//! The gates before `done` and before a merge: gathering the facts, for one rule and one report.

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
            gate::{self, Gate, GateFacts, GateReport, WorkFacts},
            globs,
        },
        task::Task,
    },
    env::Timestamp,
    os::git::Git,
    store::{ReadTx, checkpoints, claims, events, evidence, handoffs, lanes, reviews},
    wire::GateReportView,
};

/// What was seen outside the store, before the look into it that counts.
#[derive(Debug)]
pub(crate) struct GitFacts {
    dir: PathBuf,
    /// The commit that the caller named, in full.
    pub(crate) given: Option<String>,
    head: Option<String>,
    /// The commit that `work` speaks of.
    evaluated_commit: Option<String>,
    work: WorkFacts,
}

/// Asks git what the gates will want to know.
///
/// # Errors
/// `not_found`; as the store fails.
pub(crate) fn collect_facts(
    app: &App,
    id: &TaskId,
    wanted: &[Gate],
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
    let wants_commit = wanted.iter().any(|gate| matches!(gate, Gate::Checks | Gate::Reviews | Gate::BasedOn));
    let head = if wants_commit && given.is_none() && own.is_none() { git.head() } else { None };
    let judged = given.clone().or(own).or_else(|| head.clone());
    let base = base.map(str::to_owned).or(lane_base).unwrap_or_else(|| app.settings.base_branch.clone());
    let clean = if wanted.contains(&Gate::CleanWorktree) { git.is_clean() } else { None };
    let based = match &judged {
        Some(commit) if wanted.contains(&Gate::BasedOn) => git.is_ancestor(&base, commit),
        _ => None,
    };
    Ok(GitFacts { dir: directory, given, head, evaluated_commit: judged, work: WorkFacts { clean, based, base } })
}

/// Judges a task as it stands in this transaction. What git said of another directory or commit counts as not said.
///
/// # Errors
/// As the store fails.
pub(crate) fn evaluate(
    app: &App,
    tx: &ReadTx<'_>,
    task: &Task,
    wanted: &[Gate],
    seen: &GitFacts,
) -> Result<GateReport> {
    let same_dir = task_worktree::dir(app, tx, task)? == seen.dir;
    let head = seen.head.clone().filter(|_| same_dir);
    let commit = seen.given.clone().or_else(|| task.commit.clone()).or(head);
    let work = WorkFacts {
        clean: seen.work.clean.filter(|_| same_dir),
        based: seen.work.based.filter(|_| same_dir && commit == seen.evaluated_commit),
        base: seen.work.base.clone(),
    };
    let holders = if wanted.contains(&Gate::Reviews) { claimants(tx, &task.id)? } else { Vec::new() };
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
    Ok(gate::evaluate(wanted, &facts))
}

/// Who has held a task since it was last reopened.
fn claimants(tx: &ReadTx<'_>, id: &TaskId) -> Result<Vec<String>> {
    let reopened = events::newest_of(tx, id, |kind| kind == EventKind::TaskReopened)?;
    let since = reopened.and_then(|event| event.data.get("epoch")?.as_i64()).unwrap_or_default();
    Ok(claims::claimants_since(tx, id, since)?)
}

/// The domains that must approve a task: its own, and those its paths are routed to.
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

/// Whether a task may be merged into `base` (its lane's, else the project's), and what stands in the way.
///
/// # Errors
/// `not_found`; as the store fails.
pub fn merge_ready(app: &App, id: &TaskId, base: Option<&str>) -> Result<GateReportView> {
    let wanted = &app.settings.merge_gates;
    let seen = collect_facts(app, id, wanted, None, base)?;
    let report = app.read(|tx| evaluate(app, tx, &lookup::task(tx, id)?, wanted, &seen))?;
    Ok(GateReportView::from(&report))
}
