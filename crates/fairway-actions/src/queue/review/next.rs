//! The next submitted task that waits for a reviewer, as a card.

use anyhow::Result;

use super::list::{self, Wait};
use super::unseen_changes::{self, Work};
use super::{comments, seen_commits};
use crate::App;
use crate::core::lookup;
use crate::core::only::Choice;
use crate::queue::{gates, readiness};
use fairway_core::config::{ConsequenceRule, LandSettings, built_in_consequences};
use fairway_core::domain::blocker::{GateReport, JudgedWork};
use fairway_core::domain::id::Label;
use fairway_core::domain::review::{Review, Verdict};
use fairway_core::domain::rules::review;
use fairway_core::domain::seen_work::{SeenCommit, seen_before};
use fairway_core::domain::task::{Task, TaskStatus};
use fairway_core::domain::usage::UsageBy;
use fairway_core::domain::{EventKind, Refusal, TaskId, commit_id};
use fairway_core::env::Timestamp;
use fairway_core::os::git::Git;
use fairway_core::store::tasks::{self, ListScope};
use fairway_core::store::{ReadTx, claims, events, evidence, overlaps, reviews, seen_work, usage};
use fairway_core::wire::{
    CommandView, ConsequenceView, CostView, OtherSubmittedView, ReviewCardView, ReviewChangesView, ReviewNextView,
    ReviewView,
};

#[derive(Debug, Clone, Default)]
pub struct NextRequest {
    /// The card of this task, also when it waits for others; by default the first one.
    pub task: Option<TaskId>,
    /// Whether to show also the parts that the reviewer has seen before.
    pub all: bool,
    /// A task to put behind the other cards first.
    pub defer: Option<TaskId>,
}

struct Waiting {
    task: TaskId,
    deferred_at: Option<Timestamp>,
    /// The time that the task has waited, multiplied by one plus the number of open tasks that depend on it.
    weight: i64,
}

pub fn next(app: &App, request: &NextRequest) -> Result<ReviewNextView> {
    if let Some(task) = &request.defer {
        let found = app.read(|tx| lookup::task(tx, task))?;
        if found.state.status() != TaskStatus::Review {
            return Err(
                Refusal::WrongState { task: task.clone(), status: found.state.status(), verb: "deferred" }.into()
            );
        }
        seen_commits::defer(app, task, &app.actor.name)?;
    }
    let waiting = app.read(|tx| waiting(app, tx))?;
    let (waiting, others) = waiting;
    let names = |only: fn(&&Waiting) -> bool| waiting.iter().filter(only).map(|one| one.task.to_string()).collect();
    let (all, deferred) = (names(|_| true), names(|one| one.deferred_at.is_some()));
    let task = match &request.task {
        Some(task) => {
            let found = app.read(|tx| lookup::task(tx, task))?;
            if found.state.status().is_closed() {
                let status = found.state.status();
                return Err(Refusal::WrongState { task: task.clone(), status, verb: "reviewed" }.into());
            }
            Some(task.clone())
        }
        None => waiting.first().map(|one| one.task.clone()),
    };
    let card = task.map(|task| card(app, &task, request.all).map(Box::new)).transpose()?;
    Ok(ReviewNextView { card, waiting: all, deferred, others })
}

/// A submitted task, as a list shows it.
#[derive(Debug, Clone)]
pub struct Submitted {
    pub task: TaskId,
    pub title: String,
    /// The claimant.
    pub author: String,
    pub submitted_at: String,
    /// The added and the deleted lines of its lane, when it was looked at last.
    pub size: Option<(u64, u64)>,
}

/// The submitted tasks.
pub fn submitted(app: &App) -> Result<Vec<Submitted>> {
    app.read(|tx| {
        let diffstats = overlaps::diffstats(tx)?;
        let view = |task: Task| {
            let of_lane = diffstats.iter().find(|one| one.is_known && Some(&one.lane) == task.fields.lane.as_ref());
            Ok(Submitted {
                submitted_at: submitted_at(tx, &task)?.to_string(),
                author: task.state.claim().map(|claim| claim.claimant.clone()).unwrap_or_default(),
                size: of_lane.map(|one| (one.added, one.deleted)),
                title: task.fields.title,
                task: task.id,
            })
        };
        in_review(tx)?.into_iter().map(view).collect()
    })
}

fn in_review(tx: &ReadTx<'_>) -> Result<Vec<Task>> {
    let mut submitted = Vec::new();
    tasks::for_each(tx, ListScope::Claimed, |task| {
        if task.state.status() == TaskStatus::Review {
            submitted.push(task);
        }
        Ok(true)
    })?;
    Ok(submitted)
}

