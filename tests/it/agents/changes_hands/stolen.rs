//! The agent of a task lives and is stuck: another one of its lane steals the claim.

use super::{Hands, go_on};
use crate::common::agent_programs::Agent;
use crate::common::test_project::FAIRWAY;

fn thief_goes_on(agent: Agent) {
    let Some(hands) = Hands::of(agent, "true") else { return };
    hands.launch("s2", "a", "dev", &go_on(&format!("{FAIRWAY} claim T-1 --steal --reason 'it is stuck'")));
    hands.continues("s2", "a", "stolen");
}

#[test]
fn claude_code_goes_on_with_a_stolen_task() {
    thief_goes_on(Agent::Claude);
}

#[test]
fn codex_goes_on_with_a_stolen_task() {
    thief_goes_on(Agent::Codex);
}
