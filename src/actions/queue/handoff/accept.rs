//! Accept a handoff, with the claim or without.

use anyhow::Result;

use super::{
    state::{self, load_for, record_answer},
    work::{self, HandedWork},
};
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
    wire::{AcceptedHandoffView, HandoffView},
};

/// open → accepted, by an actor of its role or lane. With `take` the actor also gets the claim in the same transaction, and
/// the task is in progress; when the claim is refused, the handoff stays open. The answer says who has the task then, and where
/// its work is: a task of which something was begun stays in its lane.
///
/// # Errors
/// `not_found`, `already_answered`, `role_mismatch`, `lane_mismatch`; with `take` also `stale_claim`, `wrong_state`,
/// `already_yours`, `already_claimed`, `deps_open`, `session_final` and the errors of the lane.
pub fn accept(app: &App, id: i64, take: bool) -> Result<Answer> {
    let task = app.read(|tx| Ok(state::find(tx, id)?.task))?;
    let work = work::find(app, &task)?.filter(HandedWork::is_begun);
    app.mutate(|tx| {
        let asked = load_for(app, tx, id, HandoffStatus::Accepted)?;
        if asked.repeat_answer.is_some() {
            let task = lookup::task(tx, &asked.handoff.task)?;
            let line = format!("unchanged: handoff {id} is accepted already; {}", claimant_clause(&task));
            return answer(&asked.handoff, &task, work.as_ref(), line);
        }
        let task = lookup::task(tx, &asked.handoff.task)?;
        // The answer first: in the event log the handoff comes before its claim.
        let handoff = record_answer(tx, asked.handoff.clone(), HandoffStatus::Accepted, None)?;
        if !take {
            let line = format!("accepted handoff {id} of {}; {}", task.id, claimant_clause(&task));
            return answer(&handoff, &task, work.as_ref(), line);
        }
        let claim = move_claim(app, tx, &asked.handoff, &task, work.as_ref(), asked.role)?;
        let line = format!(
            "accepted handoff {id} of {}, which is now claimed by {} under epoch {}: {}",
            task.id, claim.claimant, claim.epoch, task.fields.title
        );
        answer(&handoff, &lookup::task(tx, &task.id)?, work.as_ref(), line)
    })
}

/// The claimant of the task, as a clause of a sentence.
fn claimant_clause(task: &Task) -> String {
    let id = &task.id;
    match task.state.claim() {
        Some(claim) => format!("{id} is claimed by {}", claim.claimant),
        None if task.state.status().is_closed() => format!("{id} is {}", task.state.status()),
        None => format!("{id} is not claimed; to claim it: fairway claim {id}"),
    }
}

fn answer(handoff: &Handoff, task: &Task, work: Option<&HandedWork>, mut line: String) -> Result<Answer> {
    let claim = task.state.claim();
    line = format!("{line}\n  summary: {}", handoff.summary);
    if let Some(work) = work {
        line = format!("{line}\n  {}", work.line());
    }
    let view = AcceptedHandoffView {
        handoff: HandoffView::from(handoff),
        claimant: claim.map(|claim| claim.claimant.clone()),
        epoch: claim.map(|claim| claim.epoch),
        work: work.map(HandedWork::view),
    };
    Answer::new(&view, handoff.id, line)
}

fn move_claim(
    app: &App,
    tx: &WriteTx<'_>,
    handoff: &Handoff,
    task: &Task,
    work: Option<&HandedWork>,
    role: Option<Role>,
) -> Result<Claim> {
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
    // The commits do not move with the claim.
    let of_work = work.and_then(|work| work.lane.as_ref()).filter(|lane| task.fields.lane.as_ref() == Some(lane));
    let place = match of_work.or(handoff.to_lane.as_ref()) {
        Some(lane) => place.put_in(lane),
        None => place,
    };
    let waiting = lookup::not_ready_reasons(tx, task)?;
    if !waiting.is_empty() {
        return Err(Refusal::DepsOpen { task: task.id.clone(), waiting }.into());
    }
    check_lane_capacity(tx, handoff, task, place.task_lane.as_ref())?;
    let actor = Actor { role, ..app.actor.clone() };
    let claim = task.new_claim(&actor, tx.now(), app.settings.claims.lease);
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
