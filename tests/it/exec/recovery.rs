//! Runs whose supervisor is gone: what is done about them follows from what they left, and is done once.

use std::fs;
use std::os::unix::process::CommandExt;
use std::time::Duration;

use fairway_core::os::lock::InheritableLock;
use fairway_core::os::poll_until;
use fairway_core::os::process::ProcessKey;
use nix::sys::signal::Signal;

use super::job_project::{JobProject, Row, WAIT_TIMEOUT};
use crate::common::TestProject;

#[track_caller]
fn seen<T>(place: &JobProject<'_>, ask: impl FnMut() -> Option<T>) -> T {
    let found = poll_until::poll_until(WAIT_TIMEOUT, Duration::from_millis(10), ask);
    found.unwrap_or_else(|| panic!("never seen: {:#?}, {:?}", place.rows(), place.processes()))
}

/// A run that has begun and whose supervisor was killed; its command goes on.
fn left(place: &JobProject<'_>, words: &[&str]) -> String {
    let run = begun(place, words);
    kill_supervisor(place, &run);
    run
}

/// A run that has begun, and ends once there is a file `go`.
fn begun(place: &JobProject<'_>, words: &[&str]) -> String {
    let before = place.count("ran", "began");
    let text = "echo began >>ran; while [ ! -e go ]; do sleep 0.02; done";
    let run = place.spawn(words.iter().copied().chain(["--shell", text]));
    seen(place, || (place.count("ran", "began") > before).then_some(()));
    run
}

fn kill_supervisor(place: &JobProject<'_>, run: &str) {
    place.supervisor(run).unwrap().signal(Signal::SIGKILL).unwrap();
    seen(place, || place.supervisor(run).is_none().then_some(()));
    // The kernel closes a killed process's files a moment after it left the list. Until then the run is supervised.
    let lock = place.dir.join(".fairway/runs").join(run).join("lock");
    seen(place, || (!InheritableLock::is_locked(&lock).unwrap()).then_some(()));
}

fn row(place: &JobProject<'_>, run: &str) -> Row {
    place.rows().into_iter().find(|row| row.id == run).unwrap()
}

#[test]
fn run_whose_folder_is_deleted_is_still_its_supervisors() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let run = begun(&place, &["--recovery", "lost"]);
    fs::remove_dir_all(place.dir.join(".fairway/runs").join(&run)).unwrap();
    let polled = place.json(["exec", "poll", &run]);
    assert_eq!((&polled["status"], polled.get("supervised")), (&"running".into(), None));
    let report = place.json(["session", "reconcile"]);
    assert_eq!(report["runs_recovered"], serde_json::json!([]));
    place.run(["exec", "wait", &run, "--timeout", "200ms"]).exits(6);
    fs::write(place.dir.join("go"), "").unwrap();
    place.run(["exec", "wait", &run]).exits(0);
    assert_eq!(row(&place, &run).status, "succeeded");
}

#[test]
fn eight_reconciles_at_once_recover_a_run_once() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let run = left(&place, &[]);
    let all: Vec<_> = (0..8)
        .map(|_| {
            let mut command = place.fairway(["session", "reconcile", "--json"]);
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let recovered: usize = all
        .into_iter()
        .map(|child| {
            let report =
                crate::common::test_project::CommandOutput::from(child.wait_with_output().unwrap()).exits(0).json();
            report["runs_recovered"].as_array().unwrap().len()
        })
        .sum();
    assert_eq!(recovered, 1);
    seen(&place, || (row(&place, &run).status == "running").then_some(()));
    seen(&place, || (place.count("ran", "began") == 2).then_some(()));
    fs::write(place.dir.join("go"), "").unwrap();
    let rows = place.wait_all_final("eight");
    assert_eq!((&*rows[0].status, rows[0].attempt, place.count("ran", "began")), ("succeeded", 2, 2));
    place.wait_no_processes("eight");
}

#[test]
fn third_attempt_is_the_last() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let run = left(&place, &[]);
    for attempt in 2..=3 {
        place.run(["session", "reconcile"]).exits(0);
        seen(&place, || (place.count("ran", "began") == attempt).then_some(()));
        assert_eq!(row(&place, &run).attempt, attempt);
        kill_supervisor(&place, &run);
    }
    place.run(["session", "reconcile"]).exits(0);
    let row = row(&place, &run);
    assert_eq!((&*row.status, row.attempt, place.count("ran", "began")), ("lost", 3, 3), "{row:?}");
    place.wait_no_processes("three attempts");
}

