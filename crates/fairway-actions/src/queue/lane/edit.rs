//! A lane's editable fields, and their edit.

use std::path::Path;

use anyhow::Result;

use crate::core::last_heard::LastHeard;
use crate::core::{lookup, other_host};
use crate::{Answer, App};
use fairway_core::domain::id::Label;
use fairway_core::domain::lane::Lane;
use fairway_core::domain::sandbox::SandboxClass;
use fairway_core::domain::{Event, EventKind, LaneName, Refusal, Role, branch_name, text_limits};
use fairway_core::os::host;
use fairway_core::store::{ReadTx, WriteTx, hosts, lanes, tasks};
use fairway_core::wire::LaneView;

/// Changes fields of a lane. A branch or worktree that is set here belongs to the user, so `lane rm` will leave it.
pub fn edit(app: &App, name: &LaneName, fields: &LanePatch) -> Result<Answer> {
    fields.check()?;
    app.mutate(|tx| {
        let before = lookup::lane(tx, name)?;
        let mut lane = apply_patch(before.clone(), fields);
        if (&lane.branch, &lane.worktree) != (&before.branch, &before.worktree) {
            lane.owns_worktree = false;
        }
        // A worktree that the caller names is on this host.
        if fields.worktree.is_some() {
            lane = here(lane);
        }
        let changed: Vec<String> = [
            ("title", lane.title != before.title),
            ("role", lane.role != before.role),
            ("branch", lane.branch != before.branch),
            ("base", lane.base != before.base),
            ("worktree", lane.worktree != before.worktree),
            ("host", lane.worktree.is_some() && lane.host_id != before.host_id),
            ("wip_limit", lane.wip_limit != before.wip_limit),
            ("provider", lane.provider != before.provider),
            ("backend", lane.backend != before.backend),
            ("sandbox", lane.sandbox != before.sandbox),
        ]
        .into_iter()
        .filter(|(_, differs)| *differs)
        .map(|(field, _)| field.to_owned())
        .collect();
        if changed.is_empty() {
            return answer(tx, name, format!("unchanged: lane {name} has these values already"));
        }
        lanes::upsert(tx, &lane)?;
        let line = format!("edited lane {name}: {}", changed.join(", "));
        tx.record(&Event::new(EventKind::LaneEdited).lane(Some(name)).with("fields", changed))?;
        let answer = answer(tx, name, line)?;
        let missing = fields.worktree.is_some().then(|| missing_worktree(&lane)).flatten();
        Ok(answer.with_notes(left_behind(app, tx, &before, &lane)?.into_iter().chain(missing)))
    })
}

/// A note when the lane no longer names a worktree on another host that is still heard of: unpushed work may be left
/// there.
fn left_behind(app: &App, tx: &WriteTx<'_>, before: &Lane, lane: &Lane) -> Result<Option<String>> {
    if before.host_id == lane.host_id || !other_host::has_worktree(app, before) {
        return Ok(None);
    }
    let (Some(dir), Some(id)) = (&before.worktree, &before.host_id) else { return Ok(None) };
    let Some(known) = hosts::find(tx, id)? else { return Ok(None) };
    let heard = LastHeard::new(known.last_seen, tx.now());
    let host = other_host::of_lane(tx, before)?;
    Ok(heard.is_recent(app).then(|| {
        format!(
            "the worktree {dir} on {} is no longer that of a lane, and {0} was heard of {} ago: push from there what is not pushed",
            host.name,
            heard.age()
        )
    }))
}

fn apply_patch(lane: Lane, fields: &LanePatch) -> Lane {
    Lane {
        title: fields.title.clone().unwrap_or(lane.title),
        role: fields.role.clone().unwrap_or(lane.role),
        branch: fields.branch.clone().unwrap_or(lane.branch),
        base: fields.base.clone().unwrap_or(lane.base),
        worktree: fields.worktree.clone().unwrap_or(lane.worktree),
        wip_limit: fields.wip_limit.unwrap_or(lane.wip_limit),
        provider: fields.provider.clone().unwrap_or(lane.provider),
        backend: fields.backend.clone().unwrap_or(lane.backend),
        sandbox: fields.sandbox.map_or(lane.sandbox, Option::unwrap_or_default),
        ..lane
    }
}

/// Returns the lane with this host recorded as the host of its worktree; with no host for a lane without a worktree.
pub(super) fn here(lane: Lane) -> Lane {
    if lane.worktree.is_none() {
        return lane.on_host(String::new(), None);
    }
    let local = host::identity_to_record();
    lane.on_host(local.name, local.id)
}

/// A partial update of a lane: `None` keeps a field, `Some(None)` clears it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LanePatch {
    pub title: Option<Option<String>>,
    pub role: Option<Option<Role>>,
    pub branch: Option<Option<String>>,
    /// The branch that `branch` started from.
    pub base: Option<Option<String>>,
    pub worktree: Option<Option<String>>,
    /// How many tasks may be claimed in the lane at once.
    pub wip_limit: Option<Option<i64>>,
    pub provider: Option<Option<Label>>,
    pub backend: Option<Option<String>>,
    /// The weakest sandbox that a session in the lane may have.
    pub sandbox: Option<Option<SandboxClass>>,
}

impl LanePatch {
    pub(super) fn check(&self) -> Result<(), Refusal> {
        let line = |what: &'static str, value: &Option<Option<String>>| match value.iter().flatten().next() {
            Some(value) => text_limits::check_line(what, value).map(drop),
            None => Ok(()),
        };
        line("title", &self.title)?;
        line("worktree", &self.worktree)?;
        line("backend", &self.backend)?;
        for (what, value) in [("branch", &self.branch), ("base", &self.base)] {
            if let Some(value) = value.iter().flatten().next() {
                branch_name::check(what, value)?;
            }
        }
        Ok(())
    }
}

pub(super) fn view(tx: &ReadTx<'_>, name: &LaneName) -> Result<LaneView> {
    let lane = lookup::lane(tx, name)?;
    Ok(LaneView::new(&lane, tasks::held_in_lane(tx, name, None)?))
}

pub(super) fn answer(tx: &ReadTx<'_>, name: &LaneName, line: impl Into<String>) -> Result<Answer> {
    Answer::new(&view(tx, name)?, name, line)
}

/// The note for a lane whose worktree should be on this host but does not exist; `None` when it exists.
pub(super) fn missing_worktree(lane: &Lane) -> Option<String> {
    let dir = lane.worktree.as_deref().filter(|dir| !Path::new(dir).is_dir())?;
    let (dir, branch) = (shell_words::quote(dir), shell_words::quote(lane.branch.as_deref().unwrap_or("BRANCH")));
    Some(format!(
        "there is no directory {dir}; make the worktree before work starts in it: git worktree add {dir} {branch}"
    ))
}
