//! Supervisors, and whoever stands by, die at moments that nobody chose: twenty runs of both policies, in one queue and in
//! none, and reconcile after. What is said in the end is what happened.

use std::time::Duration;
use std::{fs, thread};

use nix::sys::signal::Signal;

use super::job_project::{JobProject, Row};
use crate::common::TestProject;

/// Chances that can be had again: the seed is printed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// How many processes are killed: fewer than it takes to lose every job, three times each that is queued again.
const KILLS: i32 = 25;

/// The command of a run, in a file of its own: it says that it began, and that it came to its end. It waits until all are
/// killed that will be.
fn work(number: u64) -> String {
    format!("echo began >>ran-{number}; echo out; while [ ! -e go ]; do sleep 0.05; done; echo ended >>ran-{number}")
}

fn check(place: &JobProject<'_>, number: usize, row: &Row) {
    let file = format!("ran-{number}");
    let (began, ended) = (place.count(&file, "began"), place.count(&file, "ended"));
    let about = format!("{row:?} began {began} times and came to its end {ended} times");
    match (&*row.recovery, &*row.status) {
        ("lost", "succeeded") => assert_eq!((began, ended), (1, 1), "{about}"),
        ("lost", "lost") => assert!(began <= 1, "{about}"),
        ("requeue", "succeeded") => assert!(began >= 1 && ended >= 1 && began <= row.attempt, "{about}"),
        ("requeue", "lost") => assert!(row.attempt == 3 && began <= 3, "{about}"),
        // The kill met the held process, before the command was its program.
        (_, "failed") => {
            assert_eq!((began, ended), (0, 0), "{about}");
            assert!(row.error.as_deref().is_some_and(|error| error.starts_with("it cannot be started")), "{about}");
        }
        _ => panic!("{about}"),
    }
    assert!(row.error.is_some() == (row.status != "succeeded"), "{about}");
}

#[test]
fn killed_supervisors_and_waiters_leave_true_records() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let seed: u64 = std::env::var("FAIRWAY_SEED").map_or(std::process::id().into(), |text| text.parse().unwrap());
    println!("FAIRWAY_SEED={seed}");
    let mut dice = Dice(seed);

    let mut runs = Vec::new();
    for number in 0..20_u64 {
        let policy = ["lost", "requeue"][usize::try_from(number % 2).unwrap()];
        let queue = if number % 4 < 2 { "" } else { "q" };
        let text = work(number);
        runs.push(place.spawn(["--recovery", policy, "--queue", queue, "--shell", &text]));
    }
    let (mut killed, mut reconciled) = (0, 0);
    while killed < KILLS {
        thread::sleep(Duration::from_millis(dice.below(60)));
        let there = place.processes();
        if !there.is_empty() {
            let one = &there[usize::try_from(dice.below(there.len() as u64)).unwrap()];
            killed += i32::from(one.signal(Signal::SIGKILL).is_ok());
        }
        if dice.below(3) == 0 {
            place.run(["session", "reconcile"]).exits(0);
            reconciled += 1;
        }
    }
    fs::write(place.dir.join("go"), "").unwrap();
    let done =
        fairway_core::os::poll_until::poll_until(super::job_project::WAIT_TIMEOUT, Duration::from_millis(100), || {
            place.run(["session", "reconcile"]).exits(0);
            place.rows().iter().all(Row::is_final).then_some(())
        });
    assert!(done.is_some(), "never final: {:#?}", place.rows());
    place.wait_no_processes("after the crashes");
    place.assert_stores_valid();
    let rows = place.rows();
    assert_eq!(rows.iter().map(|row| &row.id).collect::<Vec<_>>(), runs.iter().collect::<Vec<_>>());
    for (number, row) in rows.iter().enumerate() {
        check(&place, number, row);
        let start = place.dir.join(".fairway/runs").join(&row.id).join("start");
        assert!(!start.exists(), "its environment is still there: {row:?}");
    }
    let of = |status: &str| rows.iter().filter(|row| row.status == status).count();
    println!("{killed} killed, {reconciled} reconciled: {} succeeded, {} lost", of("succeeded"), of("lost"));
    assert!(of("succeeded") > 0 && rows.iter().any(|row| row.attempt > 1 || row.status == "lost"));
}

#[test]
fn state_after_a_kill_is_true_and_reads_run_nothing() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    for policy in ["lost", "requeue"] {
        let file = format!("ran-{policy}");
        let text = format!(
            "echo began >>{file}; setsid sh -c 'trap \"\" TERM; sleep 60' & while [ ! -e go ]; do sleep 0.02; done"
        );
        let run = place.spawn(["--recovery", policy, "--shell", &text]);
        let began = |count| {
            let seen = fairway_core::os::poll_until::poll_until(
                super::job_project::WAIT_TIMEOUT,
                Duration::from_millis(20),
                || (place.count(&file, "began") == count).then_some(()),
            );
            assert!(seen.is_some(), "{policy}: {:?}", place.rows());
        };
        began(1);
        place.supervisor(&run).unwrap().signal(Signal::SIGKILL).unwrap();
        let seen = fairway_core::os::poll_until::poll_until(
            super::job_project::WAIT_TIMEOUT,
            Duration::from_millis(10),
            || (place.json(["exec", "poll", &run])["supervised"] == false).then_some(()),
        );
        assert!(seen.is_some(), "{policy}: {:?}", place.rows());
        let before = place.rows();
        place.json(["exec", "list"]);
        place.json(["exec", "log", &run]);
        assert_eq!((place.rows(), place.count(&file, "began")), (before, 1), "{policy}: a look has changed something");

        let report = place.json(["session", "reconcile", "--dry-run"]);
        assert_eq!(report["runs_recovered"].as_array().unwrap().len(), 1, "{report:#}");
        assert_eq!(
            place.json(["exec", "poll", &run])["supervised"],
            false,
            "{policy}: a dry run has changed something"
        );
        let line = place.run(["session", "reconcile"]).exits(0).stdout;
        assert!(line.contains(" sessions, recovered 1 job"), "{line}");
        if policy == "lost" {
            let row = place.rows().pop().unwrap();
            assert_eq!((&*row.status, place.count(&file, "began")), ("lost", 1), "{row:?}");
            assert_eq!(JobProject::job_processes(&run), Vec::new(), "leftovers");
        } else {
            began(2);
            fs::write(place.dir.join("go"), "").unwrap();
            let row = place.wait_all_final(policy).pop().unwrap();
            assert_eq!((&*row.status, row.attempt, place.count(&file, "began")), ("succeeded", 2, 2), "{row:?}");
            let items = place.json(["exec", "log", &run, "--stream", "event"]);
            let seam = |item: &&serde_json::Value| item["meta"]["event"] == "requeued" && item["meta"]["attempt"] == 2;
            assert!(items["items"].as_array().unwrap().iter().any(|item| seam(&item)), "{items:#}");
        }
    }
    place.wait_no_processes("after both");
}
