//! Agents that a person starts by hand: their session is known by the provider's own variable, their lane by the directory.

use serde_json::json;

use super::event;
use crate::common::TestProject;
use crate::common::test_project::CommandOutput;

/// The variable that Claude Code gives the programs of its shell.
const VARIABLE: &str = "CLAUDE_CODE_SESSION_ID";

/// A project with the lane `api` of the role `backend`, in whose worktree an agent was started by hand.
fn world() -> TestProject {
    let world = TestProject::with_git();
    world.run(["lane", "add", "api", "--role", "backend", "--create-worktree"]).exits(0);
    world.run(["task", "add", "--id", "T-1", "one", "--role", "backend"]).exits(0);
    let worktree = world.root().join(".fairway/worktrees/api");
    let mut start = event("SessionStart", "conversation-1", json!({ "source": "startup" }));
    start["cwd"] = worktree.display().to_string().into();
    world.hook("claude", &start).exits(0);
    world
}

fn in_shell(world: &TestProject, variables: &[(&str, &str)], words: &[&str]) -> CommandOutput {
    world.fairway(words).envs(variables.iter().copied()).output().unwrap().into()
}

#[test]
fn agent_started_by_hand_acts_as_its_session_in_the_lane_of_its_directory() {
    let world = world();
    let session = world.session();
    assert_eq!((&session["lane"], &session["role"]), (&"api".into(), &"backend".into()));
    let id = session["id"].as_str().unwrap();
    let shell = &[(VARIABLE, "conversation-1")][..];
    let prime = in_shell(&world, shell, &["prime"]).exits(0);
    assert!(prime.stdout.contains(id), "{prime:?}");
    let claimed = in_shell(&world, shell, &["claim", "--json"]).exits(0).json();
    assert_eq!(
        (&claimed["task"]["id"], &claimed["task"]["claim"]["claimant"]),
        (&"T-1".into(), &id.into()),
        "{claimed}"
    );
    // It is inside of a session: what only a person may do is refused.
    in_shell(&world, shell, &["release", "--dead", "--json"]).refuses(5, "inside_session");
}

#[test]
fn variable_is_believed_only_for_a_live_session_of_this_store() {
    let world = world();
    let claimant = |variables: &[(&str, &str)]| {
        let claimed = in_shell(&world, variables, &["claim", "T-1", "--json", "--any-role"]).exits(0).json();
        in_shell(&world, variables, &["release", "T-1"]).exits(0);
        claimed["task"]["claim"]["claimant"].as_str().unwrap().to_owned()
    };
    let id = world.session()["id"].as_str().unwrap().to_owned();
    assert_eq!(claimant(&[(VARIABLE, "conversation-1")]), id);
    assert!(claimant(&[(VARIABLE, "conversation-2")]).contains('@'));
    assert!(claimant(&[("CODEX_THREAD_ID", "conversation-1")]).contains('@'), "another provider's variable");
    world.run(["session", "upsert", "--id", "mine", "--role", "backend"]).exits(0);
    let both = [(VARIABLE, "conversation-1"), ("FAIRWAY_SESSION_ID", "mine")];
    assert_eq!(claimant(&both), "mine");
    world.hook("claude", &event("SessionEnd", "conversation-1", json!({ "reason": "other" }))).exits(0);
    assert!(claimant(&[(VARIABLE, "conversation-1")]).contains('@'), "it has ended");
}
