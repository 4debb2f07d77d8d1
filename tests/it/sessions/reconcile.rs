//! Settling sessions by what can be seen of real processes. Tasks and claims must come out of every run as they were.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fairway_core::os::{lock_queue, poll_until, process};
use rusqlite::Connection;
use serde_json::{Value, json};

use super::Sessions;
use crate::common::TestProject;
use crate::common::test_project::{CommandOutput, FAIRWAY};

const LONG: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

/// A process of its own that does nothing; gone with its handle.
struct Sleeper(Child);

impl Sleeper {
    fn new() -> Self {
        Self(Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap())
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }

    fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }

    /// Kills it and leaves its corpse: a zombie.
    fn die(&mut self) {
        self.0.kill().unwrap();
        let pid = i32::try_from(self.0.id()).unwrap();
        poll_until::poll_until(LONG, PAUSE, || process::stat(pid).unwrap().unwrap().is_zombie().then_some(())).unwrap();
    }

    /// Kills it and buries it.
    fn vanish(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn sql(world: &TestProject) -> Connection {
    Connection::open(world.store()).unwrap()
}

/// Every row of tasks and claims.
fn work(world: &TestProject) -> String {
    let conn = sql(world);
    let mut dump = String::new();
    for table in ["tasks", "claims"] {
        let mut statement = conn.prepare(&format!("SELECT * FROM {table} ORDER BY 1, 2")).unwrap();
        let width = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for column in 0..width {
                dump.push_str(&format!("{:?}|", row.get_ref(column).unwrap()));
            }
            dump.push('\n');
        }
    }
    dump
}

/// Reconciles, and fails when tasks or claims changed.
#[track_caller]
fn settle(world: &TestProject) -> Value {
    let before = work(world);
    let report = world.json(["session", "reconcile"]);
    assert_eq!(work(world), before, "{report:#}");
    report
}

fn upsert(world: &TestProject, args: &[&str]) -> Value {
    world.json(["session", "upsert", "--role", "r"].iter().chain(args))
}

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|finding| finding["session_id"].as_str().unwrap()).collect()
}

fn reason(list: &Value, id: &str) -> String {
    let found = list.as_array().unwrap().iter().find(|finding| finding["session_id"] == id);
    found.unwrap_or_else(|| panic!("{id} in {list:#}"))["reason"].as_str().unwrap().to_owned()
}

fn status(world: &TestProject, id: &str) -> String {
    world.json(["session", "show", id])["status"].as_str().unwrap().to_owned()
}

fn forge(world: &TestProject, id: &str, column: &str, value: impl rusqlite::ToSql) {
    let changed = sql(world).execute(&format!("UPDATE agent_sessions SET {column} = ?2 WHERE id = ?1"), (id, value));
    assert_eq!(changed.unwrap(), 1);
}

