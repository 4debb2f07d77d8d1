//! What is decided about the work of a structured agent.

use super::Scene;
use crate::sessions::eventually;

impl Scene {
    fn has_claimed(&self) {
        self.run(["task", "add", "T-1", "one"]).exits(0);
        self.run(["--session", "s", "claim", "T-1"]).exits(0);
    }

    fn changes(&self, notes: &str) {
        self.run(["review", "record", "T-1", "--verdict", "changes", "--notes", notes]).exits(0);
    }
}

#[test]
fn verdict_is_the_next_prompt_of_an_idle_agent() {
    let scene = Scene::launched();
    scene.has_claimed();
    scene.changes("write c, not b");
    scene.shows("  | write c, not b");
    scene.wait_until_idle();
    let told: Vec<String> = scene.prompts().concat().into_iter().filter(|text| text.contains("write c")).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("  > T-1: ") && told[0].contains("(review 1):\n  | write c, not b"), "{told:?}");
    // Waiting for a person, it reads it with the next turn.
    scene.prompt("RUN[[touch asked]]");
    let asked = scene.asked();
    scene.changes("write d");
    assert!(!scene.prompts().concat().iter().any(|text| text.contains("write d")));
    scene.run(["approvals", "answer", &asked["id"].to_string(), "deny"]).exits(0);
    scene.shows("  | write d");
}

#[test]
fn agent_that_can_be_steered_reads_a_verdict_in_its_turn() {
    let scene = Scene::with("steer", "");
    scene.begin();
    scene.has_claimed();
    scene.prompt("STALL");
    eventually("it is busy", || (scene.session("s")["activity"] == "busy").then_some(()));
    scene.changes("write c");
    scene.shows("heard: message");
    scene.run(["session", "interrupt", "s"]).exits(0);
    scene.wait_until_idle();
    assert_eq!(scene.peek().matches("| write c").count(), 2, "the prompt, and what the agent says");
}
