//! The store of jobs' output, and its failures.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use fairway_core::os::poll_until;
use nix::sys::stat::Mode;
use serde_json::json;

use super::job_project::{JobProject, WAIT_TIMEOUT};
use crate::common::mount::Mount;
use crate::common::{TestProject, tree_snapshot};

#[test]
fn output_is_private_and_never_created_by_reads() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let output = place.dir.join(".fairway/runs.db");
    let run = place.spawn(["--", "sh", "-c", "umask 000; echo hi; echo ho >&2"]);
    place.run(["exec", "wait", &run]).exits(0);
    place.wait_no_processes("after a run");
    for path in tree_snapshot::capture(&place.dir.join(".fairway")).keys() {
        let mode = fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
    // Where nothing was ever printed there is nothing to see, and nothing is made.
    for suffix in ["", "-wal", "-shm", "-init"] {
        let _ = fs::remove_file(format!("{}{suffix}", output.display()));
    }
    let polled = place.json(["exec", "poll", &run]);
    assert_eq!((&polled["items"], &polled["snippet"], &polled["output_bytes"]), (&json!([]), &json!(""), &json!(6)));
    assert!(!output.exists());
}

#[test]
fn damaged_output_is_reported_and_keeps_the_state() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let output = place.dir.join(".fairway/runs.db");
    let run = place.spawn(["--", "echo", "hi"]);
    place.run(["exec", "wait", &run]).exits(0);
    place.wait_no_processes("after a run");
    for suffix in ["-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{suffix}", output.display()));
    }
    let whole = fs::read(&output).unwrap();
    fs::write(&output, [b"no database at all ".as_slice(), &whole].concat()).unwrap();
    for verb in ["poll", "log"] {
        let said = place.run(["exec", verb, &run, "--json"]).refuses(1, "store_foreign");
        assert!(said.error()["message"].as_str().unwrap().contains("runs.db"), "{said:?}");
    }
    assert_eq!(place.json(["exec", "wait", &run])[0]["status"], "succeeded");
    place.run(["task", "add", "work goes on"]).exits(0);
    // A run goes on without being kept, and says so.
    let run = place.spawn(["--shell", "echo ran >ran; echo lost"]);
    let waited = place.json(["exec", "wait", &run]);
    assert_eq!(
        (fs::read_to_string(place.dir.join("ran")).unwrap().as_str(), &waited[0]["status"]),
        ("ran\n", &json!("succeeded"))
    );
    assert!(waited[0]["error_message"].as_str().unwrap().contains("could not all be kept"), "{waited:#}");
    assert!(fs::read(&output).unwrap().starts_with(b"no database at all "));
    fs::remove_file(&output).unwrap();
    let run = place.spawn(["--", "echo", "again"]);
    place.run(["exec", "wait", &run]).exits(0);
    assert_eq!(place.json(["exec", "poll", &run])["snippet"], "again\n");
}

#[test]
fn full_disk_pauses_output_capture_not_the_job() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let runs = place.dir.join(".fairway/runs");
    fs::create_dir(&runs).unwrap();
    fs::set_permissions(&runs, fs::Permissions::from_mode(0o700)).unwrap();
    let Some(_mount) = Mount::tmpfs(&runs, 256) else { return };
    fs::set_permissions(&runs, fs::Permissions::from_mode(0o700)).unwrap();
    nix::unistd::mkfifo(&place.dir.join("go"), Mode::S_IRWXU).unwrap();
    let zeroes = |count: u64| format!("head -c {count} /dev/zero | tr '\\0' x");
    // The first waits in memory as a whole, the second cannot.
    for (count, is_lost) in [(1_000_000, false), (20_000_000, true)] {
        let more = if is_lost { "64000000" } else { "4000000" };
        let script = format!("{}; echo >>printed; read -r _ <go; echo after", zeroes(count));
        let run = place.spawn(["--max-output", more, "--shell", &script]);
        let lines = if is_lost { 2 } else { 1 };
        let printed = poll_until::poll_until(WAIT_TIMEOUT, Duration::from_millis(20), || {
            (place.count("printed", "") == lines).then_some(())
        });
        assert!(printed.is_some(), "the program was held up: {}", place.json(["exec", "poll", &run]));
        let room = Command::new("mount").args(["-o", "remount,size=64m"]).arg(&runs).status().unwrap();
        assert!(room.success());
        fs::write(place.dir.join("go"), "\n").unwrap();
        place.run(["exec", "wait", &run]).exits(0);
        let polled = place.json(["exec", "poll", &run]);
        assert_eq!((&polled["truncated"], &polled["output_bytes"]), (&json!(is_lost), &json!(count + 6)), "{polled:#}");
        let text = place.log(&run, "stdout");
        assert!(text.ends_with("xxxafter\n"), "{}", &text[text.len() - 40..]);
        let lost: i64 = place.json(["exec", "log", &run, "--stream", "event"])["items"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|item| item["meta"]["event"] == "not_kept")
            .map(|item| item["meta"]["bytes"].as_i64().unwrap())
            .sum();
        assert_eq!(
            lost + i64::try_from(text.len()).unwrap(),
            i64::try_from(count + 6).unwrap(),
            "{lost} are said to be lost"
        );
        assert_eq!(lost > 0, is_lost);
        place.wait_no_processes("after a full disk");
        place.run(["exec", "rm", &run]).exits(0);
        let full = Command::new("mount").args(["-o", "remount,size=256k"]).arg(&runs).status().unwrap();
        assert!(full.success());
    }
}

#[test]
fn job_that_fills_the_disk_can_record_its_end() {
    let world = TestProject::uninitialized();
    let place = JobProject::of_world(&world);
    let state = place.dir.join(".fairway");
    fs::create_dir(&state).unwrap();
    let Some(_mount) = Mount::tmpfs(&state, 6_144) else { return };
    place.run(["init", "--quiet"]).exits(0);
    let run = place.spawn(["--max-output", "50000000", "--shell", "yes | head -c 30000000; exit 3"]);
    place.run(["exec", "wait", &run, "--timeout", "20s"]).exits(7);
    let polled = place.json(["exec", "poll", &run]);
    assert_eq!((&polled["status"], &polled["exit_code"]), (&json!("failed"), &json!(3)), "{polled:#}");
    assert!(polled["error_message"].as_str().unwrap().contains("could not all be kept"), "{polled:#}");
    place.wait_no_processes("after a full disk");
    place.run(["exec", "rm", &run]).exits(0);
    place.run(["exec", "spawn", "--foreground", "--", "true"]).exits(0);
}

#[test]
fn every_command_reports_an_unwritable_store() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let run = place.spawn(["--", "true"]);
    place.run(["exec", "wait", &run]).exits(0);
    place.wait_no_processes("after a run");
    let Some(mount) = Mount::bind_over_itself(&place.dir.join(".fairway")) else { return };
    mount.set_writable(false);
    for words in [
        vec!["exec", "spawn", "--json", "--", "true"],
        vec!["exec", "worker", "--json"],
        vec!["exec", "rm", &run, "--json"],
        vec!["session", "reconcile", "--json"],
    ] {
        place.run(words).refuses(7, "store_read_only");
    }
    mount.set_writable(true);
    place.run(["exec", "rm", &run]).exits(0);
}