fn checkpoints(world: &TestProject) -> Vec<(String, String, String)> {
    let conn = sql(world);
    let mut statement =
        conn.prepare("SELECT task_id, state, coalesce(session_id, '') FROM checkpoints ORDER BY id").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn live_zombie_and_reused_pids_are_distinguished() {
    let world = TestProject::new();
    let mut sleepers: Vec<Sleeper> = (0..5).map(|_| Sleeper::new()).collect();
    for (id, sleeper) in ["alive", "gone", "zombie", "reused", "booted"].iter().zip(&sleepers) {
        upsert(&world, &["--id", id, "--pid", &sleeper.pid()]);
    }
    assert_eq!(settle(&world)["stale"], json!([]));
    sleepers[1].vanish();
    sleepers[2].die();
    forge(&world, "reused", "pid_started", 1);
    forge(&world, "booted", "boot_id", "00000000-0000-0000-0000-000000000000");
    // Numbers that no session's process can have, and one that is ours but another's start.
    for (id, pid) in [("minus", -1), ("zero", 0), ("init", 1), ("huge", i64::from(i32::MAX) + 1)] {
        upsert(&world, &["--id", id, "--pid", &sleepers[0].pid()]);
        forge(&world, id, "pid", pid);
    }
    upsert(&world, &["--id", "own", "--pid", &std::process::id().to_string()]);
    let report = settle(&world);
    assert_eq!(
        ids(&report["stale"]),
        ["gone", "zombie", "reused", "booted", "minus", "zero", "init", "huge"],
        "{report:#}"
    );
    assert!(reason(&report["stale"], "gone").contains("is gone"));
    assert!(reason(&report["stale"], "zombie").contains("has ended"));
    assert!(reason(&report["stale"], "reused").contains("is another one now"));
    assert!(reason(&report["stale"], "booted").contains("was rebooted"));
    assert_eq!((status(&world, "alive").as_str(), status(&world, "own").as_str()), ("running", "running"));
    // Nobody was signalled.
    for alive in [0, 3, 4] {
        assert!(sleepers[alive].is_alive());
    }
}

#[test]
fn session_is_marked_stale_only_by_a_backend_answer_of_false() {
    let world = Sessions::new();
    let script = world.script(
        "asked",
        "#!/bin/sh\nd=$FAIRWAY_ADAPTER_STATE\ncase $1 in start) cat >/dev/null ;; stop) ;;\n\
         is-running) cat \"$d/runs\" || exit 1 ;; get-meta) cat \"$d/run\" 2>/dev/null || exit 2 ;; *) exit 2 ;; esac\n",
    );
    let state = world.dir().join("home/.local/state/fairway/adapters");
    let say = |file: &str, text: &str| fs::write(state.join(file), text).unwrap();
    fs::create_dir_all(&state).unwrap();
    say("runs", "true\n");
    let session =
        world.launch(&["--role", "r", "--name", "a", "--backend", &format!("exec:{}", script.display()), "--", "true"]);
    let run = session["run_id"].as_str().unwrap().to_owned();
    let look = |list: &str| {
        let report = world.json(["session", "reconcile", "--dry-run"]);
        assert_eq!(world.json(["session", "reconcile"])[list], report[list], "a dry run says the same");
        assert_eq!(ids(&report[list]), ["a"], "{report}");
        reason(&report[list], "a")
    };
    // The yes of a script without meta counts.
    let report = world.json(["session", "reconcile"]);
    assert!(ids(&report["unknown"]).is_empty() && ids(&report["stale"]).is_empty(), "{report:#}");
    // Yes without a run, no answer, garbage: unknown, and nothing changes.
    say("run", "");
    assert!(look("unknown").contains("not for which session run"));
    for (said, why) in [("maybe", "neither true nor false"), ("", "neither true nor false")] {
        say("runs", said);
        assert!(look("unknown").contains(why));
    }
    fs::remove_file(state.join("runs")).unwrap();
    assert!(look("unknown").contains("failed at is-running"));
    assert_eq!(status(&world, "a"), "running");
    // No is no, and so is the name in another run's hands; a yes of our run revives.
    for (runs, named) in [("false\n", ""), ("true\n", "another")] {
        say("runs", runs);
        say("run", named);
        let _ = look("stale");
        assert_eq!(status(&world, "a"), "stale");
        say("runs", "true\n");
        say("run", &run);
        let _ = look("revived");
        assert_eq!(status(&world, "a"), "running");
    }
    // A script that may not be run is not called, and neither is one that is gone.
    fs::set_permissions(&script, fs::Permissions::from_mode(0o777)).unwrap();
    say("runs", "false\n");
    assert!(look("unknown").contains("can be written by others"));
    fs::remove_file(&script).unwrap();
    assert!(look("unknown").contains("does not exist"));
    assert_eq!(status(&world, "a"), "running");
}

#[test]
fn launch_that_was_killed_is_found_again_by_its_backend() {
    let world = Sessions::new();
    world.launch(&["--role", "r", "--name", "a", "--", "sleep", "300"]);
    // As it would stand if the launch had been killed before it recorded what came back.
    let conn = sql(&world);
    let cut = "UPDATE agent_sessions SET status = 'starting', pid = NULL, pid_started = NULL, boot_id = NULL";
    conn.execute(cut, []).unwrap();
    assert_eq!(reason(&settle(&world)["unknown"], "a"), "its launch may still be in progress");
    conn.execute("UPDATE agent_sessions SET started_at = started_at - 61000", []).unwrap();
    drop(conn);
    assert_eq!(ids(&settle(&world)["revived"]), ["a"]);
    assert_eq!(status(&world, "a"), "running");
    world.run(["session", "stop", "a"]).exits(0);
}

#[test]
fn pane_does_not_outlive_the_boot() {
    let world = TestProject::new();
    for id in ["before", "since"] {
        upsert(&world, &["--id", id, "--backend", "tmux", "--pane", "%1", "--external-session-id", id]);
    }
    forge(&world, "before", "boot_id", "00000000-0000-0000-0000-000000000000");
    let report = settle(&world);
    assert_eq!((ids(&report["stale"]), ids(&report["unknown"])), (vec!["before"], vec!["since"]));
}

#[test]
fn pid_without_its_start_is_unknown_while_it_is_there() {
    let world = TestProject::new();
    let mut sleeper = Sleeper::new();
    upsert(&world, &["--id", "s", "--pid", &sleeper.pid(), "--status", "starting"]);
    forge(&world, "s", "pid_started", None::<i64>);
    let report = settle(&world);
    assert_eq!((ids(&report["unknown"]), status(&world, "s").as_str()), (vec!["s"], "starting"));
    sleeper.vanish();
    assert_eq!(ids(&settle(&world)["stale"]), ["s"]);
}

#[test]
fn live_starting_or_stale_session_becomes_running() {
    let world = TestProject::new();
    let sleeper = Sleeper::new();
    for id in ["starting", "stale", "ended"] {
        upsert(&world, &["--id", id, "--pid", &sleeper.pid(), "--status", "starting"]);
    }
    upsert(&world, &["--id", "stale", "--status", "stale"]);
    world.run(["session", "end", "ended"]).exits(0);
    let ended = world.json(["session", "show", "ended"]);
    // However late: what is there is there.
    world.advance_clock(86_400);
    let report = settle(&world);
    assert_eq!(ids(&report["revived"]), ["starting", "stale"], "{report:#}");
    assert_eq!((status(&world, "starting").as_str(), status(&world, "stale").as_str()), ("running", "running"));
    assert_eq!(world.json(["session", "show", "ended"]), ended);
    assert_eq!(report["checked"], 2);
}

#[test]
fn killed_launch_is_resolved_after_the_timeout() {
    let world = TestProject::new();
    upsert(&world, &["--id", "s", "--status", "starting"]);
    world.advance_clock(50);
    assert_eq!(settle(&world)["stale"], json!([]));
    world.advance_clock(20);
    let report = settle(&world);
    assert!(reason(&report["stale"], "s").starts_with("the launch was never confirmed"), "{report:#}");
}

#[test]
fn silence_counts_only_without_local_facts() {
    let world = TestProject::new();
    let sleeper = Sleeper::new();
    fs::write(world.root().join(".fairway.toml"), "[sessions]\nstale_after = \"10m\"\n").unwrap();
    upsert(&world, &["--id", "silent"]);
    upsert(&world, &["--id", "pane", "--backend", "tmux", "--pane", "%1"]);
    upsert(&world, &["--id", "pid", "--pid", &sleeper.pid()]);
    upsert(&world, &["--id", "asks", "--activity", "requires_action"]);
    upsert(&world, &["--id", "away"]);
    upsert(&world, &["--id", "far"]);
    world.advance_clock(660);
    for id in ["away", "far"] {
        forge(&world, id, "host", "elsewhere/1");
        forge(&world, id, "host_id", "elsewhere/1");
    }
    world.run(["session", "heartbeat", "far"]).exits(0);
    let report = settle(&world);
    assert_eq!(ids(&report["stale"]), ["silent", "away"], "{report:#}");
    assert_eq!(ids(&report["unknown"]), ["pane"]);
    assert_eq!(ids(&report["skipped"]), ["far"]);
    world.advance_clock(7_200);
    let report = settle(&world);
    assert_eq!(ids(&report["stale"]), ["far"], "{report:#}");
    assert_eq!(status(&world, "asks"), "running");
}

#[test]
fn mass_stale_brake_holds_when_all_are_silent_at_once() {
    let world = TestProject::new();
    let mut sleeper = Sleeper::new();
    for number in 0..5 {
        upsert(&world, &["--id", &format!("s{number}")]);
    }
    upsert(&world, &["--id", "dead", "--pid", &sleeper.pid()]);
    sleeper.vanish();
    world.advance_clock(86_400);
    let before = work(&world);
    let run = world.run(["session", "reconcile", "--json"]).exits(0);
    let report = run.json();
    assert!(run.stderr.contains("the clock may be wrong"), "{run:#?}");
    // A death that was seen is marked all the same.
    assert_eq!((ids(&report["stale"]), ids(&report["unknown"]).len()), (vec!["dead"], 5), "{report:#}");
    assert!(reason(&report["unknown"], "s0").contains("the clock is suspect"));
    // Signs of life from most of them: the others are late in earnest.
    for number in 0..3 {
        world.run(["session", "heartbeat", &format!("s{number}")]).exits(0);
    }
    assert_eq!(ids(&settle(&world)["stale"]), ["s3", "s4"]);
    assert_eq!(work(&world), before);
}

#[test]
fn stale_session_leaves_a_checkpoint_on_its_own_task() {
    let world = TestProject::new();
    let mut sleepers = Vec::new();
    for task in ["mine", "free", "done", "theirs"] {
        world.run(["task", "add", "--id", task, "one"]).exits(0);
        sleepers.push(Sleeper::new());
        upsert(&world, &["--id", &format!("s-{task}"), "--task-id", task, "--pid", &sleepers.last().unwrap().pid()]);
    }
    upsert(&world, &["--id", "taskless", "--pid", &sleepers[0].pid()]);
    world.run(["--session", "s-mine", "claim", "mine"]).exits(0);
    world.run(["task", "cancel", "done", "--reason", "no"]).exits(0);
    world.run(["claim", "theirs"]).exits(0);
    sleepers.iter_mut().for_each(Sleeper::vanish);
    let report = settle(&world);
    assert_eq!(ids(&report["stale"]).len(), 5, "{report:#}");
    let word = |task: &str| (task.to_owned(), "awaiting_input".to_owned(), format!("s-{task}"));
    assert_eq!(checkpoints(&world), [word("mine"), word("free")]);

    // The newest is one of that session already: nothing is said twice.
    world.run(["session", "heartbeat", "s-mine"]).exits(0);
    assert_eq!(ids(&settle(&world)["stale"]), ["s-mine"]);
    assert_eq!(checkpoints(&world).len(), 2);
    // Somebody spoke meanwhile: the next death is news again.
    let other = "INSERT INTO checkpoints (task_id, session_id, state, summary, created_at) \
                 VALUES ('mine', 's-mine', 'active', 'going on', 0)";
    sql(&world).execute(other, []).unwrap();
    world.run(["session", "heartbeat", "s-mine"]).exits(0);
    settle(&world);
    assert_eq!(checkpoints(&world).len(), 4);
}

#[test]
fn unattended_tasks_are_reported_and_kept() {
    let world = TestProject::new();
    let sleeper = Sleeper::new();
    for task in ["held", "taken-up", "ended", "person", "closed"] {
        world.run(["task", "add", "--id", task, "one"]).exits(0);
    }
    for (session, task) in [("a", "held"), ("b", "taken-up"), ("c", "ended")] {
        upsert(&world, &["--id", session]);
        world.run(["--session", session, "claim", task]).exits(0);
    }
    world.run(["claim", "person"]).exits(0);
    world.run(["session", "end", "c"]).exits(0);
    upsert(&world, &["--id", "b", "--status", "stale"]);
    upsert(&world, &["--id", "b2", "--task-id", "taken-up", "--pid", &sleeper.pid()]);
    upsert(&world, &["--id", "late", "--task-id", "closed", "--pid", &sleeper.pid()]);
    world.run(["task", "cancel", "closed", "--reason", "no"]).exits(0);
    let unattended = |report: &Value| -> Vec<(String, String)> {
        let list = report["unattended"].as_array().unwrap();
        let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or("-").to_owned();
        list.iter().map(|finding| (text(finding, "session_id"), text(finding, "task_id"))).collect()
    };
    let pair = |session: &str, task: &str| (session.to_owned(), task.to_owned());
    // A task that a person works on without a session is attended.
    let expected = [pair("c", "ended"), pair("late", "closed")];
    assert_eq!(unattended(&settle(&world)), expected);
    world.advance_clock(86_400);
    let report = settle(&world);
    assert_eq!(ids(&report["stale"]), ["a"]);
    assert_eq!(unattended(&report)[1..], [pair("a", "held"), pair("late", "closed")]);
}

/// Every file below a folder but the shared memory of the log: name, mode and bytes.
fn files(folder: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let data = fs::symlink_metadata(&path).unwrap();
        let mode = data.permissions().mode();
        if data.is_dir() {
            found.push((path.clone(), mode, Vec::new()));
            found.extend(files(&path));
        } else if !path.to_string_lossy().ends_with("-shm") {
            // A FIFO whose writer has gone would be waited for without end.
            let bytes = if data.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            found.push((path, mode, bytes));
        }
    }
    found.sort();
    found
}

