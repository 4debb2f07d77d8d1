//! The agent of a task was killed: another one of its lane continues the claim.

use super::{Hands, go_on};
use crate::common::agent_programs::Agent;
use crate::common::test_project::FAIRWAY;

fn next_agent_of_the_lane_continues(agent: Agent) {
    let Some(hands) = Hands::of(agent, "true") else { return };
    hands.kill_first();
    hands.launch("s2", "a", "dev", &go_on(&format!("{FAIRWAY} claim")));
    hands.continues("s2", "a", "continued");
}

#[test]
fn claude_code_continues_the_claim_of_a_dead_one() {
    next_agent_of_the_lane_continues(Agent::Claude);
}

#[test]
fn codex_continues_the_claim_of_a_dead_one() {
    next_agent_of_the_lane_continues(Agent::Codex);
}
