//! Forge scripts: the conformance cases, the built-in script with the real `gh` against a server on the loopback.

use std::ffi::OsString;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

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
    OPERATION  VERDICT        PROBES
    find       pass           2 of 2
    open       pass           1 of 1
    state      pass           4 of 4
    log        pass           2 of 2
    say        pass           2 of 2
    issues     not supported  -
    unknown    pass           1 of 1
    $ fairway adapter check forge ./fake.py
    OPERATION  VERDICT        PROBES
    find       pass           2 of 2
    open       pass           1 of 1
    state      pass           3 of 3
    log        pass           2 of 2
    say        pass           2 of 2
    issues     not supported  -
    unknown    pass           1 of 1
    $ fairway adapter check forge ./says-yes.sh --number 1
    OPERATION  VERDICT  PROBES
    find       fail     0 of 2
    open       fail     0 of 1
    state      fail     0 of 4
    log        fail     0 of 2
    say        fail     0 of 2
    issues     fail     0 of 1
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
    issues: a word that is none: a reason, or exit code 2
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
    error: [world]/project/says-yes.sh breaks the contract at find, open, state, log, say, issues, unknown
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

/// A server of the tests, and a `gh` or `glab` that is led to it.
struct Loopback {
    name: &'static str,
    server: Child,
    port: String,
    dir: PathBuf,
    path: OsString,
}

impl Loopback {
    /// `first` is the directory of a program that is not the one in PATH.
    fn start(world: &TestProject, name: &'static str, first: Option<&Path>) -> Self {
        let dir = world.dir().join(name);
        fs::create_dir_all(dir.join("config")).unwrap();
        let (port, log) = (dir.join("port"), dir.join("calls"));
        let server = Command::new(in_tree("tests/fixtures/forge").join(format!("{name}.py")))
            .args([&port, &log])
            .spawn()
            .unwrap();
        let end = Instant::now() + Duration::from_secs(30);
        while !port.exists() {
            assert!(Instant::now() < end, "the server does not listen");
            thread::sleep(Duration::from_millis(20));
        }
        let port = fs::read_to_string(port).unwrap();
        // A server that says nothing is given one second, and not twenty.
        write_script(&dir.join("timeout"), "#!/bin/sh\nshift\nexec /usr/bin/timeout 1 \"$@\"\n");
        let outer = env::var_os("PATH").unwrap();
        let path = env::join_paths(first.map(Path::to_owned).into_iter().chain(env::split_paths(&outer))).unwrap();
        Self { name, server, port, dir, path }
    }

    fn lead(&self, command: &mut Command, token: &str) {
        let (config, port) = (self.dir.join("config"), &self.port);
        command.env("PATH", &self.path).env("FAIRWAY_ADAPTER_STATE", &self.dir);
        if self.name == "github" {
            command.env("http_proxy", format!("http://127.0.0.1:{port}")).env("GH_HOST", "github.localhost");
            command.env("GH_TOKEN", token).env("GH_CONFIG_DIR", config);
            command.env("FAIRWAY_FORGE_REMOTE", "git@github.localhost:o/r.git");
        } else {
            let (file, text) = (
                config.join("config.yml"),
                format!(
                    "hosts:\n  gitlab.localhost: {{api_protocol: http, api_host: '127.0.0.1:{port}', token: {token}}}\n"
                ),
            );
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
            command.env("GLAB_CONFIG_DIR", config).env("FAIRWAY_FORGE_REMOTE", "git@gitlab.localhost:o/g/r.git");
        }
    }

