//! Ending runs: all of it, at once, and as often as one likes.

use std::fs;
use std::io::{Read, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use fairway_core::os::{poll_until, socket};

use super::job_project::{JobProject, WAIT_TIMEOUT};
use crate::common::TestProject;

const SIGTERM_IGNORED: &str = "trap '' TERM; (trap '' TERM; setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done') & \
                    echo up; while :; do sleep 1; done";

#[track_caller]
fn up(place: &JobProject<'_>, run: &str) {
    let seen = place.json(["exec", "poll", run, "--until", "output", "--wait", "30s"]);
    assert_eq!(seen["status"], "running", "{seen}");
}

#[test]
fn kill_returns_after_every_process_died() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    for (words, least) in [
        (&["--grace", "300ms"][..], 300),
        (&["--signal", "KILL"][..], 0),
        (&["--grace", "0s", "--signal", "INT"][..], 0),
    ] {
        let run = place.spawn(["--shell", SIGTERM_IGNORED]);
        up(&place, &run);
        let members: Vec<_> = JobProject::job_processes(&run)
            .into_iter()
            .filter(|key| Some(key) != place.supervisor(&run).as_ref())
            .collect();
        assert!(members.len() >= 3, "{members:?}");
        let since = Instant::now();
        let said = place.json(["exec", "kill", &run].iter().chain(words).copied());
        assert!(since.elapsed() >= Duration::from_millis(least), "{words:?}");
        assert_eq!((said["run_id"].as_str(), said["status"].as_str()), (Some(&*run), Some("canceled")));
        let left: Vec<_> = JobProject::job_processes(&run).into_iter().filter(|key| members.contains(key)).collect();
        assert!(left.is_empty(), "{words:?}: {left:?}");
        let row = place.rows().pop().unwrap();
        assert_eq!((row.status.as_str(), row.error.is_some()), ("canceled", true));
        // Ended is ended.
        assert_eq!(place.json(["exec", "kill", &run]), said);
    }
    place.assert_stores_valid();
}

#[test]
fn job_that_obeys_the_first_signal_is_canceled() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let run = place.spawn(["--shell", "trap 'echo bye; exit 0' INT; echo up; while :; do sleep 0.05; done"]);
    up(&place, &run);
    assert_eq!(place.json(["exec", "kill", &run, "--signal", "int", "--grace", "20s"])["status"], "canceled");
    let seen = place.json(["exec", "poll", &run]);
    assert_eq!((seen["exit_code"].as_i64(), seen["snippet"].as_str()), (Some(0), Some("up\nbye\n")), "{seen}");
    assert_eq!(seen["error_message"], "it was killed on request, by SIGINT");
}

#[test]
fn stopped_job_is_killed_before_the_grace_ends() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let run = place.spawn(["--shell", "echo up; kill -STOP $$; sleep 600"]);
    up(&place, &run);
    // A kill that waited for the grace would hang.
    place.json(["exec", "kill", &run, "--grace", "1h"]);
}