#[test]
fn dry_run_gives_the_same_verdicts_and_writes_nothing() {
    let world = TestProject::new();
    let (alive, mut dead) = (Sleeper::new(), Sleeper::new());
    world.run(["task", "add", "T-1", "one"]).exits(0);
    upsert(&world, &["--id", "dead", "--task-id", "T-1", "--pid", &dead.pid()]);
    world.run(["--session", "dead", "claim", "T-1"]).exits(0);
    upsert(&world, &["--id", "alive", "--pid", &alive.pid(), "--status", "starting"]);
    upsert(&world, &["--id", "pane", "--backend", "tmux", "--pane", "%1", "--socket", "/nowhere"]);
    dead.vanish();
    let before = files(world.dir());
    let mut dry = world.json(["session", "reconcile", "--dry-run"]);
    assert_eq!(files(world.dir()), before);
    assert_eq!(
        (ids(&dry["stale"]), ids(&dry["revived"]), ids(&dry["unknown"])),
        (vec!["dead"], vec!["alive"], vec!["pane"])
    );
    assert_eq!(dry["dry_run"], true);
    dry["dry_run"] = false.into();
    assert_eq!(settle(&world), dry);
}

#[test]
fn reconcile_without_a_store_does_nothing() {
    let world = TestProject::uninitialized();
    fs::write(world.root().join(".fairway.toml"), "").unwrap();
    let before = files(world.dir());
    assert_eq!(world.json(["session", "reconcile"])["checked"], 0);
    assert_eq!(files(world.dir()), before);
}

