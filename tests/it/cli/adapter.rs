//! `fairway adapter list`, `install` and `check`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::common::TestProject;
use crate::common::test_project::{CommandOutput, FAIRWAY};

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
    acp     built_in    acp.sh        an agent over the Agent Client Protocol, without a terminal; needs an agent that speaks it
    tmux    built_in    tmux.sh       a detached tmux session on a private server; needs tmux 3.2
    screen  built_in    screen.sh     a screen of its own on a private socket; needs GNU screen and coreutils
    zellij  built_in    zellij.sh     a zellij of its own on a private socket; needs zellij 0.44 and coreutils
    mine    configured  /opt/mine.sh  -
    $ fairway adapter list --json
    [{"name":"shell","source":"built_in","script":"shell.sh","about":"a process of its own, output to the transcript; needs nothing"},{"name":"acp","source":"built_in","script":"acp.sh","about":"an agent over the Agent Client Protocol, without a terminal; needs an agent that speaks it"},{"name":"tmux","source":"built_in","script":"tmux.sh","about":"a detached tmux session on a private server; needs tmux 3.2"},{"name":"screen","source":"built_in","script":"screen.sh","about":"a screen of its own on a private socket; needs GNU screen and coreutils"},{"name":"zellij","source":"built_in","script":"zellij.sh","about":"a zellij of its own on a private socket; needs zellij 0.44 and coreutils"},{"name":"mine","source":"configured","script":"/opt/mine.sh","about":null}]
    $ fairway adapter install scripts
    wrote [world]/project/scripts/shell.sh, [world]/project/scripts/acp.sh, [world]/project/scripts/tmux.sh, [world]/project/scripts/screen.sh, [world]/project/scripts/zellij.sh, [world]/project/scripts/provider-event.sh, [world]/project/scripts/minimal.sh, [world]/project/scripts/bridges/README.md, [world]/project/scripts/bridges/launch.sh, [world]/project/scripts/bridges/shell.sh, [world]/project/scripts/bridges/tmux.sh, [world]/project/scripts/bridges/zellij.sh, [world]/project/scripts/forge/github.sh, [world]/project/scripts/forge/gitlab.sh, [world]/project/scripts/forge/fake.py, [world]/project/scripts/watchers/README.md, [world]/project/scripts/watchers/codex-app-server.py
    $ fairway adapter install scripts
    unchanged: [world]/project/scripts has every file already
    $ fairway adapter install .fairway.toml
    error: the directory [world]/project/.fairway.toml is not a directory
    [exit 2]
    "#);
}

/// A session of the installed template: what seed and guide tell to type works without a checkout.
#[test]
fn installed_template_and_bridge_launch_a_session() {
    let world = TestProject::new();
    world.real_time();
    world.run(["adapter", "install", "scripts"]).exits(0);
    let listed = ["minimal.sh", "bridges/launch.sh", "bridges/tmux.sh", "watchers/codex-app-server.py"];
    for file in listed {
        assert!(world.root().join("scripts").join(file).is_file(), "{file}");
    }
    world.run(["trust"]).exits(0);
    let launch = ["session", "launch", "--role", "r", "--name", "s1", "--backend", "exec:scripts/minimal.sh"];
    world.run([&launch[..], &["--", "sleep", "60"]].concat()).exits(0);
    world.run(["session", "stop", "s1"]).exits(0);
    let mut bridge = world.command(world.root().join("scripts/bridges/shell.sh"));
    bridge.arg("r").env("FAIRWAY_BIN", FAIRWAY).env("FAIRWAY_PROVIDER_COMMAND", "sleep 60");
    let launched: CommandOutput = bridge.output().unwrap().into();
    assert!(launched.exits(0).stdout.starts_with("launched "));
    world.run(["session", "stop", "--all"]).exits(0);
    let watcher = world.command(world.root().join("scripts/watchers/codex-app-server.py")).arg("--help").output();
    let help: CommandOutput = watcher.unwrap().into();
    assert!(help.exits(0).stdout.contains("usage: codex-app-server.py"));
    // What a person has changed is kept.
    fs::write(world.root().join("scripts/minimal.sh"), "#!/bin/sh\n").unwrap();
    let kept = world.run(["adapter", "install", "scripts"]);
    assert!(kept.stderr.contains("minimal.sh is there and differs; it is kept"), "{}", kept.stderr);
}