/// The named task, else the only submitted one that waits for the caller.
///
/// # Errors
/// `usage` when several wait, or none.
pub fn named_or_only(app: &App, named: Option<TaskId>, verdict: Verdict) -> Result<TaskId> {
    if let Some(named) = named {
        return Ok(named);
    }
    let (waiting, _) = app.read(|tx| waiting(app, tx))?;
    let choice = Choice {
        found: &waiting.into_iter().map(|one| one.task).collect::<Vec<_>>(),
        noun: "task",
        fits: "wait for you",
        none: ("no submitted task waits for you", "see which wait for others: fairway review next"),
    };
    Ok(choice.only(|first| format!("name one: fairway review record {first} --verdict {}", verdict.as_str()))?)
}

/// Records that the reviewer was shown all changes of the card, so that later cards show only new changes. Does nothing when
/// the card has no changes or shows them only in part.
pub fn shown(app: &App, card: &ReviewCardView) -> Result<()> {
    let Some(changes) = card.changes.as_ref().filter(|changes| !changes.patch_cut) else { return Ok(()) };
    let task = TaskId::parse(&card.task.id)?;
    let lane = app.read(|tx| Ok(lookup::task(tx, &task)?.fields.lane))?;
    let seen = SeenCommit { commit: changes.commit.clone(), fork: changes.fork.clone() };
    let git = Git::new(app.env.vars(), &app.project.root);
    seen_commits::remember(app, &git, (&task, lane.as_ref()), &app.actor.name, seen)
}

/// The submitted tasks that wait for the actor, in the order of their cards, and the others with the reason.
fn waiting(app: &App, tx: &ReadTx<'_>) -> Result<(Vec<Waiting>, Vec<OtherSubmittedView>)> {
    let seen = seen_work::all(tx)?;
    let (mut found, mut others) = (Vec::new(), Vec::new());
    for task in in_review(tx)? {
        let submitted_at = submitted_at(tx, &task)?;
        let why = match list::wait_of(app, tx, &task, submitted_at)? {
            Wait::Own => None,
            Wait::Claimed => Some("you have claimed it".to_owned()),
            Wait::Given => Some("you have given your verdict".to_owned()),
            Wait::AskedOf(reviewers) => Some(format!("its review is requested of {}", reviewers.join(", "))),
        };
        if let Some(why) = why {
            others.push(OtherSubmittedView { task: task.id.to_string(), why });
            continue;
        }
        let of_task = seen.iter().find(|one| one.task == task.id && app.actor.is_named(&one.reviewer));
        // A task that was submitted again is a new card.
        let deferred_at = of_task.and_then(|one| one.deferred_at).filter(|at| *at >= submitted_at);
        let age = i64::try_from(app.env.now().since(submitted_at).as_millis()).unwrap_or(i64::MAX);
        let dependents = i64::try_from(wanted_by(tx, &task.id)?.len()).unwrap_or(i64::MAX);
        let weight = age.max(1).saturating_mul(dependents.saturating_add(1));
        found.push(Waiting { task: task.id, deferred_at, weight });
    }
    found.sort_by(|one, other| {
        let key = |waiting: &Waiting| (waiting.deferred_at, std::cmp::Reverse(waiting.weight));
        key(one).cmp(&key(other)).then_with(|| one.task.as_str().cmp(other.task.as_str()))
    });
    Ok((found, others))
}

/// When a task was last submitted; for an imported task, when it last changed.
fn submitted_at(tx: &ReadTx<'_>, task: &Task) -> Result<Timestamp> {
    let submitted = events::newest_of(tx, &task.id, |kind| kind == EventKind::TaskSubmitted)?;
    Ok(submitted.map_or(task.updated_at, |event| event.at))
}

fn wanted_by(tx: &ReadTx<'_>, task: &TaskId) -> Result<Vec<TaskId>> {
    let dependents = tasks::dependents(tx, task)?;
    Ok(dependents.into_iter().filter(|(_, status)| !status.is_closed()).map(|(id, _)| id).collect())
}

