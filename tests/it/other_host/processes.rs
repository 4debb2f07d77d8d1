//! Sessions and jobs of another host.

use super::{foreign, refused, run, worlds};

/// Longer than `sessions.stale_after`, in seconds.
const LONG: i64 = 3_600;

#[test]
fn verb_for_a_session_of_another_host_names_it_and_the_command() {
    for world in worlds() {
        run(&world, "session upsert --id s1 --role dev").exits(0);
        world.write_rows(&format!("UPDATE agent_sessions SET {}", foreign()));
        for (line, words) in [
            ("session attach s1", "session attach s1"),
            ("session peek s1", "session peek s1"),
            ("session nudge s1 hello", "session nudge s1 TEXT"),
            ("session interrupt s1", "session interrupt s1"),
            ("session stop s1", "session stop s1"),
            ("session relaunch s1", "session relaunch s1"),
            ("session meta get s1 k", "session meta get s1 k"),
            ("session meta set s1 k v", "session meta set s1 k VALUE"),
            ("session meta rm s1 k", "session meta rm s1 k"),
        ] {
            let error = refused(&world, line, "session_mismatch", words);
            assert!(!error["hint"].as_str().unwrap().contains("forget"), "{error}");
        }
        world.advance_clock(LONG);
        let error = refused(&world, "session peek s1", "session_mismatch", "session peek s1");
        assert!(error["hint"].as_str().unwrap().ends_with("fairway session forget s1"), "{error}");
        // A command that needs only the store goes on: the session's host delivers the prompt.
        run(&world, "prompt s1 hello").exits(0);
        assert_eq!(world.json(["outbox"])[0]["status"], "queued");
        run(&world, "session show s1").exits(0);
        run(&world, "session end s1").exits(0);
        refused(&world, "session peek s1", "session_mismatch", "session peek s1");
    }
}

#[test]
fn session_of_a_host_that_is_heard_of_is_given_up_only_by_force_and_with_its_age() {
    for world in worlds() {
        for id in ["s1", "s2"] {
            run(&world, &format!("session upsert --id {id} --role dev")).exits(0);
        }
        world.write_rows(&format!("UPDATE agent_sessions SET {}", foreign()));
        let error = run(&world, "--json session forget s1").refuses(4, "host_alive").error();
        assert_eq!(error["details"]["host"], "build1", "{error}");
        let there = super::there(&world, "session stop s1");
        let hint =
            format!("end it there: {there}\ngive it up all the same: fairway session forget s1 --force --reason TEXT");
        assert_eq!(error["hint"], hint);
        run(&world, "session forget s1 --force").exits(2);
        run(&world, "session forget s1 --force --reason 'its disk died'").exits(0);
        let reason = world.json(["session", "show", "s1"])["reason"].as_str().unwrap().to_owned();
        assert!(reason.starts_with("given up by ") && reason.ends_with("s ago: its disk died"), "{reason}");
        // Silent, but something else of its host is not.
        world.advance_clock(LONG);
        world.write_rows(&if super::is_on_server(&world) {
            format!("UPDATE hosts SET last_seen = {}", world.now().millis())
        } else {
            format!("UPDATE agent_sessions SET last_heartbeat_at = {} WHERE id = 's1'", world.now().millis())
        });
        run(&world, "--json session forget s2").refuses(4, "host_alive");
        world.advance_clock(LONG);
        run(&world, "session forget s2").exits(0);
        let reason = world.json(["session", "show", "s2"])["reason"].as_str().unwrap().to_owned();
        assert!(reason.contains(", last heard 1h ago"), "{reason}");
        assert!(!reason.contains("gone"), "{reason}");
    }
}

#[test]
fn program_that_works_on_after_its_session_was_given_up_is_named_by_doctor() {
    let world = crate::common::TestProject::new();
    let mut program = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    for id in ["s1", "s2"] {
        run(&world, &format!("session upsert --id {id} --role dev --pid {}", program.id())).exits(0);
    }
    run(&world, "session end s1 --status failed --reason 'given up by ann@laptop'").exits(0);
    run(&world, "session end s2 --status ended").exits(0);
    let found = || {
        let report = world.run(["doctor", "--json"]).json();
        let all = report["findings"].as_array().unwrap().clone();
        all.into_iter().filter(|one| one["code"] == "session_failed_alive").collect::<Vec<_>>()
    };
    let named = found();
    assert_eq!(named.len(), 1, "{named:#?}");
    let message = named[0]["message"].as_str().unwrap();
    assert!(message.contains("s1") && message.ends_with("has failed: given up by ann@laptop"), "{message}");
    program.kill().unwrap();
    program.wait().unwrap();
    assert_eq!(found(), [serde_json::Value::Null; 0]);
}

/// A store in a file lies beside the output of its jobs; that of a server does not.
#[cfg(feature = "postgres")]
#[test]
fn verb_for_a_job_of_another_host_names_it_and_the_command() {
    let Some(world) = worlds().into_iter().find(super::is_on_server) else { return };
    let spawned = run(&world, "--json exec spawn --pty -- echo hello").exits(0).json();
    let job = spawned["run_id"].as_str().unwrap().to_owned();
    run(&world, &format!("exec wait {job}")).exits(0);
    run(&world, &format!("exec log {job}")).exits(0);
    // The files that this host has of it are removed.
    let state = world.root().join(".fairway");
    std::fs::remove_dir_all(state.join("runs")).unwrap();
    for file in ["runs.db", "runs.db-wal", "runs.db-shm"] {
        let _ = std::fs::remove_file(state.join(file));
    }
    let set = |columns: &str| world.write_rows(&format!("UPDATE exec_runs SET {}{columns}", foreign()));
    set("");
    let poll = world.json(["exec", "poll", &job]);
    assert_eq!((&poll["status"], &poll["output_host"]), (&"succeeded".into(), &"build1".into()), "{poll}");
    let text = run(&world, &format!("exec poll {job}")).exits(0).stdout;
    assert!(text.contains(&super::there(&world, &format!("exec log {job}"))), "{text}");
    refused(&world, &format!("exec log {job}"), "run_unsupervised", &format!("exec log {job}"));
    set(", status = 'running', finished_at = NULL, exit_code = NULL, pid = 99999999, pid_started = 1, \
         supervisor_pid = 99999999, supervisor_started = 1");
    for verb in ["log", "log --follow", "kill"] {
        let words = format!("exec {} {job}", verb.trim_end_matches(" --follow"));
        let error = refused(&world, &format!("exec {verb} {job}"), "run_unsupervised", &words);
        assert!(!error["hint"].as_str().unwrap().contains("rm --force"), "{error}");
    }
    world.advance_clock(LONG);
    let error = refused(&world, &format!("exec log {job}"), "run_unsupervised", &format!("exec log {job}"));
    assert!(error["hint"].as_str().unwrap().ends_with(&format!("fairway exec rm --force {job}")), "{error}");
    refused(&world, &format!("exec send-keys {job} --literal x"), "run_unsupervised", &format!("exec send-keys {job}"));
    assert_eq!(world.json(["exec", "poll", &job])["status"], "running");
    set(", status = 'succeeded', finished_at = queued_at, exit_code = 0, pid = NULL, pid_started = NULL, \
         supervisor_pid = NULL, supervisor_started = NULL");
}
