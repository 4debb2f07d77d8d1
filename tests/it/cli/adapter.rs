//! `fairway adapter list`, `install` and `check`.

use std::{fs, path::Path};

use crate::common::TestProject;

#[test]
fn list_shows_backends_with_their_source() {
    let world = TestProject::new();
    let config = world.root().join(".fairway.toml");
    fs::write(config, "[backends.mine]\nscript = \"/opt/mine.sh\"\n").unwrap();
    insta::assert_snapshot!(world.transcript(&[
        "fairway adapter list",
        "fairway adapter list --json",
        "fairway adapter install scripts",
        "fairway adapter install scripts",
        "fairway adapter install .fairway.toml",
    ]), @r#"
    $ fairway adapter list
    NAME    SOURCE      SCRIPT        ABOUT
    shell   built_in    shell.sh      a process of its own, output to the transcript; needs nothing
    tmux    built_in    tmux.sh       a detached tmux session on a private server; needs tmux 3.2
    screen  built_in    screen.sh     a screen of its own on a private socket; needs GNU screen and coreutils
    zellij  built_in    zellij.sh     a zellij of its own on a private socket; needs zellij 0.44 and coreutils
    mine    configured  /opt/mine.sh  -
    $ fairway adapter list --json
    [{"name":"shell","source":"built_in","script":"shell.sh","about":"a process of its own, output to the transcript; needs nothing"},{"name":"tmux","source":"built_in","script":"tmux.sh","about":"a detached tmux session on a private server; needs tmux 3.2"},{"name":"screen","source":"built_in","script":"screen.sh","about":"a screen of its own on a private socket; needs GNU screen and coreutils"},{"name":"zellij","source":"built_in","script":"zellij.sh","about":"a zellij of its own on a private socket; needs zellij 0.44 and coreutils"},{"name":"mine","source":"configured","script":"/opt/mine.sh","about":null}]
    $ fairway adapter install scripts
    wrote [world]/project/scripts/shell.sh, [world]/project/scripts/tmux.sh, [world]/project/scripts/screen.sh, [world]/project/scripts/zellij.sh, [world]/project/scripts/provider-event.sh, [world]/project/scripts/minimal.sh, [world]/project/scripts/bridges/README.md, [world]/project/scripts/bridges/launch.sh, [world]/project/scripts/bridges/shell.sh, [world]/project/scripts/bridges/tmux.sh, [world]/project/scripts/bridges/zellij.sh, [world]/project/scripts/watchers/README.md, [world]/project/scripts/watchers/codex-app-server.py
    $ fairway adapter install scripts
    unchanged: [world]/project/scripts has every file already
    $ fairway adapter install .fairway.toml
    error: the directory [world]/project/.fairway.toml is not a directory
    [exit 2]
    "#);
}

#[test]
fn check_reports_broken_operations() {
    let world = TestProject::new();
    world.real_time();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/adapters/knows-nothing.sh");
    fs::copy(script, world.root().join("mine.sh")).unwrap();
    insta::assert_snapshot!(world.transcript(&[
        "fairway adapter check ./mine.sh --operation nudge --operation unknown",
        "fairway adapter check ./mine.sh --operation is-running",
        "fairway adapter check ./mine.sh --operation is-running --quiet",
        "fairway adapter check ./mine.sh --operation dance",
        "fairway adapter check mine.sh",
    ]), @"
    $ fairway adapter check ./mine.sh --operation nudge --operation unknown
    OPERATION  VERDICT        PROBES
    nudge      not supported  -
    unknown    pass           1 of 1
    $ fairway adapter check ./mine.sh --operation is-running
    OPERATION   VERDICT  PROBES
    is-running  fail     0 of 4

    is-running: the script knows what every script must know
    is-running: true while it runs, false before and after
    is-running: false once the program has ended
      expected  exit code 0
      seen      exit code 2

    is-running: without its arguments: an answer, and not exit code 2
      expected  another exit code for `is-running`
      seen      exit code 2
    error: [world]/project/mine.sh breaks the contract at is-running
    [exit 7]
    $ fairway adapter check ./mine.sh --operation is-running --quiet
    is-running
    error: [world]/project/mine.sh breaks the contract at is-running
    [exit 7]
    $ fairway adapter check ./mine.sh --operation dance
    error: invalid value 'dance' for '--operation <OPERATION>' [possible values: start, stop, interrupt, is-running, attach, process-alive, nudge, send-keys, set-meta, get-meta, remove-meta, peek, list-running, get-last-activity, clear-scrollback, copy-to, check-image, is-attached, protocol, unknown]
    hint: read the help: fairway adapter check --help
    [exit 2]
    $ fairway adapter check mine.sh
    error: there is no backend 'mine.sh'
    hint: did you mean ./mine.sh?
    [exit 3]
    ");
}

#[test]
fn unknown_backend_is_answered_with_those_that_exist() {
    let world = TestProject::new();
    let launch = |backend: &str| {
        let run = world.run(["session", "launch", "--role", "r", "--backend", backend, "--json", "--", "true"]);
        run.refuses(3, "not_found").error()["hint"].as_str().unwrap().to_owned()
    };
    let all = launch("docker");
    for name in ["shell", "tmux", "screen", "zellij"] {
        assert!(all.contains(name), "{all}");
    }
    assert_eq!(launch("shel"), "did you mean shell?");
}
