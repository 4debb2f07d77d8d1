//! Sessions of another host, and hosts that fall silent. Both hosts run on this machine, so that a wrong look at a process would
//! find it.

use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::another_host;
use crate::common::TestProject;

/// Longer than `sessions.stale_after`, in seconds.
const LONG: i64 = 3_600;

fn sleeper() -> Child {
    Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap()
}

fn upsert(world: &TestProject, id: &str, more: &[&str]) {
    world.run([&["session", "upsert", "--id", id, "--role", "worker"], more].concat()).exits(0);
}

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|one| one["session_id"].as_str().unwrap()).collect()
}

fn statuses(world: &TestProject) -> Vec<String> {
    let sessions = world.json(["session", "list", "--all"]);
    sessions.as_array().unwrap().iter().map(|one| one["status"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn other_host_is_never_the_one_to_say_that_a_session_is_gone() {
    let Some(world) = TestProject::on_postgres() else { return };
    let owner = another_host(&world);
    let (mut alive, mut dead) = (sleeper(), sleeper());
    upsert(&owner, "alive", &["--pid", &alive.id().to_string()]);
    upsert(&owner, "dead", &["--pid", &dead.id().to_string()]);
    // A tmux server that does not answer, and a session that nothing is known of.
    upsert(&owner, "unreachable", &["--backend", "tmux", "--pane", "%1", "--socket", "/nowhere/socket"]);
    upsert(&owner, "unseen", &[]);
    dead.kill().unwrap();
    dead.wait().unwrap();
    for dry_run in [true, false] {
        let report = world.json([&["session", "reconcile"][..], if dry_run { &["--dry-run"] } else { &[] }].concat());
        assert_eq!(ids(&report["skipped"]), ["alive", "dead", "unreachable", "unseen"], "{report:#}");
        assert_eq!((ids(&report["stale"]), ids(&report["unknown"])), (vec![], vec![]), "{report:#}");
    }
    assert_eq!(statuses(&world), ["running"; 4]);
    world.run(["task", "add", "one"]).exits(0);
    owner.run(["claim", "T-1", "--session", "dead"]).exits(0);
    world.run(["claim", "T-1", "--json"]).refuses(4, "already_claimed");
    let released = world.run(["release", "--dead"]).exits(0).stdout;
    assert!(released.contains("no claim of a dead session"), "{released}");

    let report = owner.json(["session", "reconcile"]);
    assert_eq!(ids(&report["stale"]), ["dead"], "{report:#}");
    alive.kill().unwrap();
    alive.wait().unwrap();
}

#[test]
fn sessions_of_a_silent_host_are_marked_and_the_brake_counts_the_others() {
    let Some(world) = TestProject::on_postgres() else { return };
    let other = another_host(&world);
    upsert(&world, "here", &[]);
    for number in 0..4 {
        upsert(&other, &format!("there-{number}"), &[]);
    }
    let stale = |world: &TestProject| {
        let run = world.run(["session", "reconcile", "--dry-run", "--json"]).exits(0);
        let is_braked = run.stderr.contains("the clock may be wrong");
        (ids(&run.json()["stale"]).len(), is_braked)
    };
    world.advance_clock(LONG);
    // As after a time without the server: this host was silent too.
    assert_eq!(stale(&world), (0, true));
    world.run(["session", "heartbeat", "here"]).exits(0);
    assert_eq!(stale(&world), (4, false));
    let report = world.run(["doctor", "--json"]).json();
    let silent = report["findings"].as_array().unwrap().iter().find(|one| one["code"] == "host_silent");
    let message = silent.expect("no finding")["message"].as_str().unwrap();
    assert!(message.contains("has not written for 1h") && message.contains("4 of its sessions are live"), "{message}");

    // The host is there: its sessions alone are silent, and most sessions are.
    other.advance_clock(LONG);
    other.run(["task", "add", "one"]).exits(0);
    assert_eq!(stale(&world), (0, true));
    let report = world.json(["session", "reconcile"]);
    assert!(report["unknown"][0]["reason"].as_str().unwrap().contains("the clock is suspect"), "{report:#}");
    assert_eq!(statuses(&world), ["running"; 5]);
}
