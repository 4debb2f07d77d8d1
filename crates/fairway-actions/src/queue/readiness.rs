//! Whether work may land: the state of its worktree, the tasks that land along, and their gates. `merge-ready`, the review card
//! and `land` all ask here.

use anyhow::Result;

use super::landing_unit::{self, Member, Unit};
use crate::App;
use crate::core::{lookup, other_host, work_sandbox};
use crate::queue::gates::{self, GitFacts};
use crate::queue::landed_here;
use crate::queue::lane::checkout;
use fairway_core::config::project::worktree_top;
use fairway_core::domain::blocker::{Blocker, GateReport};
use fairway_core::domain::rules::fencing::TaskWrite;
use fairway_core::domain::rules::gate::Gate;
use fairway_core::domain::task::{NotReadyReason, Task, TaskState};
use fairway_core::domain::{Refusal, TaskId, commit_id};
use fairway_core::os::git::Git;
use fairway_core::store::{ReadTx, WriteTx, tasks};

/// How many changed files a refusal names.
const MAX_DISPLAYED: usize = 3;

/// The facts from git about the tasks of a unit, in their order.
#[derive(Debug)]
pub(crate) struct Judged {
    facts: Vec<(Vec<Gate>, GitFacts)>,
    /// Tasks that land before the unit in the same step.
    below: Vec<TaskId>,
    aim: Aim,
}

/// How ready work is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aim {
    Land,
    /// People may review its pull request.
    Propose,
}

