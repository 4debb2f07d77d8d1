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
    NAME         SOURCE      TERMINAL                        STRUCTURED                      ASKS       GUARD                           SWITCHES
    antigravity  built_in    not installed (untried)         not installed (untried)         -          needs an account                -
    auggie       built_in    not installed (untried)         not installed (untried)         -          needs an account                -
    claude       built_in    not installed (tried: 2.1.329)  not installed (tried: 0.101.0)  default    -                               yes
    cline        built_in    not installed (untried)         not installed (untried)         act        leaves a process behind         -
    codex        built_in    not installed (tried: 0.169.0)  not installed (tried: 2.6.0)    read-only  -                               yes
    copilot      built_in    not installed (untried)         not installed (tried: 1.0.102)  agent      -                               -
    droid        built_in    not installed (untried)         not installed (tried: 0.215.0)  normal     -                               -
    gemini       built_in    not installed (tried: 0.61.0)   not installed (tried: 0.61.0)   default    -                               no
    goose        built_in    not installed (untried)         not installed (untried)         -          not tried                       -
    hermes       built_in    not installed (untried)         not installed (untried)         -          asks for no command             -
    kilo         built_in    not installed (untried)         not installed (tried: 7.7.7)    code       -                               -
    kimi         built_in    not installed (untried)         not installed (tried: 2.1.0)    default    -                               -
    mine         configured  not installed (untried)         not installed (untried)         -          -                               -
    opencode     built_in    not installed (untried)         not installed (tried: 1.18.33)  build      -                               yes
    openhands    built_in    not installed (untried)         not installed (untried)         -          a cancel does not end its turn  -
    pi           built_in    not installed (untried)         not installed (untried)         -          never asks                      -
    qwen         built_in    not installed (untried)         not installed (tried: 0.24.4)   default    -                               yes
    vibe         built_in    not installed (untried)         not installed (tried: 3.0.2)    ask        -                               -
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
