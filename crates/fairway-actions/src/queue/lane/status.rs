//! Opens, pauses and closes a lane.

use anyhow::Result;

use super::checkout::{self, Presence};
use super::edit;
use crate::core::lookup;
use crate::{Answer, App};
use fairway_core::domain::lane::{Lane, LaneStatus};
use fairway_core::domain::{Event, EventKind, LaneName, plural};
use fairway_core::store::{WriteTx, lanes, tasks};

/// Opens, pauses or closes a lane. Existing claims stay.
pub fn set(app: &App, name: &LaneName, status: LaneStatus) -> Result<Answer> {
    app.mutate(|tx| {
        let lane = lookup::lane(tx, name)?;
        if lane.status == status {
            return edit::answer(tx, name, format!("unchanged: lane {name} is {status} already"));
        }
        let before = lane.status;
        write(tx, lane, status)?;
        let answer = edit::answer(tx, name, format!("lane {name}: {before} → {status}"))?;
        let held = tasks::held_in_lane(tx, name, None)?;
        if let (LaneStatus::Open, Presence::Missing(_)) = (status, checkout::presence(app, &lookup::lane(tx, name)?)) {
            return Ok(answer.note(format!("its worktree is gone; make it again: fairway lane repair {name}")));
        }
        Ok(if status != LaneStatus::Open && held > 0 {
            answer.note(format!("it keeps {}", plural::count(held, "claimed task")))
        } else {
            answer
        })
    })
}

pub(super) fn write(tx: &WriteTx<'_>, lane: Lane, status: LaneStatus) -> Result<()> {
    let kind = match status {
        LaneStatus::Open => EventKind::LaneOpened,
        LaneStatus::Paused => EventKind::LanePaused,
        LaneStatus::Closed => EventKind::LaneClosed,
    };
    let from = lane.status;
    let lane = Lane { status, ..lane };
    lanes::upsert(tx, &lane)?;
    tx.record(&Event::new(kind).lane(Some(&lane.name)).with("from", from.as_str()).with("to", status.as_str()))?;
    Ok(())
}
