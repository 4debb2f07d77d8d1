//! The claim that an acceptance makes: planned by the rules, then installed.

use anyhow::Result;

use crate::{
    actions::{
        App,
        core::lookup,
        queue::{
            landed_here,
            task::claim_place::{self, PlannedPlace},
        },
    },
    domain::{
        Actor, LaneName, Refusal, Role,
        claim::{Claim, Takeover},
        handoff::Handoff,
        rules::{self, claim as lanes_rule},
        task::Task,
    },
    store::{ReadTx, WriteTx, claims, tasks},
};

/// A claim that may be made.
pub(super) struct PlannedClaim {
    takeover: Takeover,
    place: PlannedPlace,
    role: Option<Role>,
}

/// Plans the move of the claim to the actor, with the task in `lane` or where a claim puts it.
///
/// # Errors
/// `stale_claim`, `wrong_state`, `already_yours`, `already_claimed`, `deps_open`, `session_final` and the errors of the lane.
pub(super) fn plan(
    app: &App,
    tx: &ReadTx<'_>,
    handoff: &Handoff,
    task: &Task,
    lane: Option<&LaneName>,
    role: Option<Role>,
) -> Result<PlannedClaim> {
    // An acceptor without a role acts in the role that the handoff is for.
    let role = role.or_else(|| handoff.to_role.clone());
    // A handoff of a claim that was continued since stays acceptable.
    let first_epoch = claims::chain(tx, &task.id)?.map_or(task.epoch, |chain| chain.first_epoch);
    let takeover = rules::handoff::claim_takeover(handoff, task, first_epoch, &app.actor, role.as_ref())?;
    let session = app.actor.session.as_ref().map(|id| lookup::session(tx, id)).transpose()?;
    if let Some(session) = &session {
        session.check_open()?;
    }
    let home = session.and_then(|session| session.lane);
    let place = claim_place::plan(tx, task, &takeover, &app.actor, home.as_ref())?;
    let place = match lane {
        Some(lane) => place.put_in(lane),
        None => place,
    };
    let waiting = landed_here::not_ready_reasons(app, tx, task)?;
    if !waiting.is_empty() {
        return Err(Refusal::DepsOpen { task: task.id.clone(), waiting }.into());
    }
    check_lane_capacity(tx, handoff, task, place.task_lane.as_ref())?;
    Ok(PlannedClaim { takeover, place, role })
}

impl PlannedClaim {
    /// Makes the claim, in the transaction that records the acceptance.
    pub(super) fn install(self, app: &App, tx: &WriteTx<'_>, task: &Task) -> Result<Claim> {
        let actor = Actor { role: self.role, ..app.actor.clone() };
        let claim = task.new_claim(&actor, tx.now(), app.settings.claims.lease);
        claim_place::install(app, tx, task, &claim, &self.takeover, &self.place)?;
        Ok(claim)
    }
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
