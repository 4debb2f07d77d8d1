//! Reading what runs print, from outside: who waits is woken, and every item is read once.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use fairway_core::os::poll_until;
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use serde_json::{Value, json};

use super::job_project::{JobProject, WAIT_TIMEOUT};
use crate::common::TestProject;

/// A run that goes on a step each time it is told to.
struct Steps<'a> {
    place: JobProject<'a>,
    fifo: PathBuf,
    run: String,
}

impl<'a> Steps<'a> {
    /// Starts a script in which `step` waits.
    fn of(world: &'a TestProject, flags: &[&str], script: &str) -> Self {
        let place = JobProject::of_world(world);
        let fifo = place.dir.join("steps");
        nix::unistd::mkfifo(&fifo, Mode::S_IRWXU).unwrap();
        let text = format!("exec 9<>steps; step() {{ read -r _ <&9; }}; {script}");
        let words = flags.iter().copied().chain(["--shell", &text]);
        let run = place.spawn(words);
        let steps = Self { place, fifo, run };
        let begun = poll_until::poll_until(WAIT_TIMEOUT, Duration::from_millis(20), || {
            (document(steps.poll(&[]).output().unwrap())["status"] == "running").then_some(())
        });
        assert!(begun.is_some(), "it never began");
        steps
    }

    fn step(&self) {
        fs::write(&self.fifo, "\n").unwrap();
    }

