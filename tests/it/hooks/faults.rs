//! Whatever goes wrong while a tool waits for a decision is a no that says why; anywhere else it stops nobody.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use fairway_core::os::poll_until;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rusqlite::Connection;
use serde_json::{Value, json};

use super::{VENDORS, command, denied, event, started};
use crate::common::mount::Mount;
use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, bulk_tasks};

/// The end of a turn in the vendor's words, which a failure must not turn into its going on.
fn turn_end(vendor: &str) -> &'static str {
    if vendor == "gemini" { "AfterAgent" } else { "Stop" }
}

/// Fails unless it failed where nobody is stopped by that.
#[track_caller]
fn assert_no_side_effect(run: &CommandOutput) {
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:#?}");
    assert_eq!(run.stderr.lines().count(), 1, "{run:#?}");
    assert!(run.stderr.starts_with("fairway hook: ") && !run.stderr.contains("panicked"), "{run:#?}");
}

/// Every vendor's tool call is denied, and the end of every vendor's turn is not held up.
#[track_caller]
fn assert_fails_closed(world: &TestProject, about: &str) {
    for (vendor, _) in VENDORS {
        let reason = denied(vendor, &world.hook(vendor, &command(vendor, "x", "true")));
        assert!(reason.len() > 10, "{about}: {reason}");
        assert_no_side_effect(&world.hook(vendor, &event(turn_end(vendor), "x", json!({}))));
    }
}

#[test]
fn malformed_payload_is_denied() {
    let world = TestProject::new();
    for (vendor, moment) in VENDORS {
        let whole = command(vendor, "x", "true");
        let mut bad: Vec<(String, Vec<u8>)> = Vec::new();
        for text in ["", " \n", "garbage", "{", "[]", "null", "{}", "\"PreToolUse\"", "{\"a\":1} trailing"] {
            bad.push((text.to_owned(), text.as_bytes().to_vec()));
        }
        for field in ["hook_event_name", "session_id", "cwd", "tool_name", "tool_input"] {
            let mut without = whole.clone();
            without.as_object_mut().unwrap().remove(field);
            bad.push((format!("without {field}"), without.to_string().into_bytes()));
            without[field] = Value::Null;
            bad.push((format!("{field} is null"), without.to_string().into_bytes()));
            if field != "tool_input" {
                without[field] = 7.into();
                bad.push((format!("{field} is a number"), without.to_string().into_bytes()));
                without[field] = "".into();
                bad.push((format!("{field} is empty"), without.to_string().into_bytes()));
            }
        }
        let twice = whole.to_string().replacen('{', "{\"tool_name\":\"Read\",", 1);
        bad.push(("a field twice".into(), twice.into_bytes()));
        bad.push(("no UTF-8".into(), [whole.to_string().as_bytes(), b"\xff"].concat()));
        let whole_text = whole.to_string();
        let other_field = [&whole_text.as_bytes()[..whole_text.len() - 1], b",\"other\":\"\xff\"}"].concat();
        bad.push(("no UTF-8 in a field that nobody reads".into(), other_field));
        let mut elsewhere = whole.clone();
        elsewhere["cwd"] = "here".into();
        bad.push(("a folder that is none".into(), elsewhere.to_string().into_bytes()));
        bad.push(("deep".into(), "[".repeat(100_000).into_bytes()));
        let mut other = whole.clone();
        other["hook_event_name"] = "Stop".into();
        bad.push(("another event".into(), other.to_string().into_bytes()));
        for (about, bytes) in bad {
            let run = world.hook_bytes(vendor, moment, &bytes);
            assert_eq!(run.code, Some(2), "{vendor}, {about}: {run:#?}");
            denied(vendor, &run);
        }
        // One that came in at another door is a tool call all the same.
        denied(vendor, &world.hook_bytes(vendor, "Stop", whole.to_string().as_bytes()));
        denied(vendor, &world.hook_bytes(vendor, "Unknown", whole.to_string().as_bytes()));
        assert_no_side_effect(&world.hook_bytes(vendor, turn_end(vendor), b""));
        assert_no_side_effect(&world.hook_bytes(vendor, turn_end(vendor), b"garbage"));
    }
    assert!(world.sessions().is_empty());
}