/// `script = "rec.sh"` means the file beside the configuration, and a missing script is told with its path.
#[test]
fn configured_script_is_found_beside_the_configuration() {
    let world = TestProject::new();
    world.real_time();
    let root = world.root();
    fs::write(root.join(".fairway.toml"), "[backends.rec]\nscript = \"rec.sh\"\n").unwrap();
    world.run(["trust"]).exits(0);
    let launch = |backend: &str| {
        let run = world.run(["session", "launch", "--role", "r", "--backend", backend, "--", "sleep", "60"]);
        world.redacted(&run.exits(3).stderr)
    };
    assert_eq!(
        launch("rec"),
        "error: the script rec.sh of the backend 'rec' is missing: no such file beside .fairway.toml, and no such program \
         in PATH\nhint: list the backends: fairway adapter list\n"
    );
    assert_eq!(
        launch("exec:./nosuch.sh"),
        "error: the script [world]/project/nosuch.sh of the backend 'exec:./nosuch.sh' is missing: no such file\n\
         hint: list the backends: fairway adapter list\n"
    );
    fs::write(root.join("plain.sh"), "").unwrap();
    assert_eq!(
        launch("exec:./plain.sh"),
        "error: the script [world]/project/plain.sh of the backend 'exec:./plain.sh' is not executable\n\
         hint: make it executable: chmod +x [world]/project/plain.sh\n"
    );
    let minimal = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/session-adapters/minimal.sh");
    fs::copy(minimal, root.join("rec.sh")).unwrap();
    // The file that begins to be meant is trusted by its content, as one with a slash.
    let refused = world.run(["session", "launch", "--role", "r", "--backend", "rec", "--", "sleep", "60"]).exits(9);
    assert!(refused.stderr.contains("rec.sh has changed since it was trusted"), "{}", refused.stderr);
    assert!(world.run(["trust"]).exits(0).stdout.contains("rec.sh"));
    world.run(["session", "launch", "--role", "r", "--name", "s1", "--backend", "rec", "--", "sleep", "60"]).exits(0);
    world.run(["session", "stop", "s1"]).exits(0);
}

#[test]
fn script_gets_the_description_of_its_session_and_not_its_marks() {
    let world = TestProject::new();
    world.real_time();
    let minimal = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/session-adapters/minimal.sh");
    let seen = world.dir().join("seen");
    fs::create_dir(&seen).unwrap();
    let record = format!("set -u\nenv | grep '^FAIRWAY_' | sort >'{}'/\"$1\"\n", seen.display());
    let script = world.root().join("rec.sh");
    fs::write(&script, fs::read_to_string(minimal).unwrap().replacen("set -u\n", &record, 1)).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    world.run(["lane", "add", "api", "--role", "backend"]).exits(0);
    world.run(["task", "add", "--id", "T-1", "Cart"]).exits(0);
    let launch = ["session", "launch", "--role", "backend", "--lane", "api", "--task", "T-1", "--name", "s1"];
    world
        .run([&launch[..], &["--backend", "exec:./rec.sh", "--provider", "acme", "--", "sleep", "60"]].concat())
        .exits(0);
    world.run(["session", "reconcile"]).exits(0);
    world.run(["session", "stop", "s1"]).exits(0);
    for operation in ["start", "is-running", "stop"] {
        let text = fs::read_to_string(seen.join(operation)).unwrap();
        for line in ["FAIRWAY_ROLE=backend", "FAIRWAY_LANE=api", "FAIRWAY_TASK_ID=T-1", "FAIRWAY_PROVIDER=acme"] {
            assert!(text.lines().any(|said| said == line), "{operation}: {line}: {text}");
        }
        assert!(!text.contains("FAIRWAY_SESSION_ID") && !text.contains("FAIRWAY_RUN_ID"), "{operation}: {text}");
    }
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