#[test]
fn jobs_of_another_boot_or_ended_session_are_lost() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    world.add_session("s1");
    let (boot, session) = (begun(&place, &["--queue", ""]), begun(&place, &["--notify", "s1", "--queue", ""]));
    let (elsewhere, unbegun) = (begun(&place, &["--queue", ""]), begun(&place, &["--queue", ""]));
    // All have begun: the next one that begins would settle what it finds.
    for run in [&boot, &session, &elsewhere, &unbegun] {
        kill_supervisor(&place, run);
    }
    let conn = place.store();
    let set = |what: &str, run: &str| {
        assert_eq!(conn.execute(&format!("UPDATE exec_runs SET {what} WHERE id = ?1"), [run]).unwrap(), 1);
    };
    set("boot_id = 'another'", &boot);
    set("host = 'elsewhere/1', host_id = 'elsewhere/1'", &elsewhere);
    // Its supervisor died before it had begun: as the store and the folder would look then.
    set("status = 'starting', pid = NULL, pid_started = NULL, started_at = NULL", &unbegun);
    fs::remove_file(place.dir.join(".fairway/runs").join(&unbegun).join("begun")).unwrap();
    conn.execute("DELETE FROM events WHERE kind = 'exec.started' AND data ->> 'exec_run_id' = ?1", [&unbegun]).unwrap();
    for process in JobProject::job_processes(&unbegun) {
        process.signal(Signal::SIGKILL).unwrap();
    }
    place.run(["session", "end", "s1"]).exits(0);

    let report = place.run(["session", "reconcile", "--json"]).exits(0);
    assert_eq!(report.stderr, "");
    let report = report.json();
    let of = |run: &str| {
        let all = report["runs_recovered"].as_array().unwrap();
        all.iter().find(|one| one["run_id"] == run).map(|one| (one["status"].clone(), one["reason"].to_string()))
    };
    let lost = |run: &str, why: &str| {
        let (status, reason) = of(run).unwrap_or_else(|| panic!("{report:#}"));
        assert!(status == "lost" && reason.contains(why), "{reason}");
    };
    lost(&boot, "booted");
    lost(&session, "session has ended");
    assert_eq!(of(&elsewhere), None);
    assert_eq!(of(&unbegun).unwrap().0, "queued");
    seen(&place, || (row(&place, &unbegun).status == "running").then_some(()));
    assert_eq!(row(&place, &unbegun).attempt, 1);
    assert_eq!(row(&place, &elsewhere).status, "running");
    // A row of an earlier version matches by name.
    set(&format!("host = '{}', host_id = NULL", fairway_core::os::host::identity().name), &elsewhere);
    fs::write(place.dir.join("go"), "").unwrap();
    place.run(["exec", "wait", &elsewhere]);
    place.wait_all_final("four runs");
    place.wait_no_processes("four runs");
}

#[test]
fn noted_end_is_final_and_nothing_reruns() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let run = left(&place, &[]);
    // As a supervisor would have noted it before it died.
    fs::write(place.dir.join(".fairway/runs").join(&run).join("ended"), "failed\n7\n\n").unwrap();
    let report = place.json(["session", "reconcile"]);
    assert_eq!(report["runs_recovered"][0]["status"], "failed", "{report:#}");
    let polled = place.json(["exec", "poll", &run]);
    assert_eq!((polled["status"].as_str(), polled["exit_code"].as_i64()), (Some("failed"), Some(7)), "{polled:#}");
    assert_eq!(place.count("ran", "began"), 1);
    place.wait_no_processes("a noted end");
}

