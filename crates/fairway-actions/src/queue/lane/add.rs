//! Adds a lane, with or without its own worktree.

use std::path::Path;

use anyhow::Result;

use super::edit::{self, LanePatch, here};
use super::gaps::{self, Gap};
use super::stack;
use super::worktree::{self, WorktreePlan};
use crate::queue::base_commit;
use crate::{Answer, App};
use fairway_core::domain::lane::{Lane, LaneStatus};
use fairway_core::domain::{Event, EventKind, LaneName, Refusal};
use fairway_core::env::Timestamp;
use fairway_core::os::git::{Git, Repository};
use fairway_core::os::host;
use fairway_core::store::{ReadTx, WriteTx, lanes};

pub fn add(app: &App, name: &LaneName, fields: &LanePatch) -> Result<Answer> {
    fields.check()?;
    app.mutate(|tx| insert(tx, &here(new_lane(name, fields, tx.now())), None))
}

/// Adds a lane and creates its branch and worktree. If a step fails, everything is undone.
///
/// # Errors
/// `exists`, also for the branch or the directory.
pub fn add_with_worktree(app: &App, name: &LaneName, fields: &LanePatch) -> Result<Answer> {
    fields.check()?;
    let git = Repository::around(Git::new(app.env.vars(), &app.project.root))?;
    let _held = worktree::lock(app, name)?;
    if let Some(answer) = worktree::prepare(app, &git, name, |tx| check_absent(tx, name))? {
        return Ok(answer);
    }
    let base = fields.base.clone().flatten();
    let note = base_commit::fetch(app, base.as_deref().unwrap_or(&app.settings.project.base_branch))?;
    let (lane, plan) = plan_worktree(app, &git, name, fields)?;
    let taken = plan.takes_branch.then(|| format!("it works on the branch {}, which was there", plan.branch));
    if !plan.takes_branch && app.read(|tx| Ok(lane.parent(&lanes::all(tx)?).is_some()))? {
        stack::keep(git.git(), name, &plan.commit)?;
    }
    let lands_on = lane.base.clone().filter(|on| base.is_some_and(|start| start != *on));
    let lands_on = lands_on.map(|on| format!("its work lands on {on}"));
    let answer = worktree::create(app, &git, name, &plan, || {
        app.mutate(|tx| {
            check_absent(tx, name)?;
            worktree::clear_intent(tx, name)?;
            insert(tx, &here(Lane { created_at: tx.now(), ..lane }), Some(&plan.commit))
        })
    })?;
    let gaps = gaps::find(app, Path::new(&plan.worktree))?;
    Ok(answer.with_notes(note).with_notes(taken).with_notes(lands_on).with_notes(gaps.iter().map(Gap::note)))
}

/// The lane that [`add_with_worktree`] would add. Creates nothing.
pub fn planned(app: &App, name: &LaneName, fields: &LanePatch) -> Result<Lane> {
    let git = Repository::around(Git::new(app.env.vars(), &app.project.root))?;
    Ok(plan_worktree(app, &git, name, fields)?.0)
}

fn plan_worktree(app: &App, git: &Repository<'_>, name: &LaneName, fields: &LanePatch) -> Result<(Lane, WorktreePlan)> {
    let given = |field: &Option<Option<String>>| field.clone().flatten();
    let start = given(&fields.base).unwrap_or_else(|| app.settings.project.base_branch.clone());
    // Work that starts from a branch of a remote lands on the branch here.
    let base = git.branch_for_remote(&start)?.unwrap_or_else(|| start.clone());
    let named = given(&fields.branch);
    let existing = named.as_deref().map(|branch| git.branch_commit(branch)).transpose()?.flatten();
    let branch = match named {
        Some(branch) => branch,
        None => default_branch(git, name)?,
    };
    let worktree = match given(&fields.worktree) {
        Some(dir) => dir,
        None => worktree::new_path(app, git.git(), name)?,
    };
    let first = base_commit::find(app, git.git(), &start)?.ok_or_else(|| {
        if git.git().has_commits() {
            Refusal::not_found("base branch", &start)
        } else {
            Refusal::NoCommit { base: start.clone() }
        }
    })?;
    let takes_branch = existing.is_some();
    let commit = existing.unwrap_or(first);
    let lane = Lane {
        branch: Some(branch.clone()),
        base: Some(base),
        worktree: Some(worktree.clone()),
        owns_worktree: true,
        ..new_lane(name, fields, app.env.now())
    };
    let local = host::identity_to_record();
    let (host, host_id) = local.id.map(|id| (local.name, id)).unzip();
    Ok((lane, WorktreePlan { branch, takes_branch, commit, worktree, host, host_id }))
}

/// The branch of a new lane for which none is named: `lane/NAME`, or `lane-NAME` where another branch keeps git from making that.
fn default_branch(git: &Repository<'_>, name: &LaneName) -> Result<String> {
    let branch = format!("lane/{name}");
    Ok(if git.branch_in_the_way(&branch)?.is_some() { format!("lane-{name}") } else { branch })
}

fn check_absent(tx: &ReadTx<'_>, name: &LaneName) -> Result<()> {
    match lanes::find(tx, name)? {
        Some(_) => Err(Refusal::AlreadyExists { noun: "lane", id: name.to_string() }.into()),
        None => Ok(()),
    }
}

fn new_lane(name: &LaneName, fields: &LanePatch, now: Timestamp) -> Lane {
    let given = |field: &Option<Option<String>>| field.clone().flatten();
    Lane {
        name: name.clone(),
        title: given(&fields.title),
        role: fields.role.clone().flatten(),
        status: LaneStatus::Open,
        branch: given(&fields.branch),
        base: given(&fields.base),
        worktree: given(&fields.worktree),
        host: None,
        host_id: None,
        owns_worktree: false,
        wip_limit: fields.wip_limit.flatten(),
        provider: fields.provider.clone().flatten(),
        backend: given(&fields.backend),
        sandbox: fields.sandbox.flatten().unwrap_or_default(),
        created_at: now,
    }
}

fn insert(tx: &WriteTx<'_>, lane: &Lane, commit: Option<&str>) -> Result<Answer> {
    check_absent(tx, &lane.name)?;
    lanes::upsert(tx, lane)?;
    tx.record(
        &Event::new(EventKind::LaneAdded)
            .lane(Some(&lane.name))
            .with("role", lane.role.as_ref().map(ToString::to_string))
            .with("branch", lane.branch.as_deref())
            .with("worktree", lane.worktree.as_deref())
            .with("made_worktree", lane.owns_worktree)
            .with("commit", commit)
            .with("sandbox", lane.sandbox.as_str()),
    )?;
    let place = match (&lane.worktree, lane.owns_worktree) {
        (Some(worktree), true) => format!(" with a worktree at {worktree}"),
        _ => String::new(),
    };
    let answer = edit::answer(tx, &lane.name, format!("added lane {}{place}", lane.name))?;
    Ok(answer.with_notes(edit::missing_worktree(lane)))
}
