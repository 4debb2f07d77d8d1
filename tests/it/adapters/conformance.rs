//! `adapter check`: it passes what keeps to the protocol, and every kind of lie makes it fail.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use fairway_core::os::process::ProcessKey;
use fairway_core::os::{poll_until, process_tree};
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, require, soak};

/// A folder without a project, in real time, with the scripts that lie.
struct Bench(TestProject);

impl std::ops::Deref for Bench {
    type Target = TestProject;

    fn deref(&self) -> &TestProject {
        &self.0
    }
}

fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

impl Bench {
    fn new() -> Self {
        let world = TestProject::uninitialized();
        world.real_time();
        Self(world)
    }

    /// One whose lying scripts leave what they do not lie about to the built-in `shell.sh`.
    fn of_liars() -> Self {
        let mut bench = Self::new();
        let folder = bench.dir().join("scripts");
        bench.run(["adapter", "install", &folder.display().to_string()]).exits(0);
        bench.0.set("HONEST", folder.join("shell.sh"));
        bench
    }

    /// Checks a script, at most some operations of it; nothing is left.
    #[track_caller]
    fn check(&self, script: &str, operations: &[&str]) -> CommandOutput {
        let flags = operations.iter().flat_map(|one| ["--operation", one]);
        let run = self.run(["adapter", "check", "--json", script].into_iter().chain(flags));
        self.holds_nothing();
        run
    }

    /// No folder and no process of a check is left.
    #[track_caller]
    fn holds_nothing(&self) {
        let left: Vec<_> = fs::read_dir(self.dir().join("tmp")).unwrap().flatten().map(|one| one.path()).collect();
        assert!(left.is_empty(), "{left:?}");
        assert_eq!(self.processes(), [], "processes are left");
    }

    /// The processes of a check: their command line, or their environment, names this world's temporary directory.
    fn processes(&self) -> Vec<ProcessKey> {
        process_tree::with_command_line_text(&self.dir().join("tmp").display().to_string()).unwrap()
    }

    /// A lying script must fail, and in these operations.
    #[track_caller]
    fn lies(&self, script: &str, operations: &[&str]) -> Value {
        let path = file(&format!("tests/fixtures/adapters/{script}.sh"));
        let run = self.check(&path.display().to_string(), operations).refuses(7, "contract_broken");
        let report = run.json();
        assert_eq!((&report["passed"], &report["script"]), (&false.into(), &path.display().to_string().into()));
        let failed = verdicts(&report, "fail");
        assert_eq!(failed, operations, "{report:#}");
        report
    }
}

/// The operations of a verdict.
fn verdicts(report: &Value, verdict: &str) -> Vec<String> {
    let all = report["operations"].as_array().unwrap();
    let of = all.iter().filter(|one| one["verdict"] == verdict);
    of.map(|one| one["operation"].as_str().unwrap().to_owned()).collect()
}

/// Passes everything that the script knows, and demands that it knows these.
#[track_caller]
fn passes(script: &str, knows: &[&str]) {
    let bench = Bench::new();
    let run = bench.check(script, &[]);
    assert_eq!(run.code, Some(0), "{}", failures(&run.json()));
    let report = run.json();
    assert_eq!(report["passed"], true);
    let passed = verdicts(&report, "pass");
    assert!(knows.iter().all(|one| passed.iter().any(|passed| passed == one)), "{passed:?}");
}

/// The operations of a short check. Each of them starts and stops sessions too.
const SMOKE: [&str; 3] = ["is-running", "nudge", "peek"];

/// The whole check of a backend takes a minute and more: a soak run makes it for each, the other runs for tmux alone.
#[track_caller]
fn passes_smoke(script: &str) {
    if soak::is_on() {
        return passes(script, &all());
    }
    let run = Bench::new().check(script, &SMOKE);
    assert_eq!(run.code, Some(0), "{}", failures(&run.json()));
    let mut passed = verdicts(&run.json(), "pass");
    passed.sort_unstable();
    let mut wanted = SMOKE;
    wanted.sort_unstable();
    assert_eq!(passed, wanted);
}