/// Refuses a unit whose worktree is on another host, is damaged, has uncommitted changes, or is in the middle of a rebase,
/// merge, cherry-pick or bisect. Fails with `lane_elsewhere`, `lane_damaged`, `unsaved_work`, `no_commit`,
/// `operation_unfinished`.
pub(crate) fn check_worktree(app: &App, unit: &Unit) -> Result<()> {
    if let Some(lane) = &unit.lane {
        other_host::refuse_lane(app, lane, &["land", &unit.word()])?;
    }
    if let Some(lane) = &unit.lane {
        checkout::refuse_damaged(app, lane)?;
    }
    let (Some(lane), Some(dir)) = (&unit.lane, unit.dir(app)) else { return Ok(()) };
    let git = Git::new(app.env.vars(), &dir);
    let shown = dir.display().to_string();
    if let Some(operation) = git.unfinished_operation()? {
        let of = format!("the lane {}", lane.name);
        return Err(Refusal::OperationUnfinished { of, operation, dir: shown }.into());
    }
    let changes = git.changed_files()?;
    if changes.is_empty() {
        return Ok(());
    }
    if git.head().is_none() {
        // For a branch that was deleted, everything in the worktree is new.
        let (lane, branch) = (lane.name.clone(), lane.branch.clone());
        return Err(Refusal::NoLaneCommit { lane, branch, known: Some(unit.commit.clone()) }.into());
    }
    let named = changes.iter().take(MAX_DISPLAYED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let paths: Vec<&str> = changes.iter().map(String::as_str).collect();
    let off = match git.with_filter_off(&paths)?.into_iter().next() {
        Some(file) => format!("; the filter of {file} is the repository's and did not run"),
        None => String::new(),
    };
    let why = format!("its worktree holds changes that are in no commit ({named}{off})");
    Err(Refusal::UnsavedWork { lane: lane.name.clone(), verb: "land", why, dir: Some(shown) }.into())
}

/// Asks git about every task of a unit, and evaluates the gates of the tasks. Returns a report for each task. `below` are the
/// tasks that land before the unit. Fails with `stale_claim` for an outdated `--epoch`.
pub(crate) fn judge(app: &App, unit: &Unit, below: Vec<TaskId>, aim: Aim) -> Result<(Judged, Vec<GateReport>)> {
    let mut facts = Vec::new();
    for member in &unit.members {
        let gates = gates_of(app, &member.task)?;
        let id = &member.task.id;
        let (commit, base, words) = (Some(unit.judged_at(member)), Some(unit.base.as_str()), ["land", id.as_str()]);
        facts.push((gates.clone(), gates::collect_facts(app, id, &gates, commit, base, &words)?));
    }
    let judged = Judged { facts, below, aim };
    let reports = app.read(|tx| judged.reports_for_aim(app, tx, unit))?;
    Ok((judged, reports))
}

impl Judged {
    /// The gate reports of the tasks in this transaction.
    fn reports(&self, app: &App, tx: &ReadTx<'_>, unit: &Unit) -> Result<Vec<GateReport>> {
        let mut reports = Vec::new();
        for (member, (gates, facts)) in unit.members.iter().zip(&self.facts) {
            let task = lookup::task(tx, &member.task.id)?;
            lookup::check_authority(tx, &task, &app.actor, TaskWrite::Override)?;
            let report = gates::evaluate(app, tx, &task, gates, facts)?;
            let dependencies = dependency_blockers(tx, &task, unit, self)?;
            reports.push(report.with_blockers(state_blocker(&task, member), dependencies));
        }
        Ok(reports)
    }

    fn reports_for_aim(&self, app: &App, tx: &ReadTx<'_>, unit: &Unit) -> Result<Vec<GateReport>> {
        let reports = self.reports(app, tx, unit)?;
        Ok(if self.aim == Aim::Land { reports } else { reports.into_iter().map(GateReport::for_proposal).collect() })
    }

    /// Whether a review is missing that people may still give.
    pub(crate) fn awaits_review(&self, app: &App, tx: &ReadTx<'_>, unit: &Unit) -> Result<bool> {
        let reports = self.reports(app, tx, unit)?;
        Ok(reports.iter().flat_map(GateReport::blockers).any(Blocker::awaits_review))
    }

    /// Checks the tasks again right before the base moves. Fails with `stale_claim` when one was claimed anew, and with
    /// `gate_blocked` when one is no longer ready.
    pub(crate) fn check_again(&self, app: &App, tx: &WriteTx<'_>, unit: &Unit) -> Result<()> {
        for Member { task, .. } in &unit.members {
            let now = lookup::task(tx, &task.id)?;
            if now.epoch != task.epoch || now.state.claim().is_none() != task.state.claim().is_none() {
                let by = now.state.claim().map(|claim| claim.claimant.clone());
                return Err(Refusal::StaleClaim { task: now.id, yours: task.epoch, current: now.epoch, by }.into());
            }
        }
        refuse_unready(unit, self.reports_for_aim(app, tx, unit)?)
    }
}

/// Fails with `gate_blocked` unless every task is ready.
pub(crate) fn refuse_unready(unit: &Unit, mut reports: Vec<GateReport>) -> Result<()> {
    reports.retain(|report| !report.is_ready());
    if reports.is_empty() { Ok(()) } else { Err(Refusal::NotLandable { of: unit.label(), reports }.into()) }
}

/// What keeps a task from landing, with the same answer as `land`. With `base`, whether its work could be merged into that base,
/// which a landing would not choose.
///
/// # Errors
/// `not_found`, `lane_elsewhere`, `lane_damaged`, `no_worktree`.
pub fn merge_ready(app: &App, id: &TaskId, base: Option<&str>) -> Result<GateReport> {
    let task = app.read(|tx| lookup::task(tx, id))?;
    if base.is_some() || worktree_top(&app.project.root).is_none() {
        let gates = [app.settings.merge_gates(), gates_of_sandbox(app, &task)?].concat();
        return gates_alone(app, id, &gates, base);
    }
    let lane = app.read(|tx| Ok(lookup::lane_of(tx, &task)?))?;
    if let (Some(lane), None) = (&lane, task.fixed_commit()) {
        other_host::refuse_lane(app, lane, &["merge-ready", id.as_str()])?;
    }
    let judged = landing_unit::of_task(app, &task).and_then(|unit| {
        let of_worktree = blocker(check_worktree(app, &unit))?;
        let (_, reports) = judge(app, &unit, Vec::new(), Aim::Land)?;
        let (own, others): (Vec<_>, Vec<_>) = reports.into_iter().partition(|report| report.task == *id);
        let named = |report: GateReport| {
            let of = report.task.clone();
            let named = move |one: Blocker| Blocker { message: format!("{of}: {}", one.message), ..one };
            report.into_blockers().into_iter().map(named)
        };
        let of_others = others.into_iter().flat_map(named);
        let own = own.into_iter().next().unwrap_or_else(|| GateReport::new(id.clone(), None, Vec::new()));
        Ok(own.with_blockers(of_worktree, of_others.collect()))
    });
    match judged {
        Ok(report) => Ok(report),
        Err(error) => {
            let of_work = blocker(Err(error))?;
            Ok(gates_alone(app, id, &gates_of(app, &task)?, None)?.with_blockers(of_work, Vec::new()))
        }
    }
}

fn gates_alone(app: &App, id: &TaskId, gates: &[Gate], base: Option<&str>) -> Result<GateReport> {
    let facts = gates::collect_facts(app, id, gates, None, base, &["merge-ready", id.as_str()])?;
    app.read(|tx| gates::evaluate(app, tx, &lookup::task(tx, id)?, gates, &facts))
}

/// A refusal about the work itself as a blocker. Any other failure is returned.
fn blocker(result: Result<()>) -> Result<Option<Blocker>> {
    let Err(error) = result else { return Ok(None) };
    match error.downcast_ref::<Refusal>() {
        Some(
            refusal @ (Refusal::NothingToLand { .. }
            | Refusal::NoTaskCommit { .. }
            | Refusal::NoLaneCommit { .. }
            | Refusal::UnsavedWork { .. }
            | Refusal::OperationUnfinished { .. }),
        ) => {
            let hint = refusal.hint().unwrap_or_default();
            let fix = hint.split_once(": ").map_or(&*hint, |(_, command)| command).to_owned();
            Ok(Some(Blocker { code: refusal.code(), message: refusal.to_string(), fix }))
        }
        _ => Err(error),
    }
}

/// The gate of work that was done in a sandbox: a program that meant harm may have left files that run later.
fn gates_of_sandbox(app: &App, task: &Task) -> Result<&'static [Gate]> {
    let is_sandboxed = app.read(|tx| Ok(work_sandbox::of_task(tx, task)?))?.is_some();
    Ok(if is_sandboxed { &[Gate::ReviewedExecutables] } else { &[] })
}

