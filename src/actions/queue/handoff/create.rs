//! Create a handoff.

use anyhow::Result;

use super::state::{self, insert, require_open};
use crate::{
    actions::{Answer, App, core::lookup},
    domain::{
        LaneName, Refusal, Role, TaskId,
        handoff::{Handoff, HandoffStatus},
        rules::fencing::TaskWrite,
        text_limits,
    },
    env::Timestamp,
};

/// A handoff to create, to a role or to a lane.
#[derive(Debug, Clone)]
pub struct NewHandoff {
    /// The receiving role.
    pub to_role: Option<Role>,
    /// The receiving lane.
    pub to_lane: Option<LaneName>,
    pub summary: String,
    /// The details for the receiver.
    pub payload: Option<String>,
}

/// Creates an open handoff under the task's current epoch. The claim stays until the handoff is accepted with the claim.
///
/// # Errors
/// `not_found`, `wrong_state` on a closed task, `already_offered` while another handoff of it is open, `stale_claim`,
/// `invalid_value`.
pub fn create(app: &App, id: &TaskId, new: &NewHandoff) -> Result<Answer> {
    let summary = text_limits::check_line("summary", &new.summary)?;
    let payload = new.payload.as_deref().map(|payload| text_limits::check_body("payload", payload)).transpose()?;
    app.mutate(|tx| {
        let task = lookup::task(tx, id)?;
        lookup::check_authority(tx, &task, &app.actor, TaskWrite::AddRecord)?;
        require_open(&task)?;
        if let Some(open) = state::open_of_task(tx, id)? {
            let is_same = app.actor.is_named(&open.from_actor)
                && (&open.to_role, &open.to_lane) == (&new.to_role, &new.to_lane)
                && (&open.summary, &open.payload) == (&summary, &payload);
            if !is_same {
                let (to, is_yours) = (open.recipient(), app.actor.is_named(&open.from_actor));
                return Err(Refusal::AlreadyOffered { task: id.clone(), handoff: open.id, to, is_yours }.into());
            }
            let line = format!("unchanged: handoff {} of {id} to {} is open already", open.id, open.recipient());
            return Answer::new(&open, open.id, line);
        }
        if let Some(lane) = &new.to_lane {
            lookup::lane(tx, lane)?;
        }
        let handoff = insert(
            tx,
            Handoff {
                id: 0,
                task: id.clone(),
                from_role: lookup::effective_scope(tx, &app.actor)?.0,
                from_actor: app.actor.name.clone(),
                to_role: new.to_role.clone(),
                to_lane: new.to_lane.clone(),
                status: HandoffStatus::Open,
                summary: summary.clone(),
                payload: payload.clone(),
                epoch: task.epoch,
                created_at: Timestamp::from_millis(0),
                answered_at: None,
                answered_by: None,
            },
            None,
        )?;
        let line = format!("created handoff {} of {id} to {}", handoff.id, handoff.recipient());
        Answer::new(&handoff, handoff.id, line)
    })
}