fn card(app: &App, id: &TaskId, all: bool) -> Result<ReviewCardView> {
    let report = readiness::merge_ready(app, id, None);
    let (report, mut problem) = match report {
        Ok(report) => (Some(report), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let judged = report.as_ref().and_then(|report| report.judged.clone());
    let git = Git::new(app.env.vars(), &app.project.root);
    let mut files = Vec::new();
    let changes = match &judged {
        Some(judged) => match changes_of(app, &git, id, judged, all) {
            Ok((changes, paths)) => {
                files = paths;
                Some(changes)
            }
            Err(error) => {
                problem = Some(error.to_string());
                None
            }
        },
        None => {
            problem.get_or_insert_with(|| "no worktree of this work is known here".to_owned());
            None
        }
    };
    let worktree = judged.as_ref().map(|judged| judged.worktree.clone());
    let uncommitted =
        worktree.as_ref().and_then(|dir| Git::new(app.env.vars(), dir.as_ref()).is_clean()).map(|clean| !clean);
    let built_in = built_in_consequences();
    let paths = app.settings.land.checks.iter().flat_map(|command| LandSettings::scripts_of(command)).collect();
    let judges = ConsequenceRule { kind: "checks".to_owned(), paths };
    let rules = built_in.iter().chain([&judges]);
    let consequences = review::consequences(&files, rules.map(|rule| (&*rule.kind, &*rule.paths))).into_iter();
    let commit = changes.as_ref().map(|changes| changes.commit.clone());
    let comments = comments::list(app, id, false)?;
    app.read(|tx| {
        let task = lookup::task(tx, id)?;
        let all = reviews::of_task(tx, id)?;
        let (here, elsewhere): (Vec<_>, Vec<_>) =
            evidence::of_task(tx, id)?.into_iter().partition(|one| one.commit.is_some() && one.commit == commit);
        let since = Timestamp::from_millis(0);
        let costs = usage::turn_totals(tx, UsageBy::Task, since, None)?;
        let is_submitted = task.state.status() == TaskStatus::Review;
        Ok(ReviewCardView {
            submitted_at: is_submitted.then(|| submitted_at(tx, &task)).transpose()?.map(|at| at.to_string()),
            wanted_by: wanted_by(tx, id)?.iter().map(ToString::to_string).collect(),
            author: task.state.claim().map(|claim| claim.claimant.clone()),
            commands: commands(app, tx, &task, &all, commit.as_deref(), worktree.as_deref())?,
            task: lookup::view(tx, &task)?,
            changes,
            problem,
            uncommitted,
            evidence: here,
            other_evidence: elsewhere.len(),
            reviews: all.iter().map(ReviewView::from).collect(),
            comments,
            blockers: report.map(GateReport::into_blockers).unwrap_or_default(),
            consequences: consequences.map(|one| ConsequenceView { kind: one.kind, paths: one.paths }).collect(),
            cost: costs
                .into_iter()
                .find(|one| one.key.as_deref() == Some(id.as_str()))
                .map(|one| CostView { cost_usd: one.cost_usd, turns_without_cost: one.turns_without_cost })
                .unwrap_or_default(),
            claimed_at: claims::chain(tx, id)?.map(|chain| chain.since.to_string()),
        })
    })
}

/// The new part of a task's work, and every path that the work changes on its base.
fn changes_of(
    app: &App,
    git: &Git<'_>,
    id: &TaskId,
    judged: &JudgedWork,
    all: bool,
) -> Result<(ReviewChangesView, Vec<String>)> {
    let Some(commit) = judged.commit.as_deref().and_then(|commit| git.commit(commit)) else {
        return Err(Refusal::not_found("commit", judged.commit.as_deref().unwrap_or("HEAD")).into());
    };
    let base = &judged.base;
    let base_tip = git.commit(base).ok_or_else(|| Refusal::not_found("base branch", base))?;
    let fork = git.merge_base(&base_tip, &commit)?;
    let fork = fork.ok_or_else(|| Refusal::NoCommonCommit { of: id.to_string(), base: base.clone() })?;
    let work = Work { commit: &commit, base, base_tip: &base_tip, fork: &fork };
    let seen = app.read(|tx| {
        let lane = lookup::task(tx, id)?.fields.lane;
        let known = seen_work::all(tx)?;
        let before = seen_before(&known, (id, lane.as_ref()), &app.actor.name, &commit);
        Ok(before.into_iter().cloned().collect::<Vec<_>>())
    })?;
    let seen = if all { &[][..] } else { &seen };
    Ok((unseen_changes::unseen(app, git, work, seen)?, unseen_changes::paths(git, work)?))
}

/// The commands on a card. A verdict names the commit that is shown.
fn commands(
    app: &App,
    tx: &ReadTx<'_>,
    task: &Task,
    all: &[Review],
    commit: Option<&str>,
    worktree: Option<&str>,
) -> Result<Vec<CommandView>> {
    let id = &task.id;
    let command = |purpose: &str, command: String| CommandView { purpose: purpose.to_owned(), command };
    let at = commit.map(|commit| format!(" --commit {}", commit_id::short(commit))).unwrap_or_default();
    let mut domains: Vec<Label> = gates::required_domains(app, task);
    domains.extend(gates::requested_domains(tx, all, &domains)?);
    let domains: Vec<String> = match domains.len() {
        0 | 1 => vec![String::new()],
        _ => domains.iter().map(|domain| format!(" --domain {domain}")).collect(),
    };
    let mut found = Vec::new();
    for domain in &domains {
        found.push(command("approve", format!("fairway review record {id} --verdict approve{domain}{at}")));
    }
    if let Some(domain) = domains.first() {
        let changes = format!("fairway review record {id} --verdict changes{domain}{at} --notes TEXT");
        found.push(command("ask for changes", changes));
    }
    found.push(command("comment on a line", format!("fairway review comment {id} FILE:LINE TEXT{at}")));
    if task.state.status() == TaskStatus::Review {
        found.push(command("see it later", format!("fairway review next --defer {id}")));
    }
    if let Some(dir) = worktree {
        found.push(command("open it", format!("cd {}", shell_words::quote(dir))));
    }
    found.push(command("land it", format!("fairway land {id}")));
    Ok(found)
}
