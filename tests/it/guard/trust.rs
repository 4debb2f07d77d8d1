//! Rules that nobody trusted, and rules that are gone.

use std::fs;

use serde_json::json;

use super::{GUARD, check, check_text, world_with};
use crate::common::TestProject;

#[test]
fn untrusted_rules_deny_every_call() {
    let world = world_with(GUARD);
    check_text(&world, "ls").exits(0);
    let config = world.root().join(".fairway.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{text}\n# changed\n")).unwrap();
    let denied = check_text(&world, "ls").refuses(5, "guard_denied");
    assert!(denied.json()["reason"].as_str().unwrap().contains("fairway trust"), "{denied:?}");
    fs::write(&config, &text).unwrap();
    check_text(&world, "ls").exits(0);
    // A local file that lifts the rules is a change too.
    fs::write(world.root().join(".fairway/local.toml"), "[guard]\nrules = []\n").unwrap();
    check_text(&world, "git push -f").refuses(5, "guard_denied");
    check_text(&world, "ls").refuses(5, "guard_denied");
}

#[test]
fn removed_rules_deny_until_trusted() {
    let world = world_with(GUARD);
    let config = world.root().join(".fairway.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.split("\n[guard]").next().unwrap()).unwrap();
    let denied = check_text(&world, "ls").refuses(5, "guard_denied");
    assert!(denied.json()["reason"].as_str().unwrap().contains("gone"), "{denied:?}");
    world.run(["trust"]).exits(0);
    let denied = check_text(&world, "ls").refuses(5, "guard_denied");
    assert!(denied.json()["reason"].as_str().unwrap().contains("[guard]"), "{denied:?}");
}

#[test]
fn call_without_rules_is_denied() {
    let world = TestProject::new();
    world.add_session("s1");
    let denied = check(&world, "Read", &json!({})).refuses(5, "guard_denied");
    assert!(denied.json()["reason"].as_str().unwrap().contains("no [guard] section"), "{denied:?}");
}

#[test]
fn trust_prompt_shows_the_rules() {
    let world = world_with(GUARD);
    let shown = world.run(["trust", "--show"]).exits(0).stdout;
    for part in ["guard.rules.no-force-push", "command [git, push]", "guard.roles.witness", "outside the worktree"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}