/// As cron would: no environment at all, in `/`, with stdin closed.
fn cron(world: &TestProject, args: &[&str]) -> CommandOutput {
    let script = "exec env -i \"$@\" <&-";
    let root = world.root();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script, "sh", FAIRWAY, "--root"]).arg(root).args(args).current_dir("/").stdin(Stdio::null());
    command.output().unwrap().into()
}

#[test]
fn cron_gets_the_same_answer() {
    let world = TestProject::new();
    world.real_time();
    // A configuration that names programs, which nobody has trusted: looking at sessions needs no trust.
    fs::write(world.root().join(".fairway.toml"), "[backends.mine]\nscript = \"./nobody-trusted-this\"\n").unwrap();
    let mut dead = Sleeper::new();
    let alive = Sleeper::new();
    upsert(&world, &["--id", "dead", "--pid", &dead.pid(), "--backend", "mine"]);
    upsert(&world, &["--id", "alive", "--pid", &alive.pid(), "--status", "starting"]);
    dead.vanish();
    // Nor does it read what a pipe happens to hold.
    let mut here = world.run_with_stdin(["session", "reconcile", "--dry-run", "--json"], b"\xff").exits(0).json();
    here["dry_run"] = false.into();
    let before = work(&world);
    let there = cron(&world, &["session", "reconcile", "--json"]).exits(0);
    assert_eq!(there.json(), here);
    assert_eq!(work(&world), before);
    assert_eq!(status(&world, "dead"), "stale");
}

