//! Edit a lane's fields.

use anyhow::Result;

use super::{
    add::here,
    patch::{self, LanePatch},
};
use crate::{
    actions::{
        Answer, App,
        core::{last_heard::LastHeard, lookup, other_host},
    },
    domain::{Event, EventKind, LaneName, lane::Lane},
    store::{WriteTx, hosts, lanes},
};

/// Applies `fields` to a lane. A branch or worktree given here belongs to the user: `lane rm` leaves it.
///
/// # Errors
/// `not_found`, `invalid_value`.
pub fn edit(app: &App, name: &LaneName, fields: &LanePatch) -> Result<Answer> {
    fields.check()?;
    app.mutate(|tx| {
        let before = lookup::lane(tx, name)?;
        let mut lane = apply_patch(before.clone(), fields);
        if (&lane.branch, &lane.worktree) != (&before.branch, &before.worktree) {
            lane.owns_worktree = false;
        }
        // A worktree that is named is on this host.
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
            return patch::answer(tx, name, format!("unchanged: lane {name} has these values already"));
        }
        lanes::upsert(tx, &lane)?;
        let line = format!("edited lane {name}: {}", changed.join(", "));
        tx.record(&Event::new(EventKind::LaneEdited).lane(Some(name)).with("fields", changed))?;
        let answer = patch::answer(tx, name, line)?;
        let missing = fields.worktree.is_some().then(|| patch::missing_worktree(&lane)).flatten();
        Ok(left_behind(app, tx, &before, &lane)?.into_iter().chain(missing).fold(answer, Answer::note))
    })
}

/// The note on a worktree of another host that the lane no longer names, while that host is heard of.
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