/// The merge gates with that of a sandbox, and for an open task also those of `done`. The gate about the base is left out, because the
/// candidate contains the base anyway.
fn gates_of(app: &App, task: &Task) -> Result<Vec<Gate>> {
    let is_done = matches!(task.state, TaskState::Done(_));
    let done: &[Gate] = if is_done { &[] } else { app.settings.done_gates() };
    let mut gates: Vec<Gate> = Vec::new();
    for gate in app.settings.merge_gates().iter().chain(done).chain(gates_of_sandbox(app, task)?) {
        if *gate != Gate::BasedOn && !gates.contains(gate) {
            gates.push(*gate);
        }
    }
    Ok(gates)
}

fn state_blocker(task: &Task, member: &Member) -> Option<Blocker> {
    let id = &task.id;
    let (message, fix) = match &task.state {
        TaskState::InProgress(_) if let Some(old) = &member.outdated => {
            let message = format!("it is in progress, and its lane has commits after {}", commit_id::short(old));
            (message, format!("fairway task submit {id} --commit {}", member.commit))
        }
        TaskState::InProgress(_) | TaskState::Review(_) | TaskState::Done(_) => return None,
        TaskState::Todo => ("it is todo, and its commit would land".to_owned(), format!("fairway claim {id}")),
        TaskState::Blocked(_, reason) => (format!("it is blocked: {reason}"), format!("fairway task unblock {id}")),
        TaskState::Cancelled(_) => ("it is cancelled".to_owned(), format!("fairway task reopen {id} --reason TEXT")),
    };
    Some(Blocker { code: "not_finished", message, fix })
}

/// Refuses a candidate that does not contain the work of a dependency which landed on another host. Fails with `gate_blocked`.
pub(crate) fn check_dependencies(app: &App, unit: &Unit, candidate: &str) -> Result<()> {
    let mut reports = Vec::new();
    for Member { task, .. } in unit.members.iter().filter(|member| !member.task.fields.depends_on.is_empty()) {
        let missing = landed_here::missing_in(app, &[&task.id], candidate)?;
        let blocker = |reason: NotReadyReason| Blocker {
            code: reason.code,
            message: reason.message,
            fix: reason.fix.unwrap_or_default(),
        };
        let blockers: Vec<Blocker> = missing.into_iter().map(blocker).collect();
        if !blockers.is_empty() {
            reports.push(GateReport::new(task.id.clone(), None, blockers));
        }
    }
    refuse_unready(unit, reports)
}

/// The open dependencies that land neither with the unit nor before it.
fn dependency_blockers(tx: &ReadTx<'_>, task: &Task, unit: &Unit, judged: &Judged) -> Result<Vec<Blocker>> {
    let waiting = match judged.aim {
        // On the branch of a dependency it may be proposed, and may not land.
        Aim::Propose => lookup::not_ready_reasons(tx, task)?,
        Aim::Land => tasks::waiting_on(tx, &task.id)?,
    };
    let lands_along =
        |id: &TaskId| judged.below.contains(id) || unit.members.iter().any(|member| member.task.id == *id);
    let open = waiting.iter().filter(|waiting| !lands_along(&waiting.id));
    Ok(open
        .map(|waiting| Blocker {
            code: "deps_open",
            message: waiting.message.clone(),
            fix: format!("fairway land {}", waiting.id),
        })
        .collect())
}
