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
    NAME      SOURCE      TERMINAL                        STRUCTURED                      ASKS       GUARD  SWITCHES
    auggie    built_in    not installed (untried)         not installed (untried)         -          -      -
    claude    built_in    not installed (tried: 2.1.329)  not installed (tried: 0.101.0)  default    -      yes
    cline     built_in    not installed (untried)         not installed (untried)         -          -      -
    codex     built_in    not installed (tried: 0.169.0)  not installed (tried: 2.6.0)    read-only  -      yes
    copilot   built_in    not installed (untried)         not installed (untried)         -          -      -
    gemini    built_in    not installed (tried: 0.61.0)   not installed (tried: 0.61.0)   default    -      no
    goose     built_in    not installed (untried)         not installed (untried)         -          -      -
    kimi      built_in    not installed (untried)         not installed (untried)         -          -      -
    mine      configured  not installed (untried)         not installed (untried)         -          -      -
    opencode  built_in    not installed (untried)         not installed (tried: 1.18.33)  build      -      yes
    qwen      built_in    not installed (untried)         not installed (tried: 0.24.4)   default    -      yes
    ");
}

#[test]
fn agents_are_tried_and_switched_by_their_commands() {
    let mut world = TestProject::new();
    world.set("PATH", "/nonexistent");
    world.run(["session", "upsert", "--id", "s1", "--role", "dev", "--status", "running"]).exits(0);
    insta::assert_snapshot!(world.transcript(&[
        "fairway doctor agents --dry-run",
        "fairway doctor agents qwen",
        "fairway session terminal s2",
        "fairway session structured s1",
    ]), @r"
    $ fairway doctor agents --dry-run
    no structured agent is installed
    $ fairway doctor agents qwen
    error: there is no program 'qwen'
    [exit 3]
    $ fairway session terminal s2
    error: there is no session 's2'
    hint: list the sessions: fairway session list --all
    [exit 3]
    $ fairway session structured s1
    error: session s1 was not launched by fairway and has no backend to call
    [exit 4]
    ");
}
