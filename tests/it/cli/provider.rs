//! `fairway provider list`.

use std::fs;

use crate::common::TestProject;

#[test]
fn list_shows_what_is_installed_and_what_was_tried() {
    let mut world = TestProject::new();
    fs::write(world.root().join(".fairway.toml"), "[providers.mine.acp]\ncommand = [\"mine\", \"--acp\"]\n").unwrap();
    world.set("PATH", "/nonexistent");
    insta::assert_snapshot!(world.transcript(&["fairway provider list"]), @r"
    $ fairway provider list
    NAME      SOURCE      TERMINAL                         STRUCTURED                       ASKS
    claude    built_in    not installed (proven: 2.1.329)  not installed (proven: 0.101.0)  default
    codex     built_in    not installed (proven: 0.169.0)  not installed (proven: 2.6.0)    read-only
    gemini    built_in    not installed (proven: 0.61.0)   not installed (proven: 0.61.0)   default
    mine      configured  not installed (unproven)         not installed (unproven)         -
    opencode  built_in    not installed (unproven)         not installed (proven: 1.18.33)  build
    ");
}
