//! The lane that a command means: by its name, by a task in it, or by where the caller is.

use anyhow::Result;

use crate::App;
use crate::core::only::Choice;
use crate::core::{lookup, other_host};
use fairway_core::domain::lane::{Lane, LaneStatus};
use fairway_core::domain::{LaneName, Refusal, TaskId};
use fairway_core::store::{ReadTx, lanes};

/// The lane with this name, else that of the task with this id. Without a name: the lane in whose worktree the caller is, else the
/// only lane that has a worktree here.
///
/// # Errors
/// `not_found`; `usage` when several lanes have a worktree, or none.
pub fn lane_or_task(app: &App, named: Option<&str>) -> Result<LaneName> {
    app.read(|tx| match named {
        Some(named) => by_name(tx, named),
        None => without_name(app, tx),
    })
}

fn by_name(tx: &ReadTx<'_>, named: &str) -> Result<LaneName> {
    let lane = LaneName::parse(named);
    if let Ok(lane) = &lane
        && lanes::find(tx, lane)?.is_some()
    {
        return Ok(lane.clone());
    }
    if TaskId::is_distinct(named) {
        let task = lookup::task(tx, &TaskId::parse(named)?)?;
        let Some(lane) = lookup::lane_of(tx, &task)? else {
            return Err(Refusal::ArgumentMissing {
                why: format!("{} has no lane", task.id),
                hint: format!("give it one and an agent: fairway start {}", task.id),
            }
            .into());
        };
        return Ok(lane.name);
    }
    Ok(lookup::lane(tx, &lane?)?.name)
}

fn without_name(app: &App, tx: &ReadTx<'_>) -> Result<LaneName> {
    let has_worktree = |lane: &Lane| {
        lane.status != LaneStatus::Closed && lane.worktree.is_some() && !other_host::has_worktree(app, lane)
    };
    let found: Vec<Lane> = lanes::all(tx)?.into_iter().filter(has_worktree).collect();
    if let Some(lane) = found.iter().find(|lane| lane.is_around(&app.env.cwd)) {
        return Ok(lane.name.clone());
    }
    let choice = Choice {
        found: &found.into_iter().map(|lane| lane.name).collect::<Vec<_>>(),
        noun: "lane",
        fits: "have a worktree",
        none: ("no lane has a worktree here", "start an agent in one: fairway start TASK"),
    };
    Ok(choice.only(|first| format!("name one: fairway diff {first}"))?)
}
