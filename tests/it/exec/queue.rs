//! In which order runs begin, how many go on at once, and who begins the next one.

use std::fs;
use std::time::Duration;

use fairway_core::os::poll_until;
use fairway_core::os::process::ProcessKey;
use nix::sys::signal::Signal;

use super::job_project::{JobProject, WAIT_TIMEOUT};
use crate::common::{TestProject, soak};

/// Waits for a fact.
#[track_caller]
fn seen<T>(place: &JobProject<'_>, ask: impl FnMut() -> Option<T>) -> T {
    let found = poll_until::poll_until(WAIT_TIMEOUT, Duration::from_millis(10), ask);
    found.unwrap_or_else(|| panic!("never seen: {:#?}, {:?}", place.rows(), place.processes()))
}

fn statuses(place: &JobProject<'_>) -> Vec<String> {
    place.rows().into_iter().map(|row| row.status).collect()
}

/// The process that waits for queued runs.
fn queue_waiter(place: &JobProject<'_>) -> Option<ProcessKey> {
    let is_it = |key: &ProcessKey| {
        let words = fs::read_to_string(format!("/proc/{}/cmdline", key.pid)).unwrap_or_default();
        words.contains("worker\0--until-empty")
    };
    place.processes().into_iter().find(is_it)
}

#[test]
fn jobs_of_one_queue_run_in_order() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let count = 30;
    for number in 0..count {
        // Whoever finds another one at work says so.
        let text = format!("mkdir busy || echo two >>trouble; echo {number} >>order; rmdir busy");
        place.spawn(["--notify", "a", "--shell", &text]);
    }
    let rows = place.wait_all_final("a queue");
    assert!(rows.iter().all(|row| row.status == "succeeded"), "{rows:#?}");
    let order: Vec<i32> =
        fs::read_to_string(place.dir.join("order")).unwrap().lines().map(|n| n.parse().unwrap()).collect();
    assert_eq!(order, (0..count).collect::<Vec<_>>());
    assert!(!place.dir.join("trouble").exists());
    place.wait_no_processes("a queue");
}

#[test]
fn queues_run_in_parallel() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let hold = "while [ ! -e go ]; do sleep 0.02; done";
    place.spawn(["--notify", "a", "--shell", hold]);
    place.spawn(["--notify", "a", "--shell", "true"]);
    place.spawn(["--notify", "b", "--shell", hold]);
    place.spawn(["--notify", "a", "--queue", "", "--shell", hold]);
    place.spawn(["--notify", "c", "--queue", "a", "--shell", "true"]);
    place.spawn(["--shell", hold]);
    let want = ["running", "queued", "running", "running", "queued", "running"];
    seen(&place, || (statuses(&place) == want).then_some(()));
    fs::write(place.dir.join("go"), "").unwrap();
    assert!(place.wait_all_final("queues").iter().all(|row| row.status == "succeeded"));
    place.wait_no_processes("queues");
}

#[test]
fn parallel_limit_is_kept() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    fs::write(place.dir.join(".fairway.toml"), "[exec]\nparallel = 2\n").unwrap();
    for _ in 0..6 {
        let text = "while [ ! -e go ]; do sleep 0.02; done; \
                    ls -d at-* 2>/dev/null | wc -l >>most; mkdir at-$$; sleep 0.05; rmdir at-$$";
        place.spawn(["--shell", text]);
    }
    let want = ["running", "running", "queued", "queued", "queued", "queued"];
    seen(&place, || (statuses(&place) == want).then_some(()));
    fs::write(place.dir.join("go"), "").unwrap();
    assert!(place.wait_all_final("a limit").iter().all(|row| row.status == "succeeded"));
    let most = fs::read_to_string(place.dir.join("most")).unwrap();
    assert!(most.lines().all(|line| line.trim().parse::<i32>().unwrap() <= 1), "{most}");
    place.wait_no_processes("a limit");
}

