//! Offering work to another role or lane.

use anyhow::Result;

use super::state::{insert, require_open};
use crate::{
    actions::{Answer, App, core::lookup},
    domain::{
        LaneName, Role, TaskId,
        handoff::{Handoff, HandoffStatus},
        rules::fencing::TaskWrite,
        text_limits,
    },
    env::Timestamp,
    wire::HandoffView,
};

/// What is offered, and to whom: a role or a lane.
#[derive(Debug, Clone)]
pub struct NewHandoff {
    /// To this role.
    pub to_role: Option<Role>,
    /// To this lane.
    pub to_lane: Option<LaneName>,
    /// What it is about.
    pub summary: String,
    /// What the other needs to know, at length.
    pub payload: Option<String>,
}

/// Makes an open handoff under the task's epoch of now. The task stays where it is until one accepts with the claim.
///
/// # Errors
/// `not_found`, `wrong_state` on a closed task, `stale_claim`, `invalid_value`.
pub fn create(app: &App, id: &TaskId, words: &NewHandoff) -> Result<Answer> {
    let summary = text_limits::check_line("summary", &words.summary)?;
    let payload = words.payload.as_deref().map(|payload| text_limits::check_body("payload", payload)).transpose()?;
    app.mutate(|tx| {
        let task = lookup::task(tx, id)?;
        lookup::check_authority(tx, &task, &app.actor, TaskWrite::AddRecord)?;
        require_open(&task)?;
        if let Some(lane) = &words.to_lane {
            lookup::lane(tx, lane)?;
        }
        let handoff = insert(
            tx,
            Handoff {
                id: 0,
                task: id.clone(),
                from_role: lookup::effective_scope(tx, &app.actor)?.0,
                from_actor: app.actor.name.clone(),
                to_role: words.to_role.clone(),
                to_lane: words.to_lane.clone(),
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
        let to = match (&words.to_role, &words.to_lane) {
            (Some(role), _) => format!("role {role}"),
            (None, Some(lane)) => format!("lane {lane}"),
            (None, None) => "nobody".into(),
        };
        let line = format!("created handoff {} of {id} to {to}", handoff.id);
        Answer::new(&HandoffView::from(&handoff), handoff.id, line)
    })
}
