//! Many runs at once, many that have finished, and what all of them cost while nothing happens.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};

use fairway_core::os::poll_until;
use fairway_core::os::process::ProcessKey;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::job_project::{JobProject, Row, WAIT_TIMEOUT};
use crate::common::TestProject;

const MANY: usize = 200;

#[test]
fn two_hundred_parallel_jobs_all_finish() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    // Whoever opens it to read waits for one who writes.
    let gate = place.dir.join("gate");
    mkfifo(&gate, Mode::S_IRWXU).unwrap();
    let runs: Vec<String> =
        (0..MANY).map(|number| place.spawn(["--queue", "", "--shell", &format!("cat gate; echo {number}")])).collect();
    let running = || place.rows().iter().filter(|row| row.status == "running").count() == MANY;
    let all = poll_until::poll_until(WAIT_TIMEOUT, Duration::from_millis(50), || running().then_some(()));
    assert!(all.is_some(), "{:#?}", place.rows());
    // Each of them, and not more: a supervisor, its shell, its cat.
    for run in [&runs[0], &runs[MANY / 2], &runs[MANY - 1]] {
        let there = poll_until::poll_until(WAIT_TIMEOUT, Duration::from_millis(20), || {
            (JobProject::job_processes(run).len() == 3).then_some(())
        });
        assert!(there.is_some(), "{:?}", JobProject::job_processes(run));
    }
    // Nobody can open it while nobody waits there; who comes late finds it open again.
    let ended = poll_until::poll_until(WAIT_TIMEOUT, Duration::from_millis(50), || {
        drop(OpenOptions::new().write(true).custom_flags(nix::libc::O_NONBLOCK).open(&gate));
        place.rows().iter().all(Row::is_final).then_some(())
    });
    assert!(ended.is_some(), "{:#?}", place.rows());
    let rows = place.wait_all_final("after the gate was opened");
    place.wait_no_processes("after the gate was opened");
    for (number, (row, run)) in rows.iter().zip(&runs).enumerate() {
        assert_eq!((&row.id, &*row.status), (run, "succeeded"), "{row:?}");
        if number % 20 == 0 {
            assert_eq!(place.log(run, "stdout"), format!("{number}\n"));
        }
    }
    place.assert_stores_valid();
}

#[test]
#[ignore = "it measures time; `just soak` runs it"]
fn poll_time_is_independent_of_finished_jobs() {
    let worlds = [TestProject::new(), TestProject::new()];
    let [few, many] = [0, 1].map(|number| JobProject::of_world(&worlds[number]));
    let [small, large] = [&few, &many].map(|place| {
        let run = place.spawn(["--shell", "echo done"]);
        place.wait_all_final("the first");
        run
    });
    let conn = many.store();
    conn.execute_batch(
        "BEGIN IMMEDIATE;
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
         INSERT INTO exec_runs (id, status, command, cwd, background, max_output_bytes, recovery, host, boot_id, exit_code,
             actor, queued_at, started_at, finished_at, updated_at)
         SELECT printf('01900000-0000-7000-8000-%012x', i), status, command, cwd, background, max_output_bytes, recovery,
             host, boot_id, exit_code, actor, queued_at, started_at, finished_at, updated_at FROM n, exec_runs r
         WHERE r.finished_at IS NOT NULL;
         INSERT INTO events (at, kind, run_id, actor, data)
         SELECT r.queued_at, k.kind, r.id, r.actor, '{}' FROM exec_runs r, (SELECT 'exec.queued' AS kind
             UNION ALL SELECT 'exec.started' UNION ALL SELECT 'exec.finished') k WHERE r.id LIKE '01900000-%';
         COMMIT;",
    )
    .unwrap();
    drop(conn);
    let mut spans = [Vec::new(), Vec::new()];
    for _ in 0..25 {
        for ((place, run), spans) in [(&few, &small), (&many, &large)].into_iter().zip(&mut spans) {
            let begun = Instant::now();
            place.run(["exec", "poll", run]).exits(0);
            spans.push(begun.elapsed());
        }
    }
    let [few_took, many_took] = spans.map(|mut spans| {
        spans.sort_unstable();
        spans[spans.len() / 2]
    });
    assert!(many_took < few_took * 2, "{many_took:?} with ten thousand, {few_took:?} with one");
}

/// The ticks of the processor that a process has used.
fn ticks(key: &ProcessKey) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", key.pid)).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
#[ignore = "it measures time; `just soak` runs it"]
fn idle_processes_use_no_cpu() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let runs: Vec<String> = (0..5).map(|_| place.spawn(["--queue", "", "--pty", "--", "sleep", "300"])).collect();
    let root = place.dir.to_str().unwrap();
    let mut children = vec![place.fairway(["--root", root, "exec", "worker"]).spawn().unwrap()];
    let waits =
        || fs::read_dir(place.dir.join(".fairway/runtime/wake-exec")).is_ok_and(|mut found| found.next().is_some());
    let worker = poll_until::poll_until(WAIT_TIMEOUT, Duration::from_millis(20), || waits().then_some(()));
    assert!(worker.is_some(), "the worker has come up");
    // Two in one queue: the second waits for its turn.
    let queued: Vec<String> =
        (0..2).map(|_| place.spawn(["--queue", "q", "--watch", "x=y", "--", "sleep", "300"])).collect();
    let running = || place.rows().iter().filter(|row| row.status == "running").count() == 6;
    let all = poll_until::poll_until(WAIT_TIMEOUT, Duration::from_millis(20), || running().then_some(()));
    assert!(all.is_some(), "{:#?}", place.rows());
    children.extend(
        [
            ["--root", root, "exec", "wait", &runs[0]].as_slice(),
            &["--root", root, "exec", "poll", &runs[1], "--wait", "300s"],
            &["--root", root, "exec", "log", &runs[2], "--follow"],
        ]
        .into_iter()
        .map(|words| place.fairway(words.iter().copied()).spawn().unwrap()),
    );
    // Six supervisors, and those four.
    let all = poll_until::poll_until(WAIT_TIMEOUT, Duration::from_millis(20), || {
        (place.processes().len() == 10).then_some(())
    });
    assert!(all.is_some(), "{:?}", place.processes());
    let there = place.processes();
    let all = || there.iter().map(ticks).collect::<Vec<_>>();
    // The work at the start is no idleness: it is over once a second passes without a tick.
    let mut last = Vec::new();
    let is_calm = || {
        std::thread::sleep(Duration::from_secs(1));
        let now = all();
        (std::mem::replace(&mut last, now.clone()) == now).then_some(())
    };
    assert!(poll_until::poll_until(WAIT_TIMEOUT, Duration::ZERO, is_calm).is_some(), "never idle: {there:?}");
    let before = all();
    std::thread::sleep(Duration::from_secs(if crate::common::soak::is_on() { 60 } else { 5 }));
    for ((key, before), after) in there.iter().zip(before).zip(all()) {
        let words = fs::read_to_string(format!("/proc/{}/cmdline", key.pid)).unwrap_or_default().replace('\0', " ");
        assert_eq!(after - before, 0, "ticks of one of {} processes, {words}", there.len());
    }

    for run in queued.iter().rev().chain(&runs) {
        place.run(["exec", "kill", run, "--grace", "1s"]).exits(0);
    }
    for child in &mut children[1..] {
        child.wait().unwrap();
    }
    children[0].kill().unwrap();
    children[0].wait().unwrap();
    place.wait_no_processes("after all were ended");
}
