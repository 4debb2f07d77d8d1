//! The agent of a task hands it over: one of another lane brings the commits into its own.

use super::{Hands, commit, go_on};
use crate::common::agent_programs::Agent;
use crate::common::test_project::FAIRWAY;

fn acceptor_goes_on_in_its_own_lane(agent: Agent) {
    let offer = format!("{FAIRWAY} handoff create T-1 --to qa --summary 'test the tax'");
    let Some(hands) = Hands::of(agent, &offer) else { return };
    // A commit of its own: the others are merged.
    let accepts = format!("{}; {FAIRWAY} handoff accept 1 --move", commit("own"));
    hands.launch("s2", "b", "qa", &go_on(&accepts));
    hands.continues("s2", "b", "handed_over");
}

#[test]
fn claude_code_accepts_a_handoff_with_the_commits() {
    acceptor_goes_on_in_its_own_lane(Agent::Claude);
}

#[test]
fn codex_accepts_a_handoff_with_the_commits() {
    acceptor_goes_on_in_its_own_lane(Agent::Codex);
}
