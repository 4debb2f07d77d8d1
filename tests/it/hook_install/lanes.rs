//! Hooks that are off in the worktree of a lane.

use std::fs;

use crate::common::TestProject;

fn world() -> TestProject {
    let mut world = TestProject::with_git();
    // No provider is asked.
    world.set("PATH", "/usr/bin:/bin");
    world.run(["hook", "install", "claude"]).exits(0);
    world.run(["lane", "add", "api", "--role", "dev", "--create-worktree"]).exits(0);
    world
}

fn launched(world: &TestProject, words: &[&str]) -> String {
    let launch = ["session", "launch", "--dry-run", "--lane", "api", "--provider", "claude", "--", "sleep", "9"];
    world.run(launch.iter().chain(words)).exits(0).stderr
}

#[test]
fn hooks_that_are_not_in_the_worktree_of_a_lane_are_warned_of() {
    let world = world();
    let found = world.run(["doctor", "hooks", "claude", "--json"]).exits(1).json();
    let finding = found["findings"].as_array().unwrap().iter().find(|one| one["code"] == "lane_without_hooks").unwrap();
    let message = finding["message"].as_str().unwrap();
    assert!(message.contains("the worktree of the lane api") && message.contains("the guard is off"), "{message}");
    assert_eq!(finding["fix"], "fairway hook install claude --user");
    let told = launched(&world, &[]);
    assert!(told.contains("claude finds no Fairway hooks in") && told.contains("hook install claude --user"), "{told}");

    // Entries without the guard's hook.
    let text = fs::read_to_string(world.root().join(".claude/settings.json")).unwrap();
    let own = world.root().join(".fairway/worktrees/api/.claude");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("settings.local.json"), text.replace("\"PreToolUse\": [", "\"Other\": [")).unwrap();
    assert!(launched(&world, &[]).contains("no Fairway hook before a tool call"));

    // Entries that hold there, in each place that is read, and by the words of the launch.
    fs::write(own.join("settings.local.json"), &text).unwrap();
    assert_eq!(launched(&world, &[]), "");
    world.run(["doctor", "hooks", "claude"]).exits(0);
    fs::remove_dir_all(&own).unwrap();
    let settings = world.dir().join("settings.json");
    fs::write(&settings, &text).unwrap();
    assert_eq!(launched(&world, &["--settings", settings.to_str().unwrap()]), "");
    assert_eq!(launched(&world, &["--settings", &text]), "");
    world.run(["hook", "install", "claude", "--user"]).exits(0);
    assert_eq!(launched(&world, &[]), "");
    world.run(["doctor", "hooks", "claude"]).exits(0);
}
