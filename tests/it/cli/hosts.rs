//! `host list`, `host renew` and `host retire` with a store in a file.

use crate::common::{TestProject, fixtures};

#[test]
fn host_list_of_a_file_has_this_host_and_those_of_the_records() {
    let world = TestProject::new();
    let listed = world.json(["host", "list"]);
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed:#}");
    let here = &listed[0];
    assert_eq!(
        (here["here"].as_bool(), here["sessions"].as_i64(), here["seen_at"].as_str()),
        (Some(true), Some(0), None)
    );
    assert_eq!(here["version"], env!("CARGO_PKG_VERSION"));

    world.run(["session", "upsert", "--id", "s1", "--role", "worker"]).exits(0);
    // A session of an earlier version names its host only.
    fixtures::add_session(&world, "s2", "worker", None);
    let listed = world.json(["host", "list"]);
    let short: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|host| (host["name"] == "elsewhere", host["id"].is_null(), host["sessions"].as_i64().unwrap()))
        .collect();
    assert_eq!(short, [(false, false, 1), (true, true, 1)]);
    assert_eq!(listed[0]["id"], here["id"]);
    assert_eq!(world.run(["host", "list", "--quiet"]).exits(0).stdout.lines().nth(1), Some("elsewhere"));
    let shown = world.transcript(&["fairway host list"]);
    let rows: Vec<Vec<&str>> = shown.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["HOST", "HERE", "SESSIONS", "JOBS", "LANES", "VERSION", "SEEN", "ROOT"]);
    assert_eq!((rows[1][1], rows[2][..5].join(" ")), ("yes", "elsewhere - 1 0 0".to_owned()));
}

#[test]
fn sessions_of_the_old_id_are_another_machines_after_host_renew() {
    let world = TestProject::new();
    world.run(["session", "upsert", "--id", "s1", "--role", "worker"]).exits(0);
    let renewed = world.transcript(&["fairway host renew --yes"]);
    assert!(renewed.contains("this host has the id "), "{renewed}");
    assert!(renewed.contains("1 session, 0 jobs and 0 lanes are recorded under the old id"), "{renewed}");
    let listed = world.json(["host", "list"]);
    assert_eq!(listed[0]["sessions"], 0, "{listed:#}");
    assert_eq!(listed[1]["sessions"], 1, "{listed:#}");
    let skipped = world.json(["session", "reconcile", "--dry-run"]);
    assert_eq!(skipped["skipped"][0]["session_id"], "s1", "{skipped:#}");
    // A second one is another id again.
    let again = world.json(["host", "renew", "--yes"]);
    assert_eq!(again["before"], listed[0]["id"]);
    assert_ne!(again["id"], again["before"]);
}

#[test]
fn host_renew_inside_a_session_is_refused() {
    let world = TestProject::new();
    world.add_session("s1");
    let inside = world.fairway(["host", "renew", "--yes", "--json"]).env("FAIRWAY_SESSION_ID", "s1").output().unwrap();
    crate::common::test_project::CommandOutput::from(inside).refuses(5, "inside_session");
}

/// A host that a person gives up, with a session that claims one task and has submitted another.
fn world_with_another_host() -> TestProject {
    let world = TestProject::new();
    for id in ["s1", "s2", "here"] {
        world.run(["session", "upsert", "--id", id, "--role", "worker"]).exits(0);
    }
    world.write_rows("UPDATE agent_sessions SET host = 'build1/1', host_id = 'b/1' WHERE id IN ('s1', 's2')");
    for task in ["T-1", "T-2", "T-3"] {
        world.run(["task", "add", task, "title"]).exits(0);
    }
    for (task, session) in [("T-1", "s1"), ("T-2", "s1"), ("T-3", "here")] {
        world.run(["--session", session, "claim", task]).exits(0);
    }
    world.run(["--session", "s1", "task", "submit", "T-2"]).exits(0);
    fixtures::add_lane(&world, "ui", None, Some(&world.root()));
    world.write_rows("UPDATE lanes SET host = 'build1/1', host_id = 'b/1', branch = 'work/ui' WHERE name = 'ui'");
    world
}