#[test]
fn oversized_payload_is_denied() {
    let world = TestProject::new();
    for (vendor, _) in VENDORS {
        let mut whole = command(vendor, "x", "true");
        whole["padding"] = "x".repeat(8 << 20).into();
        assert!(denied(vendor, &world.hook(vendor, &whole)).contains("8 MiB"));
    }
}

#[test]
fn broken_configuration_denies() {
    let world = TestProject::new();
    let path = world.root().join(".fairway.toml");
    let good = fs::read(&path).unwrap();
    for bad in ["[tasks", "[hoooks]\nrole = \"x\"", "[hooks]\nrole = \"not a role\"", "[claims]\nlease = 7"] {
        fs::write(&path, bad).unwrap();
        assert_fails_closed(&world, bad);
    }
    fs::write(&path, good).unwrap();
}

#[test]
fn damaged_newer_or_foreign_store_denies() {
    let world = TestProject::new();
    bulk_tasks::insert_ready_tasks(&world.store(), 50);
    let good = fs::read(world.store()).unwrap();
    fs::write(world.store(), &good[..good.len() / 2]).unwrap();
    assert_fails_closed(&world, "cut");
    fs::write(world.store(), "not a database, but a text\n".repeat(400)).unwrap();
    assert_fails_closed(&world, "a text");
    fs::write(world.store(), &good).unwrap();
    Connection::open(world.store()).unwrap().pragma_update(None, "user_version", 99).unwrap();
    assert_fails_closed(&world, "newer");
    for suffix in ["-wal", "-shm"] {
        let _ = fs::remove_file(world.root().join(format!(".fairway/fairway.db{suffix}")));
    }
    fs::write(world.store(), &good).unwrap();
}

