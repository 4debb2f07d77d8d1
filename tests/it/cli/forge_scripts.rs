//! Forge scripts: the conformance cases, the built-in script with the real `gh` against a server on the loopback.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use serde_json::{Value, json};

use super::land::project;
use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, require};

fn in_tree(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn write_script(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn forge_script_is_checked() {
    let world = project("");
    world.real_time();
    fs::copy(in_tree("examples/forge/fake.py"), world.root().join("fake.py")).unwrap();
    write_script(&world.root().join("says-yes.sh"), "#!/bin/sh\necho '{}'\n");
    let remote = world.dir().join("remote.git");
    world.git(world.dir(), &["init", "--quiet", "--bare", "--initial-branch=main", &remote.display().to_string()]);
    world.git(&world.root(), &["push", "--quiet", &remote.display().to_string(), "HEAD:refs/heads/lane/x"]);
    let asked = json!({ "title": "T", "body": "B", "head": "lane/x", "base": "main" });
    let mut open = world.command(world.root().join("fake.py"));
    open.arg("open").env("FAIRWAY_FORGE_REMOTE", &remote).stdin(Stdio::piped());
    let mut open = open.stdout(Stdio::null()).spawn().unwrap();
    serde_json::to_writer(open.stdin.take().unwrap(), &asked).unwrap();
    assert!(open.wait().unwrap().success());
    insta::assert_snapshot!(world.transcript(&[
        "fairway adapter check forge ./fake.py --remote ../remote.git --number 1",
        "fairway adapter check forge ./fake.py",
        "fairway adapter check forge ./says-yes.sh --number 1",
        "fairway adapter check forge ./none.sh",
        "fairway adapter check",
    ]), @r#"
    $ fairway adapter check forge ./fake.py --remote ../remote.git --number 1
    OPERATION  VERDICT  PROBES
    find       pass     2 of 2
    open       pass     1 of 1
    state      pass     4 of 4
    log        pass     2 of 2
    say        pass     2 of 2
    unknown    pass     1 of 1
    $ fairway adapter check forge ./fake.py
    OPERATION  VERDICT  PROBES
    find       pass     2 of 2
    open       pass     1 of 1
    state      pass     3 of 3
    log        pass     2 of 2
    say        pass     2 of 2
    unknown    pass     1 of 1
    $ fairway adapter check forge ./says-yes.sh --number 1
    OPERATION  VERDICT  PROBES
    find       fail     0 of 2
    open       fail     0 of 1
    state      fail     0 of 4
    log        fail     0 of 2
    say        fail     0 of 2
    unknown    fail     0 of 1

    find: without its arguments: exit code 1, with a reason
    find: a branch that is not there, also of an odd name: nothing, or a reason
    open: without its arguments: exit code 1, with a reason
    state: without its arguments: exit code 1, with a reason
    state: a pull request that is not there: a reason
    state: what is no number: a reason
    log: without its arguments: exit code 1, with a reason
    say: without its arguments: exit code 1, with a reason
    say: a word that is none: a reason
      expected  exit code 1 and {"why", "message", "seconds"}
      seen      exit code 0, stdout "{}"

    state: the pull request of --number: every member
      expected  every member of the answer
      seen      the answer is not that of state: missing field `number`

    log: a check that is not there: a reason
      expected  every member of the answer
      seen      the answer is not that of log: missing field `log`

    unknown: an operation that is none: exit code 2
      expected  exit code 2 for fw-made-up
      seen      exit code 0, stdout "{}"
    error: [world]/project/says-yes.sh breaks the contract at find, open, state, log, say, unknown
    [exit 7]
    $ fairway adapter check forge ./none.sh
    error: the forge script [world]/project/none.sh is missing: no such file
    hint: name another one in [forge] script: fairway config edit
    [exit 3]
    $ fairway adapter check
    error: the following required arguments were not provided: <SCRIPT>
    hint: write it as: fairway adapter check <SCRIPT>
    [exit 2]
    "#);
}

/// The server of the tests, and `gh` that is led to it.
struct GitHub {
    server: Child,
    port: String,
    dir: PathBuf,
}

impl GitHub {
    fn start(world: &TestProject) -> Self {
        let dir = world.dir().join("github");
        fs::create_dir_all(dir.join("config")).unwrap();
        let (port, log) = (dir.join("port"), dir.join("calls"));
        let server = Command::new(in_tree("tests/fixtures/forge/github.py")).args([&port, &log]).spawn().unwrap();
        let end = Instant::now() + Duration::from_secs(30);
        while !port.exists() {
            assert!(Instant::now() < end, "the server does not listen");
            thread::sleep(Duration::from_millis(20));
        }
        let port = fs::read_to_string(port).unwrap();
        Self { server, port, dir }
    }

    fn lead(&self, command: &mut Command, token: &str) {
        command.env("http_proxy", format!("http://127.0.0.1:{}", self.port)).env("GH_HOST", "github.localhost");
        command.env("GH_TOKEN", token).env("GH_CONFIG_DIR", self.dir.join("config"));
        command.env("FAIRWAY_ADAPTER_STATE", &self.dir).env("FAIRWAY_FORGE_REMOTE", "git@github.localhost:o/r.git");
    }

    fn script(&self, world: &TestProject, token: &str, args: &[&str], stdin: &Value) -> (i32, Value) {
        let mut command = world.command(in_tree("session-adapters/forge/github.sh"));
        self.lead(command.args(args), token);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        // A script that reads nothing has closed it.
        let _ = serde_json::to_writer(&mut input, stdin);
        drop(input);
        let done = child.wait_with_output().unwrap();
        let text = String::from_utf8(done.stdout).unwrap();
        // Whoever shows it to a person or an agent gets no sequence of a terminal.
        assert!(!text.contains('\u{1b}'), "{text}");
        let value = if text.trim().is_empty() { Value::Null } else { serde_json::from_str(&text).expect(&text) };
        (done.status.code().unwrap(), value)
    }

    fn calls(&self) -> Vec<(String, String)> {
        let log = fs::read_to_string(self.dir.join("calls")).unwrap();
        let call = |line: &str| {
            let call: Value = serde_json::from_str(line).unwrap();
            (call[0].as_str().unwrap().to_owned(), call[1].as_str().unwrap().to_owned())
        };
        log.lines().map(call).collect()
    }
}

impl Drop for GitHub {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn github_script_answers_with_the_real_gh() {
    if !require::program("gh") {
        return;
    }
    let world = TestProject::new();
    world.real_time();
    let github = GitHub::start(&world);
    let ask = |args: &[&str], stdin: &Value| {
        let (code, value) = github.script(&world, "good", args, stdin);
        assert_eq!(code, 0, "{args:?}: {value}");
        value
    };
    assert_eq!(ask(&["find", "lane/x"], &json!({}))["number"], 12);
    assert_eq!(ask(&["find", "lane/old"], &json!({}))["state"], "merged");
    assert_eq!(ask(&["find", "lane/\"; drop"], &json!({})), Value::Null);
    let state = ask(&["state", "12"], &json!({}));
    // A bot's rights are not asked for: its name is not that of the person `checker`.
    assert_eq!(state["people"], json!({ "ann": true, "stranger": false }));
    assert_eq!((&state["required"], &state["rules"]), (&json!(["test"]), &json!(["never-begun"])));
    assert_eq!((&state["mergeable"], &state["merged_commit"]), (&json!(false), &Value::Null));
    let checks: Vec<_> = state["checks"].as_array().unwrap().iter().map(|one| (&one["name"], &one["state"])).collect();
    let expected = [("test", "failed"), ("lint", "passed"), ("legacy", "pending")].map(|(a, b)| (json!(a), json!(b)));
    assert!(checks.into_iter().eq(expected.iter().map(|(name, state)| (name, state))), "{state}");
    assert_eq!(state["reviews"][0]["commit"], json!("9".repeat(40)));
    assert_eq!((&state["threads"][0]["line"], &state["threads"][0]["side"]), (&json!(3), &json!("old")));
    assert_eq!(state["threads"][0]["comments"][1]["author"], "");
    // People and rules are asked for once.
    let before = github.calls().len();
    ask(&["state", "12"], &json!({}));
    assert_eq!(github.calls().len(), before + 1);
    let log = ask(&["log", "801"], &json!({}));
    let log = log["log"].as_str().unwrap();
    assert_eq!((log.lines().count(), log.lines().next_back()), (60, Some("test \"a\" \\ failed")));
    // Text that looks like the name of a file stays text.
    let asked = json!({ "title": "@/etc/hostname", "body": "$(id)", "head": "lane/new", "base": "main" });
    assert_eq!(ask(&["open"], &asked)["number"], 13);
    assert_eq!(ask(&["open", "13"], &json!({ "title": "T2" }))["number"], 13);
    let posted = fs::read_to_string(github.dir.join("calls")).unwrap();
    assert!(posted.contains("@/etc/hostname") && posted.contains("$(id)"), "{posted}");
    for what in [&["comment"][..], &["reply", "601"], &["resolve", "PRRT_a"], &["review"], &["draft"], &["ready"]] {
        let said = ask(&[&["say", "12"], what].concat(), &json!({ "body": "b" }));
        assert_eq!(said, json!({ "done": true }), "{what:?}");
    }
    let (code, refused) = github.script(&world, "good", &["open"], &json!({ "title": "T", "head": "lane/x" }));
    assert!(code == 1 && refused["message"].as_str().unwrap().contains("already exists"), "{refused}");
    // A token that may not see checks: they are unknown, and not passed.
    let (_, blind) = github.script(&world, "blind", &["state", "12"], &json!({}));
    assert_eq!((&blind["checks"], &blind["number"]), (&Value::Null, &json!(12)));
    for (token, args, why) in [
        ("bad", ["find", "lane/x"], "login"),
        ("sso", ["find", "lane/x"], "sso"),
        ("rights", ["find", "lane/x"], "rights"),
        ("slow", ["find", "lane/x"], "busy"),
        ("good", ["state", "99"], "missing"),
        ("good", ["log", "7"], "missing"),
        ("good", ["state", "x"], "refused"),
    ] {
        let (code, value) = github.script(&world, token, &args, &json!({}));
        assert_eq!((code, value["why"].as_str()), (1, Some(why)), "{token} {args:?}: {value}");
    }
    let (_, slow) = github.script(&world, "slow", &["find", "lane/x"], &json!({}));
    assert!((60..=90).contains(&slow["seconds"].as_i64().unwrap()), "{slow}");
    let address = "http://github.localhost/o/r";
    let words = ["adapter", "check", "forge", "github", "--remote", address, "--number", "12"];
    let mut check = world.fairway(words);
    github.lead(&mut check, "good");
    let checked: CommandOutput = check.output().unwrap().into();
    checked.exits(0);
    // Nobody is connected: the reason is the network, and the check passes all the same.
    let mut apart = world.command(in_tree("session-adapters/forge/github.sh"));
    github.lead(apart.args(["find", "x"]), "good");
    let apart = apart.env("http_proxy", "http://127.0.0.1:1").output().unwrap();
    assert!(String::from_utf8_lossy(&apart.stdout).contains(r#""why":"network""#), "{apart:?}");
}