#[test]
fn host_retire_gives_up_sessions_and_claims_of_a_silent_host_in_one_write() {
    let world = world_with_another_host();
    let refused = world.run(["host", "retire", "build1", "--reason", "it is gone", "--json"]).refuses(4, "host_alive");
    assert!(
        refused.error()["hint"].as_str().unwrap().ends_with("fairway host retire build1/1 --force --reason TEXT"),
        "{refused:?}"
    );
    world.advance_clock(3_600);
    world.run(["session", "heartbeat", "here"]).exits(0);
    let retired = world.run(["host", "retire", "build1", "--reason", "it is gone", "--json"]).exits(0);
    let document = retired.json();
    assert_eq!(document["sessions"], serde_json::json!(["s1", "s2"]));
    assert_eq!(document["released"], serde_json::json!(["T-1"]));
    assert_eq!(document["lanes"][0]["lane"], "ui");
    assert_eq!(document["lanes"][0]["branch"], "work/ui");
    let reason = document["reason"].as_str().unwrap();
    assert!(reason.contains(", last heard 1h") && reason.ends_with(" ago: it is gone"), "{reason}");
    assert!(retired.stderr.contains("T-2 of s1 is in review and stays"), "{retired:?}");
    let status = |id: &str| world.json(["session", "show", id])["status"].as_str().unwrap().to_owned();
    assert_eq!([status("s1"), status("s2"), status("here")], ["failed", "failed", "running"]);
    let state = |id: &str| world.json(["task", "show", id])["status"].as_str().unwrap().to_owned();
    assert_eq!([state("T-1"), state("T-2"), state("T-3")], ["todo", "review", "in_progress"]);
    let events = world.run(["events", "--kind", "host.retired", "--json"]).exits(0).stdout;
    assert_eq!(events.lines().count(), 1, "{events}");
    // Once more: there is nothing left.
    let shown = world.transcript(&["fairway host retire build1 --reason again"]);
    assert!(shown.contains("gave up build1: 0 sessions, 0 claims, 0 jobs"), "{shown}");
}

#[test]
fn host_retire_refuses_this_host_an_unknown_one_and_a_session() {
    let world = world_with_another_host();
    let own = world.json(["host", "list"])[0]["name"].as_str().unwrap().to_owned();
    world.run(["host", "retire", &own, "--force", "--reason", "x", "--json"]).refuses(4, "host_alive");
    let error = world.run(["host", "retire", "build2", "--reason", "x", "--json"]).refuses(3, "not_found").error();
    assert_eq!(error["details"]["near"], serde_json::json!(["build1"]));
    let inside = world.fairway(["host", "retire", "build1", "--reason", "x", "--json"]);
    let inside = { inside }.env("FAIRWAY_SESSION_ID", "here").output().unwrap();
    crate::common::test_project::CommandOutput::from(inside).refuses(5, "inside_session");
}

#[test]
fn release_of_a_host_frees_its_claims_once_it_is_silent_and_leaves_its_sessions() {
    let world = world_with_another_host();
    world.run(["release", "--host", "build1", "--json"]).refuses(4, "host_alive");
    world.advance_clock(3_600);
    let released = world.transcript(&["fairway release --host build1"]);
    assert!(released.contains("released T-1: in_progress → todo (s1)"), "{released}");
    assert!(released.contains("T-2 of s1 is in review and stays"), "{released}");
    assert_eq!(world.json(["task", "show", "T-3"])["status"], "in_progress");
    assert!(world.json(["session", "show", "s1"])["ended_at"].is_null());
    let again = world.transcript(&["fairway release --host build1"]);
    assert!(again.contains("unchanged: no claim of a session of that host"), "{again}");
}

#[test]
fn message_to_a_session_that_a_person_has_ended_is_no_item_and_is_named_at_once() {
    let world = TestProject::new();
    let sessions = ["retired", "forgotten", "ended", "crashed", "itself", "failed"];
    for id in sessions {
        world.run(["session", "upsert", "--id", id, "--role", "worker"]).exits(0);
        world.run(["prompt", id, "rebase onto main"]).exits(0);
    }
    world.write_rows("UPDATE agent_sessions SET host = 'build1/1', host_id = 'b/1' WHERE id = 'retired'");
    world.write_rows("UPDATE agent_sessions SET host = 'build2/1', host_id = 'b/2' WHERE id = 'forgotten'");
    let on_purpose: [&[&str]; 3] = [
        &["host", "retire", "build1", "--force", "--reason", "it is gone"],
        &["session", "forget", "forgotten", "--force", "--reason", "it is gone"],
        &["session", "end", "ended"],
    ];
    for (number, line) in on_purpose.iter().enumerate() {
        let told = world.run(*line).exits(0).stderr;
        let named = format!("prompt {} was not delivered and has expired: fairway outbox --all", number + 1);
        assert!(told.contains(&named), "{told}");
    }
    for line in [
        &["session", "end", "crashed", "--exit-code", "1"][..],
        &["--session", "itself", "session", "end", "itself"],
        &["session", "end", "failed", "--status", "failed"],
    ] {
        world.run(line).exits(0);
    }
    let board = world.json(["status"]);
    let items = board["needs_you"].as_array().unwrap().iter().filter(|need| need["kind"] == "prompt");
    let lines: Vec<&str> = items.map(|need| need["line"].as_str().unwrap()).collect();
    assert_eq!(
        lines,
        [
            "message 4 expired before crashed read it",
            "message 5 expired before itself read it",
            "message 6 expired before failed read it"
        ]
    );
    for id in sessions {
        world.run(["prompt", id, "again", "--json"]).refuses(4, "session_final");
        world.run(["message", "send", "again", "--to-session", id, "--json"]).refuses(4, "session_final");
    }
}
