//! Open handoffs that no live session can accept.

use super::{
    facts::{Facts, may_work},
    need::Need,
};
use crate::domain::{handoff::Handoff, need::NeedKind};

/// The role of agents that a person started by hand.
const PERSON: &str = "person";

/// An item for each open handoff to a person, or to a role or lane without a session that may work.
pub(super) fn items(facts: &Facts) -> Vec<Need> {
    facts.handoffs.iter().filter(|handoff| needs_person(facts, handoff)).map(item).collect()
}

fn needs_person(facts: &Facts, handoff: &Handoff) -> bool {
    let is_for_person = handoff.to_role.as_ref().is_some_and(|role| role.as_str() == PERSON);
    let has_reader = facts.sessions.iter().filter(|one| may_work(one)).any(|one| {
        handoff.to_role.as_ref() == Some(&one.session.role)
            || (handoff.to_lane.is_some() && handoff.to_lane == one.session.lane)
    });
    is_for_person || !has_reader
}

fn item(handoff: &Handoff) -> Need {
    let id = handoff.id;
    let to = match (&handoff.to_role, &handoff.to_lane) {
        (Some(role), _) => format!("role {role}"),
        (None, Some(lane)) => format!("lane {lane}"),
        (None, None) => String::new(),
    };
    let evidence = format!("handoff {id} by {}; no live session is in {to}", handoff.from_actor);
    let line = format!("to {to}: {}", handoff.summary);
    Need::new(NeedKind::Handoff, &id.to_string(), Some(handoff.created_at), line, evidence)
        .task(&handoff.task)
        .lane(handoff.to_lane.as_ref())
        .then("accept it", format!("fairway handoff accept {id}"))
        .then("decline it", format!("fairway handoff decline {id} --reason TEXT"))
}