#[test]
fn eight_parallel_reconciles_run_once() {
    let world = TestProject::new();
    world.real_time();
    let mut dead = Sleeper::new();
    upsert(&world, &["--id", "dead", "--pid", &dead.pid()]);
    dead.vanish();
    let before = work(&world);
    // Nobody can write while this is open, so the one that works is still at it when the others come.
    let blocker = sql(&world);
    blocker.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut running: Vec<Child> = (0..8)
        .map(|_| {
            let mut command = world.fairway(["session", "reconcile", "--json"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let seven = poll_until::poll_until(LONG, PAUSE, || {
        let over = running.iter_mut().filter_map(|child| child.try_wait().unwrap()).count();
        (over == 7).then_some(())
    });
    blocker.execute_batch("ROLLBACK").unwrap();
    let reports: Vec<Value> = running
        .into_iter()
        .map(|child| CommandOutput::from(child.wait_with_output().unwrap()).exits(0).json())
        .collect();
    assert!(seven.is_some(), "{reports:#?}");
    let busy = reports.iter().filter(|report| report["busy"] == true).count();
    let worked: Vec<&Value> = reports.iter().filter(|report| report.get("busy").is_none()).collect();
    assert_eq!((busy, worked.len()), (7, 1), "{reports:#?}");
    assert_eq!(ids(&worked[0]["stale"]), ["dead"]);
    assert_eq!(work(&world), before);
}

/// Lets a reconcile look, and then, before it can mark, lets `meanwhile` happen.
fn overtaken(world: &TestProject, meanwhile: &str) -> Value {
    let blocker = sql(world);
    blocker.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut command = world.fairway(["session", "reconcile", "--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It stands in the turnstile: it has looked and wants to write.
    let turnstile = PathBuf::from(format!("{}-turn", world.store().display()));
    let taken = || lock_queue::acquire(&turnstile, Duration::from_millis(1)).unwrap().is_none();
    poll_until::poll_until(LONG, PAUSE, || taken().then_some(())).unwrap();
    blocker.execute_batch(meanwhile).unwrap();
    blocker.execute_batch("COMMIT").unwrap();
    CommandOutput::from(child.wait_with_output().unwrap()).exits(0).json()
}

#[test]
fn heartbeat_during_reconcile_wins() {
    let world = TestProject::new();
    world.run(["task", "add", "T-1", "one"]).exits(0);
    upsert(&world, &["--id", "s", "--task-id", "T-1"]);
    world.advance_clock(86_400);
    let before = work(&world);
    let beat = format!(
        "UPDATE agent_sessions SET last_heartbeat_at = {}, version = version + 1 WHERE id = 's'",
        world.now().millis()
    );
    let report = overtaken(&world, &beat);
    assert_eq!((ids(&report["stale"]), ids(&report["unknown"])), (vec![], vec!["s"]), "{report:#}");
    assert_eq!((status(&world, "s").as_str(), checkpoints(&world)), ("running", vec![]));
    // The control: without the heartbeat the same run marks it.
    world.advance_clock(86_400);
    assert_eq!(ids(&overtaken(&world, "SELECT 1")["stale"]), ["s"]);
    assert_eq!((status(&world, "s").as_str(), work(&world)), ("stale", before));
}

#[test]
fn reconciling_session_is_alive() {
    let world = TestProject::new();
    upsert(&world, &["--id", "s"]);
    world.advance_clock(86_400);
    let report = world.json(["--session", "s", "session", "reconcile"]);
    assert_eq!((ids(&report["stale"]), status(&world, "s").as_str()), (vec![], "running"));
    world.run(["--session", "nobody", "session", "list", "--json"]).exits(0);
}

#[test]
fn repeated_request_gets_the_first_report() {
    let world = TestProject::new();
    upsert(&world, &["--id", "s"]);
    world.advance_clock(86_400);
    let first = world.json(["session", "reconcile", "--request-id", "once"]);
    assert_eq!(ids(&first["stale"]), ["s"]);
    assert_eq!(world.json(["session", "reconcile", "--request-id", "once"]), first);
}