#[test]
fn recovery_kills_only_leftovers_of_the_job() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let text = "setsid sh -c 'trap \"\" TERM; echo $$ >>pids; sleep 100; :' & env -i sh -c 'echo $$ >>pids; sleep 101; :' & \
                echo $$ >>pids; sleep 102; :";
    let run = place.spawn(["--recovery", "lost", "--shell", text]);
    let pids = seen(&place, || {
        let text = fs::read_to_string(place.dir.join("pids")).unwrap_or_default();
        let pids: Vec<ProcessKey> = text.lines().filter_map(|pid| ProcessKey::of(pid.parse().ok()?)).collect();
        (pids.len() == 3).then_some(pids)
    });
    let mut bystander = world.command("sleep").arg("103").process_group(0).spawn().unwrap();
    kill_supervisor(&place, &run);
    place.run(["session", "reconcile"]).exits(0);
    for key in pids {
        assert!(ProcessKey::of(key.pid).is_none_or(|found| found != key), "{key:?} is there still");
    }
    assert!(bystander.try_wait().unwrap().is_none());
    bystander.kill().unwrap();
    bystander.wait().unwrap();
    let why = row(&place, &run).error.unwrap();
    assert!(why.contains("killed its remaining processes") && why.contains("sleep"), "{why}");
    place.wait_no_processes("leftovers");
}

#[test]
fn wait_recovers_unsupervised_jobs() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let run = left(&place, &["--recovery", "lost"]);
    let found = place.run(["exec", "wait", &run, "--json"]);
    assert!(found.stdout.contains("\"lost\""), "{found:?}");
    place.wait_no_processes("a wait");
}

#[test]
fn wait_notices_a_supervisor_that_died_unregistered() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let run = left(&place, &["--recovery", "lost"]);
    // As it stands from its being taken, by us, until its supervisor has written itself down: that one has the lock.
    let own = ProcessKey::of(i32::try_from(std::process::id()).unwrap()).unwrap();
    let set = "UPDATE exec_runs SET status = 'starting', supervisor_pid = ?2, supervisor_started = ?3 WHERE id = ?1";
    let folder = place.dir.join(".fairway/runs").join(&run);
    // A killed process is gone from the list a moment before the kernel has closed its files.
    let hold = seen(&place, || InheritableLock::try_acquire(&folder.join("lock")).unwrap());
    let started = i64::try_from(own.started).unwrap();
    assert_eq!(place.store().execute(set, (&run, own.pid, started)).unwrap(), 1);
    let mut waits = place.fairway(["exec", "wait", &run]).stdout(std::process::Stdio::null()).spawn().unwrap();
    let asleep = || {
        let call = fs::read_to_string(format!("/proc/{}/syscall", waits.id())).ok()?;
        (call.starts_with("7 ") && fs::read_dir(folder.join("wake")).ok()?.next().is_some()).then_some(())
    };
    seen(&place, asleep);
    drop(hold);
    let ended = poll_until::poll_until(WAIT_TIMEOUT, Duration::from_millis(10), || waits.try_wait().unwrap());
    let _ = waits.kill();
    assert_eq!(ended.and_then(|status| status.code()), Some(7), "{:#?}", place.rows());
    assert_eq!(row(&place, &run).status, "lost");
    place.wait_no_processes("a wait");
}