#[test]
fn next_job_starts_after_a_supervisor_is_killed() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let first = place.spawn(["--notify", "a", "--recovery", "lost", "--shell", "echo on >>ran; sleep 100"]);
    place.spawn(["--notify", "a", "--shell", "echo next >>ran"]);
    seen(&place, || (place.count("ran", "on") == 1).then_some(()));
    let waits = seen(&place, || queue_waiter(&place));
    // It sleeps: no tick of its time passes, whatever else is done in the project.
    let ticks = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", waits.pid)).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        let wakes = fs::read_to_string(format!("/proc/{}/status", waits.pid)).unwrap();
        let wakes = wakes.lines().find(|line| line.starts_with("voluntary")).unwrap().to_owned();
        (fields[11].to_owned(), fields[12].to_owned(), wakes)
    };
    seen(&place, || {
        fs::read_to_string(format!("/proc/{}/syscall", waits.pid)).ok().filter(|text| text.starts_with("7 "))
    });
    let before = ticks();
    place.run(["task", "add", "something else"]).exits(0);
    if soak::is_on() {
        assert_eq!(ticks(), before);
    }
    place.supervisor(&first).unwrap().signal(Signal::SIGKILL).unwrap();
    let rows = place.wait_all_final("a killed supervisor");
    assert_eq!((&*rows[0].status, &*rows[1].status), ("lost", "succeeded"), "{rows:#?}");
    assert_eq!(place.count("ran", "next"), 1);
    place.wait_no_processes("a killed supervisor");
}

#[test]
fn next_job_starts_after_the_waiter_is_killed() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    place.spawn(["--notify", "a", "--shell", "while [ ! -e go ]; do sleep 0.02; done"]);
    for _ in 0..3 {
        place.spawn(["--notify", "a", "--shell", "true"]);
    }
    seen(&place, || queue_waiter(&place)).signal(Signal::SIGKILL).unwrap();
    fs::write(place.dir.join("go"), "").unwrap();
    assert!(place.wait_all_final("no standby").iter().all(|row| row.status == "succeeded"));
    place.wait_no_processes("no standby");
}

#[test]
fn wait_for_a_queued_job_starts_it() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let hold = place.spawn(["--notify", "a", "--recovery", "lost", "--", "sleep", "100"]);
    let next = place.spawn(["--notify", "a", "--", "true"]);
    seen(&place, || (statuses(&place)[0] == "running").then_some(()));
    // First the one who would notice, then the one that is waited for: nobody is left.
    seen(&place, || queue_waiter(&place)).signal(Signal::SIGKILL).unwrap();
    seen(&place, || queue_waiter(&place).is_none().then_some(()));
    place.supervisor(&hold).unwrap().signal(Signal::SIGKILL).unwrap();
    seen(&place, || place.supervisor(&hold).is_none().then_some(()));
    place.run(["exec", "wait", &next, "--timeout", "30s"]).exits(0);
    assert_eq!(statuses(&place), ["lost", "succeeded"]);
    place.wait_no_processes("a wait");
}