/// A store that is locked longer than a decision may take makes it a no, in time.
#[test]
fn locked_store_denies_in_time() {
    let world = TestProject::new();
    let holder = Connection::open(world.store()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begun = Instant::now();
    let hooks: Vec<_> = VENDORS
        .iter()
        .map(|(vendor, moment)| {
            let call = command(vendor, "x", "true").to_string();
            (*vendor, started(world.fairway(["hook", vendor, moment]), call.as_bytes()))
        })
        .collect();
    for (vendor, hook) in hooks {
        denied(vendor, &hook.wait_with_output().unwrap().into());
    }
    crate::common::soak::took(begun.elapsed(), ..Duration::from_secs(9), "the denial");
    holder.execute_batch("ROLLBACK").unwrap();
}

#[test]
fn full_disk_denies() {
    let world = TestProject::uninitialized();
    let Some(_mount) = Mount::tmpfs(&world.root(), 2_048) else { return };
    world.run(["init", "--quiet"]).exits(0);
    let filler = world.root().join("filler");
    let mut file = OpenOptions::new().create(true).append(true).open(&filler).unwrap();
    for size in [4096, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
    let runs: Vec<(&str, CommandOutput)> = (0..4)
        .flat_map(|_| VENDORS)
        .map(|(vendor, _)| (vendor, world.hook(vendor, &command(vendor, "x", "true"))))
        .collect();
    // A page that the log has already may take the first rows.
    for (vendor, run) in runs.iter().skip(3) {
        denied(vendor, run);
    }
    fs::remove_file(filler).unwrap();
}

#[test]
fn panic_or_crash_in_the_hook_denies() {
    let mut world = TestProject::new();
    for fault in ["panic", "crash"] {
        world.set("FAIRWAY_TEST_FAULT", fault);
        assert_fails_closed(&world, fault);
    }
}

#[test]
fn hanging_or_signalled_hook_denies() {
    let mut world = TestProject::new();
    world.set("FAIRWAY_TEST_FAULT", "hang");
    let hang = |vendor: &str, moment: &str| {
        let call = command(vendor, "x", "true").to_string();
        started(world.fairway(["hook", vendor, moment]), call.as_bytes())
    };
    let begun = Instant::now();
    let hooks: Vec<_> = VENDORS.iter().map(|(vendor, moment)| (*vendor, hang(vendor, moment))).collect();
    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGSEGV, Signal::SIGABRT, Signal::SIGXCPU] {
        for (vendor, moment) in VENDORS {
            let hook = hang(vendor, moment);
            let pid = Pid::from_raw(i32::try_from(hook.id()).unwrap());
            // Not before it can hear it.
            let hears = || {
                let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
                let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap().trim();
                let last = u64::from_str_radix(caught, 16).unwrap() >> (Signal::SIGPROF as i32 - 1);
                (last & 1 == 1).then_some(())
            };
            poll_until::poll_until(Duration::from_secs(5), Duration::from_millis(5), hears).unwrap();
            kill(pid, signal).unwrap();
            let output = hook.wait_with_output().unwrap();
            assert_eq!(output.status.signal(), None);
            denied(vendor, &output.into());
        }
    }
    for (vendor, hook) in hooks {
        denied(vendor, &hook.wait_with_output().unwrap().into());
    }
    crate::common::soak::took(begun.elapsed(), ..Duration::from_secs(9), "the denial");
}

#[test]
fn project_whose_configuration_was_taken_away_denies() {
    let world = TestProject::new();
    world.run(["session", "upsert", "--id", "s-1", "--role", "backend"]).exits(0);
    let path = world.root().join(".fairway.toml");
    let good = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    for (vendor, _) in VENDORS {
        denied(vendor, &world.hook(vendor, &command(vendor, "x", "true")));
    }
    fs::write(&path, good).unwrap();
}

#[test]
fn missing_named_project_denies() {
    let world = TestProject::uninitialized();
    for (vendor, moment) in VENDORS {
        let call = command(vendor, "x", "true").to_string();
        denied(vendor, &world.run_with_stdin(["hook", vendor, moment, "--root", "/nowhere/at/all"], call.as_bytes()));
    }
}

#[test]
fn unwritable_denial_becomes_an_exit_code() {
    let world = TestProject::new();
    for (vendor, moment) in VENDORS {
        let mut call = command(vendor, "fairway-canary", "true");
        call["tool_name"] = "fairway-canary".into();
        let mut hook = world.fairway(["hook", vendor, moment]);
        hook.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut hook = hook.spawn().unwrap();
        hook.stdin.take().unwrap().write_all(call.to_string().as_bytes()).unwrap();
        denied(vendor, &hook.wait_with_output().unwrap().into());
    }
}

#[test]
fn invalid_environment_denies() {
    let world = TestProject::new();
    world.run(["session", "upsert", "--id", "s-1", "--role", "backend"]).exits(0);
    let call = |vendor: &str, moment: &str, name: &str, value: &str| {
        let mut hook = world.fairway(["hook", vendor, moment]);
        hook.env("FAIRWAY_SESSION_ID", "s-1").env(name, value);
        started(hook, command(vendor, "x", "true").to_string().as_bytes()).wait_with_output().unwrap().into()
    };
    for (name, value) in [
        ("FAIRWAY_SESSION_ID", "not an id"),
        ("FAIRWAY_ROLE", "no role!"),
        ("FAIRWAY_LANE", "../lane"),
        ("FAIRWAY_ROOT", "/nowhere/at/all"),
        // An old process does not speak for a new run.
        ("FAIRWAY_RUN_ID", "018f0000-0000-7000-8000-000000000000"),
    ] {
        for (vendor, moment) in VENDORS {
            denied(vendor, &call(vendor, moment, name, value));
        }
    }
}