#[test]
fn concurrent_kills_all_return() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let run = place.spawn(["--shell", SIGTERM_IGNORED]);
    up(&place, &run);
    let kill = |_| {
        let mut command = place.fairway(["exec", "kill", &run, "--grace", "500ms", "--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let killers: Vec<_> = (0..10).map(kill).collect();
    for killer in killers {
        let done = killer.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(done.status.success() && said.contains("\"canceled\""), "{said} {done:?}");
    }
    place.wait_no_processes("ten have killed it");
    place.assert_stores_valid();
}

#[test]
fn kill_removes_a_queued_job() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let first = place.spawn(["--queue", "q", "--", "sleep", "600"]);
    let second = place.spawn(["--queue", "q", "--shell", "echo >ran-second"]);
    let third = place.spawn(["--queue", "q", "--shell", "echo >ran-third"]);
    assert_eq!(place.json(["exec", "kill", &second])["status"], "canceled");
    let seen = place.json(["exec", "poll", &second]);
    assert_eq!(seen["error_message"], "it was killed on request, before it started");
    assert_eq!(place.json(["exec", "kill", &first])["status"], "canceled");
    let seen = place.json(["exec", "poll", &third, "--until", "exit", "--wait", "30s"]);
    assert_eq!(seen["status"], "succeeded");
    assert!(place.dir.join("ran-third").exists() && !place.dir.join("ran-second").exists());
    assert!(!place.dir.join(".fairway/runs").join(&second).join("start").exists());
    place.wait_no_processes("nothing is queued");
}

#[test]
fn kill_ends_job_without_supervisor() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let run = place.spawn(["--shell", SIGTERM_IGNORED]);
    up(&place, &run);
    let supervisor = place.supervisor(&run).unwrap();
    assert!(supervisor.signal(nix::sys::signal::Signal::SIGKILL).unwrap());
    let dead = || place.supervisor(&run).is_none().then_some(());
    poll_until::poll_until(WAIT_TIMEOUT, Duration::from_millis(10), dead).unwrap();
    assert_eq!(place.json(["exec", "kill", &run, "--grace", "200ms"])["status"], "canceled");
    place.wait_no_processes("it was killed");
    place.assert_stores_valid();
}

#[test]
fn repeat_gets_the_first_answer_and_nonsense_is_refused() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let run = place.spawn(["--", "sleep", "600"]);
    let first = place.json(["exec", "kill", &run, "--request-id", "k1"]);
    assert_eq!(place.json(["exec", "kill", &run, "--request-id", "k1"]), first);
    place.run(["exec", "kill", "ffffffff", "--json"]).refuses(3, "not_found");
    place.run(["exec", "kill", &run, "--signal", "NONE", "--json"]).refuses(2, "usage");
    place.run(["exec", "kill", &run, "--grace", "-1", "--json"]).refuses(2, "usage");
}

#[test]
fn invalid_or_silent_control_clients_change_nothing() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let run = place.spawn(["--shell", "echo up; sleep 600"]);
    up(&place, &run);
    let folder = place.dir.join(".fairway/runs").join(&run);
    let _silent: Vec<_> = (0..100).map(|_| socket::connect(&folder, "door").unwrap()).collect();
    for nonsense in [&b"\n"[..], b"{}\n", b"{\"do\":\"kill\",\"signal\":0,\"grace_ms\":0}\n", b"\xff\xfe\n", b"{\"do\""]
    {
        let mut caller = socket::connect(&folder, "door").unwrap();
        caller.write_all(nonsense).unwrap();
        caller.shutdown(std::net::Shutdown::Write).unwrap();
        let mut said = String::new();
        caller.read_to_string(&mut said).unwrap();
        assert!(said.is_empty() || said == "{\"unknown\":true}\n", "{said}");
    }
    assert_eq!(place.json(["exec", "poll", &run])["status"], "running");
    assert_eq!(
        fs::metadata(folder.join("door")).map(|found| std::os::unix::fs::MetadataExt::mode(&found) & 0o777).unwrap(),
        0o600
    );
    assert_eq!(place.json(["exec", "kill", &run])["status"], "canceled");
    assert!(!folder.join("door").exists());
}

/// The program handles the signal long after the kill has looked for processes, and leaves one behind.
#[test]
fn orphan_that_a_kill_missed_is_signalled_when_its_parent_has_ended() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    // The orphan has no handler that could take the signal before it is `sleep`.
    let run = place.spawn([
        "--shell",
        "trap 'trap - TERM; sleep 0.5; sleep 600 & exit' TERM; echo up; while :; do sleep 0.1; done",
    ]);
    up(&place, &run);
    place.run(["exec", "kill", &run, "--grace", "1h"]).exits(0);
    place.wait_no_processes("all were ended");
}

#[test]
fn processes_forked_during_a_kill_are_signalled() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    for _ in 0..10 {
        let run = place.spawn(["--shell", "sleep 600 & setsid sleep 600 & sleep 600"]);
        // A process without the signal would be waited for as long as the grace: about every other kill would hang.
        place.run(["exec", "kill", &run, "--grace", "1h"]).exits(0);
    }
    place.wait_no_processes("all were ended");
}