#[test]
fn second_worker_waits_until_the_first_ends() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let worker = place.fairway(["exec", "worker", "--json"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let pid = i32::try_from(worker.id()).unwrap();
    let lock = place.dir.join(".fairway/runtime/exec-worker.lock");
    seen(&place, || fairway_core::os::lock::InheritableLock::is_locked(&lock).unwrap().then_some(()));
    assert_eq!(place.json(["exec", "worker", "--until-empty"])["busy"], true, "it is not needed");
    // A service waits for its turn.
    let second = place.fairway(["exec", "worker", "--json"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let service = i32::try_from(second.id()).unwrap();
    let first = place.spawn(["--notify", "a", "--recovery", "lost", "--", "sleep", "100"]);
    place.spawn(["--notify", "a", "--", "true"]);
    seen(&place, || (statuses(&place)[0] == "running").then_some(()));
    assert!(queue_waiter(&place).is_none(), "the worker waits already");
    place.supervisor(&first).unwrap().signal(Signal::SIGKILL).unwrap();
    let rows = place.wait_all_final("a worker");
    assert_eq!((&*rows[0].status, &*rows[1].status), ("lost", "succeeded"), "{rows:#?}");
    ProcessKey::of(pid).unwrap().signal(Signal::SIGTERM).unwrap();
    let done = crate::common::test_project::CommandOutput::from(worker.wait_with_output().unwrap()).exits(0).json();
    assert_eq!((done["busy"].as_bool(), done["begun"].as_u64()), (Some(false), Some(1)), "{done:#}");
    assert_eq!(done["runs_recovered"][0]["run_id"], first.as_str());
    seen(&place, || fairway_core::os::lock::InheritableLock::is_locked(&lock).unwrap().then_some(()));
    ProcessKey::of(service).unwrap().signal(Signal::SIGTERM).unwrap();
    let done = crate::common::test_project::CommandOutput::from(second.wait_with_output().unwrap()).exits(0).json();
    assert_eq!(done["busy"], false, "it had its turn: {done:#}");
    place.wait_no_processes("a worker");
}

#[test]
fn queued_job_without_its_start_file_is_lost() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let hold = place.spawn(["--notify", "a", "--shell", "while [ ! -e go ]; do sleep 0.02; done"]);
    let [next, other] = [(); 2].map(|()| place.spawn(["--notify", "a", "--", "true"]));
    seen(&place, || (statuses(&place)[0] == "running").then_some(()));
    // The file that it starts with is gone: it may have run, or never will.
    let start = |run: &str| place.dir.join(".fairway/runs").join(run).join("start");
    fs::remove_file(start(&next)).unwrap();
    fs::remove_file(start(&other)).unwrap();
    fs::create_dir(start(&other)).unwrap();
    fs::write(place.dir.join("go"), "").unwrap();
    let rows = place.wait_all_final("a run without its start");
    assert_eq!((&rows[0].id, &*rows[0].status, &*rows[1].status), (&hold, "succeeded", "lost"), "{rows:#?}");
    assert!(rows[1].error.as_deref().unwrap().contains("start file is missing"), "{rows:#?}");
    let why = rows[2].error.as_deref().unwrap();
    assert!(rows[2].status == "lost" && why.contains("cannot read its start file: Is a directory"), "{rows:#?}");
    place.wait_no_processes("a run without its start");
}

#[test]
fn job_whose_supervisors_die_is_not_retried_forever() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    place.spawn(["--notify", "a", "--shell", "while [ ! -e go ]; do sleep 0.02; done"]);
    let next = place.spawn(["--notify", "a", "--shell", "echo ran >>ran"]);
    seen(&place, || (statuses(&place)[0] == "running").then_some(()));
    // A process that can be woken has read the settings; a new one cannot.
    seen(&place, || {
        let own = format!("{}-", queue_waiter(&place)?.pid);
        let waiting = fs::read_dir(place.dir.join(".fairway/runtime/wake-exec")).ok()?;
        waiting.flatten().any(|one| one.file_name().to_string_lossy().starts_with(&own)).then_some(())
    });
    fs::write(place.dir.join(".fairway.toml"), "[exec]\nnonsense = 1\n").unwrap();
    fs::write(place.dir.join("go"), "").unwrap();
    let rows = place.wait_all_final("dying supervisors");
    fs::write(place.dir.join(".fairway.toml"), "").unwrap();
    assert_eq!((&rows[1].id, &*rows[1].status, rows[1].attempt), (&next, "failed", 1), "{rows:#?}");
    assert!(rows[1].error.as_deref().unwrap().contains("3 times before the command started"), "{rows:#?}");
    assert_eq!(place.count("ran", "ran"), 0);
    place.wait_no_processes("dying supervisors");
}
