//! Accept a handoff, with or without the claim.

use anyhow::Result;

use super::state::{load_for, record_answer};
use crate::{
    actions::{
        Answer, App,
        core::lookup,
        queue::task::{claim, claim_place},
    },
    domain::{
        Actor, LaneName, Refusal, Role,
        claim::Claim,
        handoff::{Handoff, HandoffStatus},
        rules::{self, claim as lanes_rule},
        task::Task,
    },
    store::{ReadTx, WriteTx, claims, tasks},
    wire::HandoffView,
};

/// open → accepted, by an actor of its role or lane. With `take` the actor also gets the claim in the same transaction, and
/// the task is in progress.
///
/// # Errors
/// `not_found`, `already_answered`, `role_mismatch`, `lane_mismatch`; with `take` also `stale_claim`, `wrong_state`,
/// `already_yours`, `already_claimed`, `deps_open`, `session_final` and the errors of the lane.
pub fn accept(app: &App, id: i64, take: bool) -> Result<Answer> {
    app.mutate(|tx| {
        let asked = load_for(app, tx, id, HandoffStatus::Accepted)?;
        if let Some(answer) = asked.repeat_answer {
            return Ok(answer);
        }
        let task = lookup::task(tx, &asked.handoff.task)?;
        // The answer first: in the event log the handoff comes before its claim.
        let handoff = record_answer(tx, asked.handoff.clone(), HandoffStatus::Accepted, None)?;
        let mut line = format!("accepted handoff {id} of {}", task.id);
        if take {
            let claim = move_claim(app, tx, &asked.handoff, &task, asked.role)?;
            line = format!("{line} and claimed it under epoch {}: {}", claim.epoch, task.fields.title);
        }
        Answer::new(&HandoffView::from(&handoff), id, line)
    })
}

fn move_claim(app: &App, tx: &WriteTx<'_>, handoff: &Handoff, task: &Task, role: Option<Role>) -> Result<Claim> {
    // A handoff of a claim that was continued since stays acceptable.
    let first_epoch = claims::chain(tx, &task.id)?.map_or(task.epoch, |chain| chain.first_epoch);
    let takeover = rules::handoff::claim_takeover(handoff, task, first_epoch, &app.actor, role.as_ref())?;
    let session = app.actor.session.as_ref().map(|id| lookup::session(tx, id)).transpose()?;
    if let Some(session) = &session {
        session.check_open()?;
    }
    let home = session.and_then(|session| session.lane);
    let place = claim_place::plan(tx, task, &takeover, &app.actor, home.as_ref())?;
    let waiting = lookup::not_ready_reasons(tx, task)?;
    if !waiting.is_empty() {
        return Err(Refusal::DepsOpen { task: task.id.clone(), waiting }.into());
    }
    check_lane_capacity(tx, handoff, task, place.task_lane.as_ref())?;
    let actor = Actor { role, ..app.actor.clone() };
    let claim = task.new_claim(&actor, tx.now(), app.settings.lease);
    claim::install(app, tx, task, &claim, &takeover, &place)?;
    Ok(claim)
}

/// Checks the WIP limits of the lane in which the task will be and of the handoff's lane.
fn check_lane_capacity(tx: &ReadTx<'_>, handoff: &Handoff, task: &Task, lane: Option<&LaneName>) -> Result<()> {
    let mut lanes: Vec<_> = lane.into_iter().chain(&handoff.to_lane).collect();
    lanes.dedup();
    for name in lanes {
        let lane = lookup::lane(tx, name)?;
        lanes_rule::check_capacity(&lane, tasks::held_in_lane(tx, name, Some(&task.id))?)?;
    }
    Ok(())
}