fn failures(report: &Value) -> String {
    let mut told = String::new();
    for one in report["operations"].as_array().into_iter().flatten() {
        for probe in one["probes"].as_array().into_iter().flatten().filter(|probe| probe["verdict"] == "fail") {
            told.push_str(&format!("{}: {probe:#}\n", one["operation"]));
        }
    }
    told
}

const REQUIRED: [&str; 3] = ["start", "stop", "is-running"];

#[test]
fn minimal_script_passes_conformance() {
    let script = file("examples/session-adapters/minimal.sh").display().to_string();
    passes(&script, &REQUIRED);
    let bench = Bench::new();
    let report = bench.check(&script, &["nudge", "stop"]).exits(0).json();
    assert_eq!(verdicts(&report, "not_supported"), ["nudge"]);
    assert_eq!(verdicts(&report, "pass"), ["stop"]);
}

/// Every operation of the protocol.
fn all() -> Vec<&'static str> {
    fairway_core::adapters::conformance::OPERATIONS.to_vec()
}

#[test]
fn shell_passes_conformance() {
    passes_smoke("shell");
}

#[test]
fn tmux_passes_conformance() {
    if require::program("tmux") {
        passes("tmux", &all());
    }
}

#[test]
fn screen_passes_conformance() {
    if require::program("screen") {
        passes_smoke("screen");
    }
}

#[test]
fn zellij_passes_conformance() {
    if require::program("zellij") {
        passes_smoke("zellij");
    }
}

#[test]
fn script_without_operations_fails_conformance() {
    let bench = Bench::new();
    let script = file("tests/fixtures/adapters/knows-nothing.sh").display().to_string();
    let report = bench.check(&script, &[]).refuses(7, "contract_broken").json();
    assert_eq!(verdicts(&report, "fail"), REQUIRED);
    assert_eq!(verdicts(&report, "pass"), ["unknown"]);
    assert_eq!(report["operations"].as_array().unwrap().len(), all().len());
}

/// A test for each lie: the script, and the operations in which it must fail.
macro_rules! lies {
    ($($test:ident: $script:literal in $operations:expr;)*) => {$(
        #[test]
        fn $test() {
            Bench::of_liars().lies($script, &$operations);
        }
    )*};
}

lies! {
    script_that_reports_all_running_fails_conformance: "always-running" in ["is-running"];
    script_that_reports_none_running_fails_conformance: "never-running" in ["is-running"];
    script_that_starts_nothing_fails_conformance: "starts-nothing" in ["start"];
    script_that_starts_a_name_twice_fails_conformance: "starts-twice" in ["start"];
    script_that_stops_nothing_fails_conformance: "keeps-running" in ["stop"];
    script_that_leaves_orphans_fails_conformance: "leaves-orphans" in ["stop"];
    script_that_stops_by_name_prefix_fails_conformance: "by-prefix" in ["stop"];
    script_that_asks_by_name_prefix_fails_conformance: "by-prefix" in ["is-running"];
    script_that_reads_by_name_prefix_fails_conformance: "by-prefix" in ["get-meta"];
    script_that_types_nothing_fails_conformance: "nudges-nowhere" in ["nudge"];
    script_that_sends_no_keys_fails_conformance: "presses-nowhere" in ["interrupt", "send-keys"];
    script_that_shows_no_output_fails_conformance: "shows-nothing" in ["peek"];
    script_that_lists_nothing_fails_conformance: "lists-nothing" in ["list-running"];
    script_that_forgets_metadata_fails_conformance: "forgets" in ["set-meta", "get-meta"];
    script_that_finds_every_program_fails_conformance: "all-alive" in ["process-alive"];
    script_that_accepts_unknown_operations_fails_conformance: "knows-everything" in ["unknown"];
}

#[test]
fn script_that_exits_2_for_failures_fails_conformance() {
    let report = Bench::of_liars().lies("trips-over-missing", &["get-last-activity"]);
    assert!(failures(&report).contains("exit code 2"), "{report:#}");
}