    fn poll(&self, words: &[&str]) -> Command {
        let mut command = self.place.fairway(["exec", "poll", &self.run, "--json"]);
        command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// A poll that waits; returns when it does.
    fn waits(&self, words: &[&str]) -> Child {
        let known = self.sockets();
        let child = self.poll(words).args(["--wait", "60s"]).spawn().unwrap();
        let there =
            poll_until::poll_until(WAIT_TIMEOUT, Duration::from_millis(5), || (self.sockets() != known).then_some(()));
        assert!(there.is_some(), "nobody waits");
        child
    }

    /// The sockets of those who wait.
    fn sockets(&self) -> Vec<PathBuf> {
        let folder = self.place.dir.join(".fairway/runs").join(&self.run).join("wake");
        let mut found: Vec<_> = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
        found.sort();
        found
    }
}

#[track_caller]
fn document(output: Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn poll_wakes_only_for_its_condition() {
    let world = TestProject::new();
    let steps = Steps::of(&world, &["--watch", "^ready=up"], "step; echo one; step; echo ready >&2; step; exit 3");
    let start = Instant::now();
    let nothing = document(steps.poll(&["--wait", "300ms"]).output().unwrap());
    assert!(start.elapsed() >= Duration::from_millis(300));
    assert_eq!(
        (&nothing["items"], &nothing["next_seq"], &nothing["status"]),
        (&json!([]), &json!(0), &json!("running"))
    );

    let any = steps.waits(&[]);
    let exit = steps.waits(&["--until", "exit"]);
    let event = steps.waits(&["--until", "event"]);
    steps.step();
    let any = document(any.wait_with_output().unwrap());
    assert_eq!(any["items"][0]["payload"], "one\n", "{any:#}");
    assert_eq!((&any["next_seq"], &any["snippet"], &any["output_bytes"]), (&json!(1), &json!("one\n"), &json!(4)));

    let next = steps.waits(&["--since-seq", "1", "--until", "output"]);
    steps.step();
    let next = document(next.wait_with_output().unwrap());
    let first = &next["items"][0];
    assert_eq!((&first["seq"], &first["type"], &first["payload"]), (&json!(2), &json!("stderr"), &json!("ready\n")));
    let event = document(event.wait_with_output().unwrap());
    let noticed = event["items"].as_array().unwrap().iter().find(|item| item["type"] == "event").unwrap();
    assert_eq!((&noticed["meta"]["event"], noticed["seq"].as_i64().unwrap() > 2), (&json!("up"), true), "{event:#}");
    assert_eq!(event["snippet"], "one\nready\n");

    steps.step();
    let exit = document(exit.wait_with_output().unwrap());
    assert_eq!((&exit["status"], &exit["exit_code"]), (&json!("failed"), &json!(3)), "{exit:#}");
    // Said only of a run that nobody looks after.
    assert_eq!((exit.get("supervised"), event.get("supervised")), (None, None));
    // Everything is there when the end is.
    assert_eq!(exit["items"].as_array().unwrap().last().unwrap()["type"], "event");
    assert_eq!(steps.sockets(), Vec::<PathBuf>::new());
    // Nothing will come: nobody waits for it.
    let over = document(steps.poll(&["--wait", "60s", "--since-seq", "99"]).output().unwrap());
    assert_eq!((&over["items"], &over["next_seq"]), (&json!([]), &json!(99)));
    steps.place.wait_no_processes("after the polls");
}

#[test]
fn killed_reader_is_cleaned_up() {
    let world = TestProject::new();
    let steps = Steps::of(&world, &[], "step; echo one; step");
    let mut child = steps.waits(&[]);
    let other = steps.waits(&["--until", "exit"]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(steps.sockets().len(), 2);
    steps.step();
    let swept =
        poll_until::poll_until(WAIT_TIMEOUT, Duration::from_millis(5), || (steps.sockets().len() == 1).then_some(()));
    assert!(swept.is_some(), "{:?}", steps.sockets());
    steps.step();
    assert_eq!(document(other.wait_with_output().unwrap())["status"], "succeeded");
}

#[test]
fn supervisor_death_wakes_a_poll_without_recovery() {
    let world = TestProject::new();
    let steps = Steps::of(&world, &["--recovery", "lost"], "step");
    let exit = steps.waits(&["--until", "exit"]);
    let supervisor = steps.place.supervisor(&steps.run).unwrap();
    kill(nix::unistd::Pid::from_raw(supervisor.pid), Signal::SIGKILL).unwrap();
    let start = Instant::now();
    let seen = document(exit.wait_with_output().unwrap());
    assert!(start.elapsed() < WAIT_TIMEOUT);
    assert_eq!((&seen["status"], &seen["supervised"]), (&json!("running"), &json!(false)), "{seen:#}");
    assert_eq!(document(steps.poll(&[]).output().unwrap())["supervised"], false);
    // Whoever waits for its end sees to that.
    let waited = steps.place.run(["exec", "wait", &steps.run, "--json"]).exits(7);
    assert_eq!(waited.json()[0]["status"], "lost");
    steps.place.wait_no_processes("after the supervisor's death");
}

#[test]
fn log_is_filtered_before_it_is_cut_and_read_to_its_end() {
    let world = TestProject::new();
    let steps = Steps::of(&world, &[], "for i in 1 2 3 4 5; do step; echo o$i; step; echo e$i >&2; done");
    for seq in 0..10 {
        steps.step();
        // Each is read before the next is printed, so that each is an item.
        let polled = document(steps.poll(&["--wait", "60s", "--since-seq", &seq.to_string()]).output().unwrap());
        assert_eq!(polled["items"][0]["seq"], seq + 1, "{polled:#}");
    }
    let (run, place) = (steps.run.clone(), &steps.place);
    place.run(["exec", "wait", &run]).exits(0);
    let page = |since: i64, words: &[&str]| {
        let since = since.to_string();
        place.json(["exec", "log", &run, "--since-seq", &since].into_iter().chain(words.iter().copied()))
    };
    let (mut since, mut pages) = (0, Vec::new());
    loop {
        let page = page(since, &["--stream", "stderr", "--limit", "2"]);
        let items = page["items"].as_array().unwrap().clone();
        assert!(items.iter().all(|item| item["type"] == "stderr" && item["seq"].as_i64().unwrap() > since));
        since = page["next_seq"].as_i64().unwrap();
        assert_eq!(items.last().unwrap()["seq"], since);
        pages.push(items.iter().map(|item| item["payload"].as_str().unwrap()).collect::<String>());
        if page["has_more"] == false {
            break;
        }
    }
    assert_eq!(pages, ["e1\ne2\n", "e3\ne4\n", "e5\n"]);
    let all = page(0, &[]);
    let seqs: Vec<i64> = all["items"].as_array().unwrap().iter().map(|item| item["seq"].as_i64().unwrap()).collect();
    assert!(seqs.windows(2).all(|pair| pair[0] < pair[1]) && seqs[0] == 1, "{seqs:?}");
    let last = *seqs.last().unwrap();
    assert_eq!((page(last, &[])["items"].clone(), page(last, &[])["next_seq"].clone()), (json!([]), json!(last)));
    place.run(["exec", "log", &run, "--limit", "501", "--json"]).refuses(2, "invalid_value");
    place.run(["exec", "log", "0000", "--json"]).refuses(3, "not_found");
}

#[test]
fn follow_prints_lines_as_they_come_until_the_end() {
    use std::io::{BufRead, BufReader};
    let world = TestProject::new();
    let steps = Steps::of(&world, &[], "for i in 1 2 3; do step; echo line $i; done; step");
    let mut follower =
        steps.place.fairway(["exec", "log", &steps.run, "--follow"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    for number in 1..=3 {
        steps.step();
        // It comes while the program waits for the next step.
        assert_eq!(lines.next().unwrap().unwrap(), format!("line {number}"));
    }
    steps.step();
    assert!(lines.next().is_none());
    assert!(follower.wait().unwrap().success());
}

#[test]
fn wait_for_many_ends_with_the_last_or_the_timeout() {
    let world = TestProject::new();
    let steps = Steps::of(&world, &["--queue", ""], "step; echo done");
    let other = steps.place.spawn(["--queue", "", "--", "true"]);
    let (run, place) = (&steps.run, &steps.place);
    place.run(["exec", "wait", run, &other, "--timeout", "200ms", "--json"]).refuses(6, "nothing_arrived");
    let waits = place.fairway(["exec", "wait", run, &other, "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    steps.step();
    let waited = document(waits.wait_with_output().unwrap());
    let ended: Vec<&Value> = waited.as_array().unwrap().iter().map(|run| &run["status"]).collect();
    assert_eq!(ended, ["succeeded", "succeeded"]);
    assert_eq!((&waited[0]["run_id"], &waited[1]["run_id"]), (&json!(run), &json!(other)));
    let failed = place.spawn(["--", "false"]);
    place.run(["exec", "wait", &failed]).exits(7);
}
