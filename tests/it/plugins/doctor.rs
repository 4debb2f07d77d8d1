//! A plugin that brings hooks, and installed hooks beside it.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::common::TestProject;
use crate::common::test_project::FAIRWAY;

/// A world whose user has enabled the plugin, with the binary in PATH.
fn with_plugin() -> TestProject {
    let mut world = TestProject::new();
    let home = world.dir().join("home/.claude");
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join("settings.json"), json!({ "enabledPlugins": { "fairway@fairway": true } }).to_string())
        .unwrap();
    let bin = world.dir().join("bin");
    fs::create_dir(&bin).unwrap();
    symlink(FAIRWAY, bin.join("fairway")).unwrap();
    world.set("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    world
}

fn codes(world: &TestProject) -> Vec<Value> {
    let run = world.run(["doctor", "hooks", "claude", "--json"]);
    run.json()["findings"].as_array().unwrap().iter().map(|finding| finding["code"].clone()).collect()
}

#[test]
fn hook_install_beside_the_plugin_is_refused_and_changes_nothing() {
    let world = with_plugin();
    let refused = world.run(["hook", "install", "claude", "--json"]).refuses(4, "plugin_has_hooks").error();
    assert_eq!(refused["hint"], "to use the entries in its place: claude plugin disable fairway@fairway", "{refused}");
    world.run(["hook", "install", "claude", "--user", "--json"]).refuses(4, "plugin_has_hooks");
    assert!(!world.root().join(".claude").exists());
    assert_eq!(codes(&world), ["plugin"]);
    // The plugins for others bring no hooks.
    world.run(["hook", "install", "codex"]).exits(0);
    // Setup leaves the hooks to the plugin.
    let plan = world.json(["setup", "--dry-run", "--provider", "claude"]);
    let hooks = plan["steps"].as_array().unwrap().iter().find(|step| step["kind"] == "hooks").unwrap();
    assert_eq!(hooks["status"], "unchanged", "{hooks}");
    // A project that turns the plugin off has none.
    let settings = world.root().join(".claude/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, json!({ "enabledPlugins": { "fairway@fairway": false } }).to_string()).unwrap();
    world.run(["hook", "install", "claude"]).exits(0);
}

#[test]
fn hooks_of_plugin_and_settings_are_found_as_running_twice() {
    let world = with_plugin();
    let user = world.dir().join("home/.claude/settings.json");
    let enabled = fs::read_to_string(&user).unwrap();
    fs::write(&user, "{}").unwrap();
    world.run(["hook", "install", "claude"]).exits(0);
    fs::write(&user, enabled).unwrap();
    assert!(codes(&world).contains(&json!("hooks_twice")), "{:?}", codes(&world));
    world.run(["doctor", "hooks", "claude"]).exits(1);
    world.run(["hook", "uninstall", "claude"]).exits(0);
    assert_eq!(codes(&world), ["plugin"]);
}

#[test]
fn plugin_without_the_program_in_path_is_an_error() {
    let mut world = with_plugin();
    world.set("PATH", "/usr/bin:/bin");
    assert_eq!(codes(&world), ["stale_path"]);
}
