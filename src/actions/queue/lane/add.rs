//! Adds a lane, with or without its own worktree.

use anyhow::Result;

use super::{
    edit::{self, LanePatch, here},
    worktree::{self, WorktreePlan},
};
use crate::{
    actions::{Answer, App, queue::base_commit},
    domain::{
        Event, EventKind, LaneName, Refusal,
        lane::{Lane, LaneStatus},
    },
    env::Timestamp,
    os::{
        git::{Git, Repository},
        host,
    },
    store::{ReadTx, WriteTx, lanes},
};

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
    let answer = worktree::create(app, &git, name, &plan, || {
        app.mutate(|tx| {
            check_absent(tx, name)?;
            worktree::clear_intent(tx, name)?;
            insert(tx, &here(Lane { created_at: tx.now(), ..lane }), Some(&plan.commit))
        })
    })?;
    Ok(answer.with_notes(note))
}

/// The lane that [`add_with_worktree`] would add. Creates nothing.
pub fn planned(app: &App, name: &LaneName, fields: &LanePatch) -> Result<Lane> {
    let git = Repository::around(Git::new(app.env.vars(), &app.project.root))?;
    Ok(plan_worktree(app, &git, name, fields)?.0)
}

fn plan_worktree(app: &App, git: &Repository<'_>, name: &LaneName, fields: &LanePatch) -> Result<(Lane, WorktreePlan)> {
    let given = |field: &Option<Option<String>>| field.clone().flatten();
    let base = given(&fields.base).unwrap_or_else(|| app.settings.project.base_branch.clone());
    let branch = given(&fields.branch).unwrap_or_else(|| format!("lane/{name}"));
    let worktree = match given(&fields.worktree) {
        Some(dir) => dir,
        None => worktree::default_path(app, name)?,
    };
    let commit = base_commit::find(app, git.git(), &base)?.ok_or_else(|| {
        if git.git().has_commits() {
            Refusal::not_found("base branch", &base)
        } else {
            Refusal::NoCommit { base: base.clone() }
        }
    })?;
    let lane = Lane {
        branch: Some(branch.clone()),
        base: Some(base),
        worktree: Some(worktree.clone()),
        owns_worktree: true,
        ..new_lane(name, fields, app.env.now())
    };
    let local = host::identity_to_record();
    let (host, host_id) = local.id.map(|id| (local.name, id)).unzip();
    Ok((lane, WorktreePlan { branch, commit, worktree, host, host_id }))
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
