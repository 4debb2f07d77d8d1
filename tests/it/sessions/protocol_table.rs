//! Backend scripts that keep exactly to the protocol's table and report no pid: how their sessions are judged, and what exit
//! code 2 comes to.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::Sessions;
use crate::common::test_project::CommandOutput;

/// A script that stores values, knows nothing of the start environment and reports no pid. A session runs while its file is
/// there.
const TABLE: &str = r#"#!/bin/sh
d=$FAIRWAY_ADAPTER_STATE/$2
echo "$*" >>"$FAIRWAY_ADAPTER_STATE.calls"
case $1 in
  start) mkdir -p "$d" && cat >/dev/null && : >"$d/runs" ;;
  stop) rm -rf "$d" ;;
  is-running) if [ -e "$d/runs" ]; then echo true; else echo false; fi ;;
  set-meta) cat >"$d/meta.$3" ;;
  get-meta) cat "$d/meta.$3" 2>/dev/null || : ;;
  remove-meta) rm -f "$d/meta.$3" ;;
  get-last-activity) cat "$d/printed" 2>/dev/null || : ;;
  *) exit 2 ;;
esac
"#;

/// The least: no meta.
const LEAST: &str = r#"#!/bin/sh
d=$FAIRWAY_ADAPTER_STATE/$2
case $1 in
  start) mkdir -p "$d" && cat >/dev/null && : >"$d/runs" ;;
  stop) rm -rf "$d" ;;
  is-running) if [ -e "$d/runs" ]; then echo true; else echo false; fi ;;
  *) exit 2 ;;
esac
"#;

/// Launches a session `a` of such a script; answers the directory in which it keeps the session.
fn launched(world: &Sessions, text: &str) -> PathBuf {
    let script = world.script("backend", text);
    world.launch(&["--role", "r", "--name", "a", "--backend", &format!("exec:{}", script.display()), "--", "true"]);
    let session = world.session("a");
    PathBuf::from(&session["adapter_state"]).join(&session["session_name"])
}

fn reconciled(world: &Sessions) -> Value {
    let report = world.json(["session", "reconcile"]);
    assert_eq!(report["unknown"], serde_json::json!([]), "{report:#}");
    report
}

#[test]
fn session_of_a_script_that_reports_no_pid_is_judged_by_the_stored_run() {
    let world = Sessions::new();
    let dir = launched(&world, TABLE);
    let run = world.session("a")["run_id"].clone();
    assert_eq!(fs::read_to_string(dir.join("meta.FAIRWAY_RUN_ID")).unwrap(), run, "the launch stored it");
    reconciled(&world);
    assert_eq!(world.session("a")["status"], "running");
    // It is found dead, and again when it is back.
    fs::rename(dir.join("runs"), dir.join("away")).unwrap();
    assert_eq!(reconciled(&world)["stale"][0]["session_id"], "a");
    fs::rename(dir.join("away"), dir.join("runs")).unwrap();
    assert_eq!(reconciled(&world)["revived"][0]["session_id"], "a");
    assert_eq!(world.session("a")["status"], "running");
    // Another run of its name is another session.
    fs::write(dir.join("meta.FAIRWAY_RUN_ID"), "another").unwrap();
    assert_eq!(reconciled(&world)["stale"][0]["session_id"], "a");
    fs::write(dir.join("meta.FAIRWAY_RUN_ID"), run).unwrap();
    reconciled(&world);
    world.run(["session", "stop", "a"]).exits(0);
    assert_eq!(world.session("a")["status"], "ended");
}

#[test]
fn session_of_a_script_without_meta_counts_as_live_and_is_never_revived() {
    let world = Sessions::new();
    let dir = launched(&world, LEAST);
    assert_eq!(reconciled(&world)["checked"], 1);
    assert_eq!(world.session("a")["status"], "running");
    fs::rename(dir.join("runs"), dir.join("away")).unwrap();
    assert_eq!(reconciled(&world)["stale"][0]["session_id"], "a");
    fs::rename(dir.join("away"), dir.join("runs")).unwrap();
    let report = world.json(["session", "reconcile"]);
    assert_eq!((&report["revived"], &report["unknown"][0]["session_id"]), (&serde_json::json!([]), &"a".into()));
    assert_eq!(world.session("a")["status"], "stale");
}

