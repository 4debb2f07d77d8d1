//! The agent of a task was killed and relaunched: the new one has the claim when it starts.

use super::{Hands, go_on};
use crate::common::agent_programs::Agent;

fn relaunched_agent_goes_on(agent: Agent) {
    let Some(hands) = Hands::of(agent, "true") else { return };
    hands.kill_first();
    let prompt = format!("RUN[[{}]]", go_on("true"));
    let again = hands.world.run(["session", "relaunch", "s1", "--json", "--prompt", &prompt]).exits(0).json();
    assert_eq!(again["continued"], serde_json::json!(["T-1"]));
    hands.continues("s1-2", "a", "continued");
}

#[test]
fn claude_code_goes_on_after_a_relaunch() {
    relaunched_agent_goes_on(Agent::Claude);
}

#[test]
fn codex_goes_on_after_a_relaunch() {
    relaunched_agent_goes_on(Agent::Codex);
}
