//! A process that dies or stops in the write queue blocks no other.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use fairway_core::env::Clock;
use fairway_core::os::{lock_queue, poll_until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::common::TestProject;
use crate::common::reexec::{part, part_dir, reexec};

const LONG: Duration = Duration::from_secs(600);

/// Takes the first place, or stands in the queue behind whoever has it, and stays.
fn stand(part: &str) {
    let file = part_dir().join("project/.fairway/fairway.db-turn");
    fs::write(part_dir().join(format!("{part}-comes")), "").unwrap();
    let turn = lock_queue::acquire(&file, LONG).unwrap();
    fs::write(part_dir().join(format!("{part}-stands")), "").unwrap();
    poll_until::poll_until(LONG, LONG, || None::<()>);
    drop(turn);
}

fn starts(world: &TestProject, test: &str, part: &str, sign: &str) -> Child {
    let child = reexec(world, test, part, world.dir()).stdout(Stdio::null()).spawn().unwrap();
    let sign = world.dir().join(format!("{part}-{sign}"));
    poll_until::poll_until(Duration::from_secs(30), Duration::from_millis(5), || sign.exists().then_some(())).unwrap();
    child
}

fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
}

/// How long a claim takes now.
fn claim(world: &TestProject) -> Duration {
    let start = Instant::now();
    world.run(["claim"]).exits(0);
    start.elapsed()
}

#[test]
fn killed_lock_holder_and_waiter_block_no_writer() {
    const NAME: &str = "storm::write_queue::killed_lock_holder_and_waiter_block_no_writer";
    if let Some(part) = part() {
        return stand(&part);
    }
    let world = TestProject::new();
    for _ in 0..2 {
        world.run(["task", "add", "to take"]).exits(0);
    }
    let mut holder = starts(&world, NAME, "holder", "stands");
    let mut waiter = starts(&world, NAME, "waiter", "comes");
    signal(&waiter, Signal::SIGKILL);
    waiter.wait().unwrap();
    signal(&holder, Signal::SIGKILL);
    holder.wait().unwrap();
    crate::common::soak::took(claim(&world), ..Duration::from_secs(2), "a claim");
    crate::common::soak::took(claim(&world), ..Duration::from_secs(2), "a claim");
}

#[test]
fn stopped_lock_holder_delays_writers_by_the_timeout() {
    const NAME: &str = "storm::write_queue::stopped_lock_holder_delays_writers_by_the_timeout";
    if let Some(part) = part() {
        return stand(&part);
    }
    let world = TestProject::new();
    world.run(["task", "add", "to take"]).exits(0);
    let mut holder = starts(&world, NAME, "holder", "stands");
    signal(&holder, Signal::SIGSTOP);
    let took = claim(&world);
    assert!(took >= Duration::from_secs(4), "{took:?}");
    crate::common::soak::took(took, ..Duration::from_secs(15), "the claim");
    signal(&holder, Signal::SIGKILL);
    holder.wait().unwrap();
}

/// A record's time says whether an offer or a lease of another is open: it may not be older than what the wait was for.
#[test]
fn write_that_waited_has_the_time_after_its_wait() {
    let world = TestProject::new();
    world.real_time();
    let path = world.root().join(".fairway/fairway.db-turn");
    world.run(["task", "add", "first"]).exits(0);
    let turn = lock_queue::acquire(&path, LONG).unwrap();
    let waiter = world.fairway(["task", "add", "second"]).stdout(Stdio::null()).spawn().unwrap();
    let inode = format!(":{}", fs::metadata(&path).unwrap().ino());
    let waits = || {
        let locks = fs::read_to_string("/proc/locks").unwrap();
        let mut waiting = locks.lines().filter(|lock| lock.contains("->"));
        waiting.any(|lock| lock.split_whitespace().any(|word| word.ends_with(&inode))).then_some(())
    };
    poll_until::poll_until(Duration::from_secs(30), Duration::from_millis(5), waits).expect("it waits");
    let freed = Clock::System.now();
    drop(turn);
    assert!(waiter.wait_with_output().unwrap().status.success());
    let store = rusqlite::Connection::open(world.store()).unwrap();
    let written: i64 = store.query_row("SELECT max(at) FROM events", [], |row| row.get(0)).unwrap();
    assert!(written >= freed.millis(), "{written} is before {}", freed.millis());
}