#[test]
fn unrecoverable_job_is_reported_once_and_blocks_nothing() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let run = left(&place, &["--queue", ""]);
    let lock = place.dir.join(".fairway/runs").join(&run).join("lock");
    fs::remove_file(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    let worker = place.fairway(["exec", "worker", "--json"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let is_there =
        || InheritableLock::is_locked(&place.dir.join(".fairway/runtime/exec-worker.lock")).unwrap().then_some(());
    seen(&place, is_there);
    for _ in 0..3 {
        // Each wakes the worker.
        let other = place.spawn(["--queue", "", "--", "true"]);
        place.run(["exec", "wait", &other]).exits(0);
    }
    let pid = nix::unistd::Pid::from_raw(i32::try_from(worker.id()).unwrap());
    nix::sys::signal::kill(pid, Signal::SIGTERM).unwrap();
    let done = crate::common::test_project::CommandOutput::from(worker.wait_with_output().unwrap()).exits(0).json();
    let told = done["runs_recovered"].as_array().unwrap();
    assert_eq!((told.len(), &told[0]["run_id"], &told[0]["status"]), (1, &run.into(), &"running".into()), "{done:#}");
    assert!(told[0]["reason"].as_str().unwrap().contains("recovery failed: cannot lock"), "{done:#}");
    fs::remove_dir(&lock).unwrap();
    fs::write(place.dir.join("go"), "").unwrap();
    place.run(["session", "reconcile"]).exits(0);
    place.wait_all_final("an unsettled run");
    place.wait_no_processes("an unsettled run");
}

#[test]
fn restored_store_starts_no_job_that_may_have_run() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let text = "echo began >>ran; while [ ! -e go ]; do sleep 0.02; done";
    let run = place.spawn(["--notify", "a", "--shell", text]);
    let next = place.spawn(["--notify", "a", "--shell", "echo next >>ran"]);
    seen(&place, || (place.count("ran", "began") == 1).then_some(()));
    place.run(["backup", "copy.db"]).exits(0);
    fs::write(place.dir.join("go"), "").unwrap();
    place.wait_all_final("before the restore");
    place.wait_no_processes("before the restore");
    let restored = place.run(["restore", "copy.db"]).exits(0);
    assert!(restored.stderr.contains("marked 1 job lost, active in the backup"), "{restored:?}");
    // Its folder still knows how it ended.
    assert_eq!(row(&place, &run).status, "succeeded");
    place.run(["session", "reconcile"]).exits(0);
    // A queued one of the backup that has run since is not run again either.
    place.spawn(["--notify", "a", "--", "true"]);
    let rows = place.wait_all_final("after the restore");
    assert_eq!(rows.iter().find(|row| row.id == next).unwrap().status, "succeeded", "{rows:#?}");
    assert_eq!((place.count("ran", "began"), place.count("ran", "next")), (1, 1));
    place.wait_no_processes("after the restore");
}

#[test]
fn job_of_a_container_that_is_gone_is_given_up_by_hand_and_its_queue_goes_on() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let run = begun(&place, &["--queue", "q"]);
    let spawned = place.run(["exec", "spawn", "--quiet", "--queue", "q", "--", "true"]).exits(0);
    assert_eq!(spawned.stderr, "", "its queue goes on by itself");
    let next = spawned.stdout.trim().to_owned();
    // First: the job that waits in the queue would have this host's job recovered.
    let set = "UPDATE exec_runs SET host = 'elsewhere/1', host_id = 'elsewhere/1' WHERE id = ?1";
    place.store().execute(set, [&run]).unwrap();
    kill_supervisor(&place, &run);
    // While its host is heard of, no hint says so, and it takes a reason.
    let refused = place.run(["exec", "kill", &run, "--json"]).refuses(4, "run_unsupervised");
    assert!(!refused.error()["hint"].as_str().unwrap().contains("--force"), "{refused:?}");
    let refused = place.run(["exec", "rm", "--force", &run, "--json"]).refuses(4, "host_alive");
    let hint = refused.error()["hint"].as_str().unwrap().to_owned();
    assert!(hint.ends_with(&format!("all the same: fairway exec rm --force --reason TEXT {run}")), "{hint}");
    place.store().execute("UPDATE exec_runs SET updated_at = 1 WHERE id = ?1", [&run]).unwrap();
    let refused = place.run(["exec", "kill", &run, "--json"]).refuses(4, "run_unsupervised");
    assert!(refused.error()["hint"].as_str().unwrap().contains("fairway exec rm --force"), "{refused:?}");
    place.run(["session", "reconcile"]).exits(0);
    place.run(["exec", "rm", &run, "--json"]).refuses(4, "in_use");
    assert_eq!(row(&place, &next).status, "queued");
    let behind = place.run(["exec", "spawn", "--queue", "q", "--", "true"]).exits(0);
    assert!(behind.stderr.contains("the queue 'q' stands still: job"), "{behind:?}");
    let short: String = run.chars().skip(run.len() - 8).collect();
    assert!(behind.stderr.contains(&format!("fairway exec rm --force {short}")), "{behind:?}");
    place.run(["exec", "rm", "--force", &run]).exits(0);
    place.run(["exec", "wait", &next]).exits(0);
    assert_eq!(row(&place, &next).status, "succeeded");
    assert!(place.rows().iter().all(|row| row.id != run));
    // Nothing of this host is given up, and nothing that somebody looks after.
    let own = begun(&place, &["--queue", "q"]);
    place.run(["exec", "rm", "--force", &own, "--json"]).refuses(4, "in_use");
    place.store().execute(set, [&own]).unwrap();
    place.run(["exec", "rm", "--force", &own, "--json"]).refuses(4, "in_use");
    fs::write(place.dir.join("go"), "").unwrap();
    seen(&place, || row(&place, &own).is_final().then_some(()));
}