#[test]
fn exit_code_2_is_a_success_that_did_nothing_except_for_start_and_stop() {
    let world = Sessions::new();
    launched(&world, LEAST);
    let events = || world.rows("SELECT count(*) AS n FROM events").pop().unwrap()["n"].clone();
    let before = events();
    let act = |args: &[&str]| -> CommandOutput {
        let out = world.run(["session"].iter().chain(args)).exits(0);
        assert!(out.stderr.starts_with("nothing was done: ") && out.stderr.contains("does not know"), "{out:?}");
        out
    };
    for args in
        [&["interrupt", "a"][..], &["nudge", "a", "hi"], &["meta", "set", "a", "k", "v"], &["meta", "rm", "a", "k"]]
    {
        assert_eq!(act(args).stdout, "unchanged: a\n", "{args:?}");
    }
    assert_eq!(act(&["meta", "get", "a", "k"]).stdout, "");
    assert_eq!(events(), before, "nothing happened");
    // A repeat gets the answer of the first call.
    for _ in 0..2 {
        let out = world.run(["session", "nudge", "a", "hi", "--request-id", "n1", "--json"]).exits(0);
        assert_eq!(out.json()["id"], "a");
    }
    // A prompt stays undelivered.
    let out = world.run(["prompt", "a", "hello", "--now"]).exits(0);
    assert!(out.stderr.contains("does not know nudge"), "{out:?}");
    assert_eq!(world.rows("SELECT status FROM messages")[0]["status"], "queued");
    let knows_nothing = world.script("backend", "#!/bin/sh\ncase $1 in is-running) echo true ;; *) exit 2 ;; esac\n");
    world.run(["session", "stop", "a", "--json"]).refuses(7, "adapter_unsupported");
    let backend = format!("exec:{}", knows_nothing.display());
    world
        .run(["session", "launch", "--json", "--role", "r", "--name", "b", "--backend", &backend, "--", "true"])
        .refuses(7, "adapter_unsupported");
}

#[test]
fn last_output_comes_from_the_backend_with_reconcile() {
    let world = Sessions::new();
    let dir = launched(&world, TABLE);
    let shown = || world.json(["session", "show", "a"])["last_output_at"].clone();
    reconciled(&world);
    assert_eq!(shown(), Value::Null, "the backend cannot tell");
    fs::write(dir.join("printed"), "2026-01-07T10:02:11Z\n").unwrap();
    world.json(["session", "reconcile", "--dry-run"]);
    assert_eq!(shown(), Value::Null, "a dry run writes nothing");
    reconciled(&world);
    assert_eq!(shown(), "2026-01-07T10:02:11.000Z");
    let version = world.session("a")["version"].clone();
    fs::write(dir.join("printed"), "2026-01-07T10:05:00Z\n").unwrap();
    reconciled(&world);
    assert_eq!(shown(), "2026-01-07T10:05:00.000Z");
    assert_eq!(world.session("a")["version"], version, "it is no change of the session");
    assert!(world.run(["session", "show", "a"]).stdout.contains("last output 2026-01-07 "));
    // A built-in backend's is that of its transcript.
    let session = world.launch(&["--role", "r", "--name", "s", "--", "sh", "-c", "echo x; sleep 300"]);
    super::eventually("its output", || {
        world.json(["session", "reconcile"]);
        world.json(["session", "show", "s"])["last_output_at"].is_string().then_some(())
    });
    let at = world.json(["session", "show", "s"])["last_output_at"].as_str().unwrap().to_owned();
    assert!(at.as_str() >= session["started_at"].as_str().unwrap(), "{at} {session}");
}