#[test]
fn slow_script_fails_conformance() {
    let report = Bench::of_liars().lies("dawdles", &["get-last-activity"]);
    assert!(failures(&report).contains("within 2 s"), "{report:#}");
}

#[test]
fn script_with_child_holding_pipes_fails_conformance() {
    let report = Bench::of_liars().lies("holds-pipes", &["start"]);
    assert!(failures(&report).contains("a process holds them open"), "{report:#}");
}

#[test]
fn silent_third_party_script_works_as_backend() {
    let world = Bench(TestProject::new());
    world.real_time();
    let backend = |name: &str| format!("exec:{}", file(&format!("tests/fixtures/adapters/{name}.sh")).display());
    let launch = |name: &str, script: &str| {
        let words = ["session", "launch", "--json", "--role", "r", "--name", name, "--backend", &backend(script)];
        world.run(words.into_iter().chain(["--", "sleep", "300"]))
    };
    let session = launch("s1", "silent").exits(0).json();
    assert_eq!((&session["status"], &session["backend"]), (&"running".into(), &backend("silent").into()));
    // Nobody told its pid: what it says of itself confirms it.
    let name = session["session_name"].as_str().unwrap();
    assert!(name.starts_with("s1-"), "{session:#}");
    assert_eq!(session["pid"], Value::Null);
    let report = world.json(["session", "reconcile"]);
    assert_eq!(report["stale"], serde_json::json!([]), "{report:#}");
    world.run(["session", "stop", "s1"]).exits(0);
    assert_eq!(world.json(["session", "show", "s1"])["status"], "ended");
    let state = world.dir().join(format!("home/.local/state/fairway/adapters/{name}.pid"));
    let pid: i32 = fs::read_to_string(state).unwrap().trim().parse().unwrap();
    assert_eq!(ProcessKey::of(pid), None);
    launch("s2", "knows-nothing").refuses(7, "adapter_unsupported");
}

#[test]
fn interrupted_check_leaves_nothing() {
    let bench = Bench::new();
    let script = file("examples/session-adapters/minimal.sh");
    let mut command = bench.fairway(["adapter", "check", "--json", &script.display().to_string()]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let check = ProcessKey::of(i32::try_from(child.id()).unwrap()).unwrap();
    let runs = || bench.processes().iter().any(|one| one.pid != check.pid).then_some(());
    poll_until::poll_until(Duration::from_secs(20), Duration::from_millis(5), runs).expect("a session runs");
    check.signal(Signal::SIGINT).unwrap();
    let run: CommandOutput = child.wait_with_output().unwrap().into();
    run.refuses(7, "interrupted");
    bench.holds_nothing();
}

#[test]
fn scripts_name_is_a_path_a_backend_or_a_program() {
    let world = Bench(TestProject::new());
    world.real_time();
    let script = world.dir().join("mine.sh");
    fs::copy(file("tests/fixtures/adapters/knows-nothing.sh"), &script).unwrap();
    let by = |word: &str| world.check(word, &["unknown"]);
    for word in [format!("exec:{}", script.display()), script.display().to_string(), "../mine.sh".to_owned()] {
        assert_eq!(by(&word).exits(0).json()["script"], script.display().to_string(), "{word}");
    }
    by("mine").refuses(3, "not_found");
    by("../no-such.sh").refuses(3, "not_found");
    // A script that only the project's file names is run when the file is trusted, not before.
    let canary = world.dir().join("canary");
    fs::write(&script, format!("#!/bin/sh\ntouch '{}'\nexit 2\n", canary.display())).unwrap();
    fs::write(world.root().join(".fairway.toml"), "[backends.mine]\nscript = \"../mine.sh\"\n").unwrap();
    by("mine").refuses(9, "untrusted");
    assert!(!canary.exists());
    world.run(["trust"]).exits(0);
    by("mine").exits(0);
    assert!(canary.exists());
}