    fn script(&self, world: &TestProject, token: &str, args: &[&str], stdin: &Value) -> (i32, Value) {
        let mut command = world.command(in_tree("session-adapters/forge").join(format!("{}.sh", self.name)));
        self.lead(command.args(args), token);
        if token == "silent" {
            let own = [self.dir.clone()].into_iter().chain(env::split_paths(&self.path));
            command.env("PATH", env::join_paths(own).unwrap());
        }
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

    fn fairway(&self, world: &TestProject, token: &str, args: &[&str]) -> CommandOutput {
        let mut command = world.fairway(args);
        self.lead(&mut command, token);
        command.output().unwrap().into()
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

impl Drop for Loopback {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn cached(name: &str) -> PathBuf {
    let home = env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or(home).unwrap_or_default().join("fairway-tests").join(name)
}

#[test]
fn github_script_answers_with_the_oldest_gh() {
    if require::program("gh") {
        github_script_answers(None);
    }
}

#[test]
fn github_script_answers_with_the_newest_gh() {
    let newest = cached("gh-newest");
    if require::met(newest.join("gh").is_file(), "the newest gh is not installed; tests/run.sh installs it") {
        github_script_answers(Some(&newest));
    }
}

fn github_script_answers(newest: Option<&Path>) {
    let world = project("");
    world.real_time();
    let github = Loopback::start(&world, "github", newest);
    let ask = |args: &[&str], stdin: &Value| {
        let (code, value) = github.script(&world, "good", args, stdin);
        assert_eq!(code, 0, "{args:?}: {value}");
        value
    };
    assert_eq!(ask(&["find", "lane/x"], &json!({}))["number"], 12);
    assert_eq!(ask(&["find", "lane/old"], &json!({}))["state"], "merged");
    assert_eq!(ask(&["find", "lane/\"; drop"], &json!({})), Value::Null);
    let before = github.calls().len();
    let state = ask(&["state", "12"], &json!({}));
    // A bot's rights are not asked for: its name is not that of the person `checker`.
    assert_eq!(state["people"], json!({ "ann": true, "stranger": false }));
    assert_eq!((&state["required"], &state["rules"]), (&json!(["test"]), &json!(["never-begun"])));
    assert_eq!((&state["mergeable"], &state["merged_commit"]), (&json!(false), &Value::Null));
    let checks: Vec<_> = state["checks"].as_array().unwrap().iter().map(|one| (&one["name"], &one["state"])).collect();
    let expected = [("test", "failed"), ("lint", "passed"), ("legacy", "pending")].map(|(a, b)| (json!(a), json!(b)));
    assert!(checks.iter().take(3).copied().eq(expected.iter().map(|(name, state)| (name, state))), "{state}");
    assert_eq!(state["reviews"][0]["commit"], json!("9".repeat(40)));
    assert_eq!((&state["threads"][0]["line"], &state["threads"][0]["side"]), (&json!(3), &json!("old")));
    assert_eq!(state["threads"][0]["comments"][1]["author"], "");
    // Lists of more than a hundred are read to their end, all in one question a page. People and rules are asked for once.
    let comments = state["comments"].as_array().unwrap();
    let bodies: Vec<bool> =
        (0..101).map(|at| comments[at]["body"].as_str().unwrap().starts_with(&format!("{at}:"))).collect();
    assert_eq!((checks.len(), comments.len(), bodies.contains(&false)), (103, 101, false));
    assert_eq!(github.calls().len() - before, 2 + 1 + 2);
    ask(&["state", "12"], &json!({}));
    assert_eq!(github.calls().len() - before, 5 + 2);
    let log = ask(&["log", "801"], &json!({}));
    let log = log["log"].as_str().unwrap();
    assert_eq!((log.lines().count(), log.lines().next_back()), (60, Some("test \"a\" \\ failed")));
    // Text that looks like the name of a file stays text.
    let asked = json!({ "title": "@/etc/hostname", "body": "$(id)", "head": "lane/new", "base": "main" });
    assert_eq!(ask(&["open"], &asked)["number"], 13);
    assert_eq!(ask(&["open", "13"], &json!({ "title": "T2" }))["number"], 13);
    let posted = fs::read_to_string(github.dir.join("calls")).unwrap();
    assert!(posted.contains("@/etc/hostname") && posted.contains("$(id)"), "{posted}");
    for what in
        [&["comment"][..], &["reply", "601"], &["resolve", "PRRT_a"], &["review"], &["merge"], &["draft"], &["ready"]]
    {
        let said = ask(&[&["say", "12"], what].concat(), &json!({ "body": "b" }));
        assert_eq!(said, json!({ "done": true }), "{what:?}");
    }
    let (code, refused) = github.script(&world, "good", &["open"], &json!({ "title": "T", "head": "lane/x" }));
    assert!(code == 1 && refused["message"].as_str().unwrap().contains("already exists"), "{refused}");
    // A token that may not see checks: they are unknown, and not passed.
    let (_, blind) = github.script(&world, "blind", &["state", "12"], &json!({}));
    assert_eq!((&blind["checks"], &blind["number"]), (&Value::Null, &json!(12)));
    assert_eq!(blind["comments"].as_array().unwrap().len(), 101);
    for (token, args, why, message) in [
        ("bad", &["find", "lane/x"][..], "login", "Bad credentials; log in again: gh auth login"),
        ("sso", &["issues"], "sso", "https://github.localhost/sso"),
        ("rights", &["find", "lane/x"], "rights", "must read and write"),
        ("slow", &["issues"], "busy", "limit"),
        ("second", &["find", "lane/x"], "busy", "secondary"),
        ("points", &["state", "12"], "busy", "limit"),
        ("absent", &["find", "lane/x"], "missing", "may not see it"),
        ("broken", &["state", "12"], "network", "502"),
        ("cut", &["state", "12"], "network", ""),
        ("half", &["issues"], "network", "cut"),
        ("silent", &["find", "lane/x"], "network", "no answer"),
        ("after", &["open"], "network", ""),
        ("good", &["state", "99"], "missing", ""),
        ("good", &["log", "7"], "missing", "Not Found"),
        ("good", &["state", "x"], "refused", "is no number"),
        ("good", &["issues", "shut"], "refused", "open or all"),
    ] {
        let (code, value) =
            github.script(&world, token, args, &json!({ "title": "T", "head": "lane/cut", "body": "" }));
        assert_eq!((code, value["why"].as_str()), (1, Some(why)), "{token} {args:?}: {value}");
        assert!(value["message"].as_str().unwrap().contains(message), "{token} {args:?}: {value}");
    }
    // What was opened before the cut is found, so that nobody opens it again.
    assert_eq!(ask(&["find", "lane/cut"], &json!({}))["state"], "open");
    let (_, slow) = github.script(&world, "slow", &["find", "lane/x"], &json!({}));
    assert!((30..=90).contains(&slow["seconds"].as_i64().unwrap()), "{slow}");
    let address = "http://github.localhost/o/r";
    let words = ["adapter", "check", "forge", "github", "--remote", address, "--number", "12"];
    github.fairway(&world, "good", &words).exits(0);
    imports_issues(&world, &github, address);
    // The program is not there: the message says how to come by it.
    let bare = github.dir.join("bare");
    fs::create_dir(&bare).unwrap();
    for program in ["tr", "cut", "sed", "timeout", "awk", "mktemp"] {
        symlink(Path::new("/usr/bin").join(program), bare.join(program)).unwrap();
    }
    let mut without = world.command(in_tree("session-adapters/forge/github.sh"));
    github.lead(without.args(["find", "x"]), "good");
    let without = String::from_utf8(without.env("PATH", bare).output().unwrap().stdout).unwrap();
    assert!(without.contains(r#""why":"missing""#) && without.contains("gh auth login"), "{without}");
    // Nobody is connected: the reason is the network, and the check passes all the same.
    let mut apart = world.command(in_tree("session-adapters/forge/github.sh"));
    github.lead(apart.args(["find", "x"]), "good");
    let apart = apart.env("http_proxy", "http://127.0.0.1:1").output().unwrap();
    assert!(String::from_utf8_lossy(&apart.stdout).contains(r#""why":"network""#), "{apart:?}");
}

/// The first import is one command, and writes nothing when the forge does not answer.
fn imports_issues(world: &TestProject, github: &Loopback, address: &str) {
    let import = |token: &str, more: &[&str]| {
        github.fairway(world, token, &[&["task", "import", "--from", "github"], more].concat())
    };
    import("good", &["--json"]).refuses(5, "no_upstream");
    world.git(&world.root(), &["remote", "add", "origin", address]);
    world.git(&world.root(), &["update-ref", "refs/remotes/origin/main", "main"]);
    world.git(&world.root(), &["branch", "--quiet", "--set-upstream-to=origin/main", "main"]);
    let again = "then again: fairway task import --from github --json";
    for (token, why, hint) in [
        ("bad", "login", again),
        ("sso", "sso", again),
        ("rights", "rights", again),
        ("slow", "busy", again),
        ("half", "network", again),
        ("absent", "missing", "fairway guide backend-scripts"),
    ] {
        let error = import(token, &["--json"]).refuses(7, "forge_failed").error();
        assert_eq!(error["details"]["why"], why, "{error}");
        assert!(error["hint"].as_str().unwrap().ends_with(hint), "{error}");
    }
    let planned = import("good", &["--dry-run"]).exits(0);
    assert_eq!(planned.stdout, "would import 101 tasks (101 open)\n", "{planned:?}");
    assert_eq!(world.json(["task", "list", "--all"]), json!([]));
    let report = import("good", &["--json", "--label-priority", "bug=1"]).exits(0).json();
    assert_eq!((&report["imported"], &report["issues"][0]["task_id"]), (&json!(101), &json!("gh-198")));
    let task = world.json(["task", "show", "gh-198"]);
    assert_eq!((&task["title"], &task["priority"]), (&json!("Issue 198"), &json!(1)));
    let again = import("good", &["--closed"]).exits(0);
    assert_eq!(again.stdout, "imported 1 task (0 open); 101 tasks unchanged\n", "{again:?}");
}

/// The cases that differ from those of GitHub, since the two scripts answer the same questions.
#[test]
fn gitlab_script_answers_with_the_real_glab() {
    let glab = cached("glab/usr/bin");
    if !require::met(glab.join("glab").is_file(), "glab is not installed; tests/run.sh installs it") {
        return;
    }
    let world = project("");
    world.real_time();
    let gitlab = Loopback::start(&world, "gitlab", Some(&glab));
    let ask = |args: &[&str], stdin: &Value| {
        let (code, value) = gitlab.script(&world, "good", args, stdin);
        assert_eq!(code, 0, "{args:?}: {value}");
        value
    };
    assert_eq!(ask(&["find", "lane/x"], &json!({}))["number"], 12);
    assert_eq!(ask(&["find", "lane/old"], &json!({}))["state"], "merged");
    assert_eq!(ask(&["find", "lane/\"; drop"], &json!({})), Value::Null);
    assert_eq!(ask(&["state", "9"], &json!({}))["merged_commit"], json!("c".repeat(40)));
    let state = ask(&["state", "12"], &json!({}));
    assert_eq!((&state["mergeable"], &state["people"]), (&json!(false), &json!({ "ann": true, "stranger": false })));
    let checks: Vec<_> = state["checks"].as_array().unwrap().iter().map(|one| one["state"].as_str().unwrap()).collect();
    assert_eq!(checks, ["failed", "passed", "pending"]);
    assert_eq!((&state["threads"][0]["line"], &state["threads"][0]["side"]), (&json!(3), &json!("old")));
    assert_eq!(
        (&state["reviews"][0]["commit"], state["comments"].as_array().unwrap().len()),
        (&json!("b".repeat(40)), 101)
    );
    let log = ask(&["log", "801"], &json!({}));
    assert_eq!(log["log"].as_str().unwrap().lines().count(), 60, "{log}");
    let asked =
        json!({ "title": "@/etc/hostname", "body": "$(id)", "head": "lane/new", "base": "main", "draft": true });
    assert_eq!(ask(&["open"], &asked)["draft"], true);
    // An update keeps the draft, which is a word of the title.
    assert_eq!(ask(&["open", "13"], &json!({ "title": "T2" }))["draft"], true);
    let review = json!({ "event": "APPROVE", "commit_id": "b", "body": "b",
        "comments": [{ "path": "a.rs", "line": 1, "side": "RIGHT", "body": "c" }] });
    for what in
        [&["comment"][..], &["reply", "601"], &["resolve", "d1"], &["review"], &["merge"], &["draft"], &["ready"]]
    {
        assert_eq!(ask(&[&["say", "12"], what].concat(), &review), json!({ "done": true }), "{what:?}");
    }
    let calls = fs::read_to_string(gitlab.dir.join("calls")).unwrap();
    for part in
        ["@/etc/hostname", "$(id)", "/discussions/d1/notes", r#""new_line": 1"#, r#"/approve", "good", {"sha": "b"}"#]
    {
        assert!(calls.contains(part), "{part}: {calls}");
    }
    // A login that may not see jobs; a project that keeps approvals at a push, so that none is of a known commit.
    fs::remove_file(gitlab.dir.join("gitlab-gitlab.localhost-o-g-r-resets")).unwrap();
    let (_, blind) = gitlab.script(&world, "blind", &["state", "12"], &json!({}));
    assert_eq!((&blind["checks"], &blind["reviews"][0]["commit"]), (&Value::Null, &Value::Null));
    for (token, args, why) in [
        ("bad", &["find", "lane/x"][..], "login"),
        ("rights", &["issues"], "rights"),
        ("busy", &["state", "12"], "busy"),
        ("cut", &["issues"], "network"),
        ("good", &["log", "7"], "missing"),
        ("good", &["say", "12", "reply", "7"], "missing"),
        ("good", &["say", "12", "shout"], "refused"),
    ] {
        let (code, value) = gitlab.script(&world, token, args, &json!({}));
        assert_eq!((code, value["why"].as_str()), (1, Some(why)), "{token} {args:?}: {value}");
    }
    let address = "https://gitlab.localhost/o/g/r.git";
    let words = ["adapter", "check", "forge", "gitlab", "--remote", address, "--number", "12"];
    gitlab.fairway(&world, "good", &words).exits(0);
    world.git(&world.root(), &["remote", "add", "origin", address]);
    world.git(&world.root(), &["update-ref", "refs/remotes/origin/main", "main"]);
    world.git(&world.root(), &["branch", "--quiet", "--set-upstream-to=origin/main", "main"]);
    let imported = gitlab.fairway(&world, "good", &["task", "import", "--from", "gitlab", "--json"]).exits(0).json();
    assert_eq!((&imported["imported"], &imported["issues"][0]["task_id"]), (&json!(102), &json!("gl-200")));
}
