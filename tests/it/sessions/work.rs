//! `fairway work` with agents of a script: places, deaths, a full review, parked providers, kills and two of them at once.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::process::Child;
use std::time::Duration;

use fairway_core::os::poll_until::poll_until;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::{EVENTUALLY_TIMEOUT, Sessions, eventually};

/// Does what the test writes into a file named as its task: `submit`, `commit`, `block` or `die`. Each word is read once.
const AGENT: &str = r#"#!/bin/sh
dir="${0%/*}/told"
while :; do
  word=
  if mv "${dir}/${FAIRWAY_TASK_ID}" "${dir}/read-${FAIRWAY_TASK_ID}" 2>/dev/null; then
    word=$(cat "${dir}/read-${FAIRWAY_TASK_ID}")
  fi
  case "${word}" in
    commit)
      echo work >"${FAIRWAY_TASK_ID}.txt"
      git add "${FAIRWAY_TASK_ID}.txt" && git commit --quiet -m "${FAIRWAY_TASK_ID}" || exit 1
      "${FAIRWAY_BIN}" task submit "${FAIRWAY_TASK_ID}" >/dev/null
      ;;
    submit) "${FAIRWAY_BIN}" task submit "${FAIRWAY_TASK_ID}" >/dev/null ;;
    block) "${FAIRWAY_BIN}" task block "${FAIRWAY_TASK_ID}" --reason 'needs a key' >/dev/null ;;
    die) exit 137 ;;
  esac
  sleep 0.05
done
"#;

fn world(config: &str, tasks: usize) -> Sessions {
    let mut world = Sessions::with_git();
    world.set("FAIRWAY_SESSIONS_DEFAULT_BACKEND", "shell");
    let agent = world.script("agent", AGENT).display().to_string();
    fs::create_dir(world.dir().join("told")).unwrap();
    let provider = format!("[providers.scripted]\ncommand = \"{agent}\"\n");
    world.configure(&format!("{provider}{config}\n[gates.done]\nrequire = []\n"));
    world.run(["trust", "--yes"]).exits(0);
    for number in 1..=tasks {
        world.run(["task", "add", &format!("Task {number}")]).exits(0);
    }
    world
}

/// A `work` in the background, and what it has said.
struct Work {
    child: Child,
    said: std::path::PathBuf,
}

impl Work {
    fn begin(world: &Sessions, name: &str, more: &[&str]) -> Self {
        let said = world.dir().join(name);
        let words = ["work", "--provider", "scripted", "--json"];
        let mut command = world.fairway(words.iter().chain(more));
        let child = command.stdout(File::create(&said).unwrap()).spawn().unwrap();
        Self { child, said }
    }

    fn events(&self) -> Vec<Value> {
        fs::read_to_string(&self.said).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Waits for an event of this kind with this text in its sentence.
    #[track_caller]
    fn says(&self, kind: &str, text: &str) {
        let is_it = |event: &Value| event["event"] == kind && event["text"].as_str().unwrap().contains(text);
        let found = poll_until(EVENTUALLY_TIMEOUT, Duration::from_millis(20), || {
            self.events().iter().find(|one| is_it(one)).cloned()
        });
        assert!(found.is_some(), "never: {kind} {text}: {:#?}", self.events());
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), signal).unwrap();
    }

    #[track_caller]
    fn ends(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

fn tell(world: &Sessions, task: &str, word: &str) {
    fs::write(world.dir().join("told.new"), word).unwrap();
    fs::rename(world.dir().join("told.new"), world.dir().join("told").join(task)).unwrap();
}

fn status(world: &Sessions, task: &str) -> String {
    world.rows(&format!("SELECT status FROM tasks WHERE id = '{task}'"))[0]["status"].clone()
}

fn approve(world: &Sessions, task: &str) {
    world.run(["done", task, "--force", "--reason", "reviewed"]).exits(0);
}

/// The tasks in progress.
fn at_work(world: &Sessions) -> BTreeSet<String> {
    world.rows("SELECT id FROM tasks WHERE status = 'in_progress'").into_iter().map(|row| row["id"].clone()).collect()
}

#[track_caller]
fn works_on(world: &Sessions, tasks: &[&str]) {
    let wanted: BTreeSet<String> = tasks.iter().map(|task| (*task).to_owned()).collect();
    eventually(&format!("{tasks:?} in progress"), || (at_work(world) == wanted).then_some(()));
}

#[test]
fn places_stay_full_through_deaths_a_blocked_task_and_a_full_review() {
    let world = world("[review]\ncapacity = 3", 9);
    let work = Work::begin(&world, "said", &["--agents", "3"]);
    works_on(&world, &["T-1", "T-2", "T-3"]);
    tell(&world, "T-1", "submit");
    work.says("freed", "T-1 submitted by T-1-scripted; its place is free");
    works_on(&world, &["T-2", "T-3", "T-4"]);
    // Two relaunches, then it is left, and its place is taken.
    for (session, number) in [("T-2-scripted-2", 1), ("T-2-scripted-3", 2)] {
        tell(&world, "T-2", "die");
        work.says("relaunched", &format!("relaunched as {session} ({number} of 2)"));
    }
    tell(&world, "T-2", "die");
    work.says("left", "T-2-scripted-3 died (its program ended with exit code 137) and is not relaunched");
    work.says("started", "T-5 started in lane T-5 (scripted)");
    tell(&world, "T-3", "block");
    work.says("freed", "T-3 blocked (needs a key)");
    works_on(&world, &["T-2", "T-4", "T-5", "T-6"]);
    // Three reviews are open: nothing starts, until a person has reviewed one.
    tell(&world, "T-4", "submit");
    eventually("T-7 has begun", || at_work(&world).contains("T-7").then_some(()));
    tell(&world, "T-5", "submit");
    work.says("waits", "the limit of 3 open reviews is reached");
    works_on(&world, &["T-2", "T-6", "T-7"]);
    approve(&world, "T-1");
    works_on(&world, &["T-2", "T-6", "T-7", "T-8"]);
    for task in ["T-6", "T-7", "T-8"] {
        tell(&world, task, "submit");
        eventually("it is submitted", || (status(&world, task) == "review").then_some(()));
    }
    for task in ["T-4", "T-5", "T-6"] {
        approve(&world, task);
    }
    works_on(&world, &["T-2", "T-9"]);
    tell(&world, "T-9", "submit");
    work.says("ended", "no task is ready and no agent works");
    let events = work.events();
    assert_eq!(work.ends(), Some(0));
    // Never more than the places, no task twice, and the board has the one that is left.
    assert!(events.iter().all(|event| event["taken"].as_i64().unwrap() <= 3), "{events:#?}");
    let started: Vec<&Value> =
        events.iter().filter(|event| event["event"] == "started").map(|event| &event["task_id"]).collect();
    assert_eq!(started, ["T-1", "T-2", "T-3", "T-4", "T-5", "T-6", "T-7", "T-8", "T-9"]);
    let needs = world.json(["status"])["needs_you"].clone();
    assert!(needs.as_array().unwrap().iter().any(|need| need["id"] == "dead:T-2-scripted-3"), "{needs}");
    // One for cron says why it does nothing, and a text that a person reads.
    let once = world.run(["work", "--once", "--provider", "scripted"]).exits(0).stdout;
    let lines: Vec<&str> = once.lines().collect();
    assert_eq!(lines[0], "work   2 places, 0 ready tasks; Ctrl-C stops starting, agents go on", "{once}");
    assert!(lines.last().unwrap().ends_with("  no task is ready and no agent works"), "{once}");
}

#[test]
fn two_share_the_places_and_the_next_one_goes_on_after_kills_and_interruptions() {
    let world = world("", 7);
    let first = Work::begin(&world, "first", &["--agents", "2"]);
    let second = Work::begin(&world, "second", &["--agents", "2"]);
    works_on(&world, &["T-1", "T-2"]);
    for task in ["T-1", "T-2"] {
        tell(&world, task, "submit");
    }
    works_on(&world, &["T-3", "T-4"]);
    eventually("both run", || {
        world.rows("SELECT id FROM agent_sessions WHERE status = 'starting'").is_empty().then_some(())
    });
    first.signal(Signal::SIGKILL);
    first.ends();
    tell(&world, "T-3", "submit");
    works_on(&world, &["T-4", "T-5"]);
    // The first Ctrl-C stops starting, the second leaves; the agents go on.
    second.signal(Signal::SIGINT);
    second.says("stopping", "nothing more starts, 2 agents at work");
    tell(&world, "T-4", "submit");
    second.says("freed", "T-4 submitted");
    second.signal(Signal::SIGINT);
    assert_eq!(second.ends(), None);
    works_on(&world, &["T-5"]);
    // The next one counts them.
    let third = Work::begin(&world, "third", &["--agents", "2"]);
    works_on(&world, &["T-5", "T-6"]);
    third.signal(Signal::SIGKILL);
    third.ends();
    // A kill between the claim and the program's start.
    let agent = world.dir().join("agent").display().to_string();
    world.configure(&format!(
        "[providers.scripted]\ncommand = \"{agent}\"\nready_delay_ms = 50000\n[gates.done]\nrequire = []\n"
    ));
    world.run(["trust", "--yes"]).exits(0);
    tell(&world, "T-5", "submit");
    let cut = Work::begin(&world, "cut", &["--agents", "2"]);
    eventually("T-7 is starting", || {
        world.rows("SELECT id FROM agent_sessions WHERE task_id = 'T-7' AND status = 'starting' AND pid IS NULL").pop()
    });
    cut.signal(Signal::SIGKILL);
    cut.ends();
    world.configure(&format!("[providers.scripted]\ncommand = \"{agent}\"\n[gates.done]\nrequire = []\n"));
    world.run(["trust", "--yes"]).exits(0);
    let last = Work::begin(&world, "last", &["--agents", "2"]);
    works_on(&world, &["T-6", "T-7"]);
    for task in ["T-6", "T-7"] {
        tell(&world, task, "submit");
    }
    last.says("ended", "no task is ready and no agent works");
    assert_eq!(last.ends(), Some(0));
    // Each task has one agent, also the one whose start was cut.
    let running = world.rows("SELECT task_id FROM agent_sessions WHERE status = 'running' ORDER BY task_id");
    let tasks: Vec<&str> = running.iter().map(|row| &*row["task_id"]).collect();
    assert_eq!(tasks, ["T-1", "T-2", "T-3", "T-4", "T-5", "T-6", "T-7"]);
}

#[test]
fn what_the_gates_allow_lands_and_what_depends_on_it_starts_then() {
    let world = world("[gates.merge]\nrequire = []", 1);
    for (key, value) in [("user.name", "Ann"), ("user.email", "ann@example.com")] {
        world.git(&world.root(), &["config", key, value]);
    }
    world.git(&world.root(), &["commit", "--quiet", "--all", "--message=configuration"]);
    world.run(["task", "add", "Task 2", "--depends-on", "T-1"]).exits(0);
    let work = Work::begin(&world, "said", &["--agents", "2", "--land"]);
    for task in ["T-1", "T-2"] {
        works_on(&world, &[task]);
        tell(&world, task, "commit");
        work.says("landed", &format!("{task} landed"));
    }
    work.says("ended", "no task is ready and no agent works");
    assert_eq!(work.ends(), Some(0));
    assert_eq!([status(&world, "T-1"), status(&world, "T-2")], ["done", "done"]);
}

#[test]
fn parked_provider_and_spent_budget_start_nothing_before_their_end() {
    let world = world("", 3);
    let start = |more: &[&str]| world.run(["start", "--provider", "scripted"].iter().chain(more));
    start(&["T-1"]).exits(0);
    let until = "2099-01-31T12:00:00Z";
    let parks = |why: &[&str]| world.run(["park", "T-1-scripted", "--until", until].iter().chain(why)).exits(0);
    // A person's own parking holds no other session, whatever the reason says.
    parks(&["--reason", "usage limit of scripted"]);
    start(&["T-2"]).exits(0);
    parks(&["--limit"]);
    let refused = start(&["T-3", "--json"]).refuses(4, "provider_parked").error();
    let message = refused["message"].as_str().unwrap();
    assert!(message.starts_with("T-3 does not start: scripted is parked until 2099-01-31 "), "{refused}");
    assert_eq!(refused["hint"], "start it all the same: fairway start T-3 --anyway");
    let new = start(&["Another task", "--json"]).refuses(4, "provider_parked").error();
    assert_eq!(new["hint"], "start it all the same: fairway start 'Another task' --anyway");
    let work = Work::begin(&world, "said", &["--agents", "3"]);
    work.says("waits", "(usage limit of scripted); 1 session parked");
    assert_eq!(at_work(&world), ["T-1".to_owned(), "T-2".to_owned()].into());
    // It goes on as soon as the parking ends.
    world.run(["unpark", "T-1-scripted"]).exits(0);
    work.says("started", "T-3 started");
    drop(work);
    world.run(["task", "add", "Task 4"]).exits(0);
    parks(&["--limit"]);
    start(&["T-4", "--anyway"]).exits(0);
    world.run(["unpark", "T-1-scripted"]).exits(0);
    // A task whose budget is spent waits for a person.
    world.run(["task", "add", "Task 5"]).exits(0);
    let agent = world.dir().join("agent").display().to_string();
    world.configure(&format!("[providers.scripted]\ncommand = \"{agent}\"\n[budgets]\ntask = \"100 tokens\"\n"));
    world.run(["trust", "--yes"]).exits(0);
    world.write_rows(
        "INSERT INTO usage_turns (run_id, session_id, role, task_id, at, digest, input_tokens) \
         SELECT run_id, id, role, 'T-5', started_at, 'x', 120 FROM agent_sessions WHERE id = 'T-1-scripted'",
    );
    start(&["T-5", "--json"]).refuses(4, "budget_spent");
    let work = Work::begin(&world, "budget", &["--agents", "6"]);
    work.says("waits", "T-5 does not start: T-5 has used 120 tokens of 100 tokens");
    world.run(["budget", "raise", "T-5", "1k tokens", "--reason", "nearly done"]).exits(0);
    work.says("started", "T-5 started");
    // So does a session that has died with it, as long as that takes.
    world.write_rows("UPDATE usage_turns SET input_tokens = 2000");
    tell(&world, "T-5", "die");
    work.says("waits", "T-5-scripted is not relaunched: T-5 has used 2000 tokens of 1000 tokens");
    world.run(["budget", "raise", "T-5", "5k tokens", "--reason", "nearly done"]).exits(0);
    work.says("relaunched", "T-5-scripted died");
    // No session has reported it.
    world.write_rows("DELETE FROM usage_turns");
}

#[test]
fn turn_that_shows_nothing_is_an_item_unless_a_job_of_it_runs() {
    let world = Sessions::new();
    world.configure("[agents]\nsilent_after = \"1ms\"\n");
    world.launch(&["--role", "dev", "--id", "s", "--", "cat"]);
    let items = || -> Vec<Value> {
        let board = world.json(["status"]);
        board["needs_you"].as_array().unwrap().iter().filter(|need| need["kind"] == "silent").cloned().collect()
    };
    assert_eq!(items(), Vec::<Value>::new());
    world.run(["session", "upsert", "--id", "s", "--activity", "busy"]).exits(0);
    let item = eventually("its turn is silent", || items().pop());
    assert_eq!((&item["id"], &item["session_id"]), (&"silent:s".into(), &"s".into()), "{item}");
    assert_eq!(item["commands"][0]["command"], "fairway session peek s");
    let spawned = world.run(["exec", "spawn", "--quiet", "--session", "s", "--", "sleep", "600"]).exits(0).stdout;
    assert_eq!(items(), Vec::<Value>::new());
    world.run(["exec", "kill", spawned.trim()]).exits(0);
    eventually("its turn is silent again", || items().pop());
    world.run(["session", "upsert", "--id", "s", "--activity", "idle"]).exits(0);
    assert_eq!(items(), Vec::<Value>::new());
    // Once more than the time is over, not before.
    world.configure("[agents]\nsilent_after = \"1h\"\n");
    world.run(["session", "upsert", "--id", "s", "--activity", "busy"]).exits(0);
    assert_eq!(items(), Vec::<Value>::new());
    world.run(["session", "stop", "s"]).exits(0);
}

#[test]
fn interruption_during_a_start_leaves_no_half_of_it_and_starts_nothing_more() {
    let world = world("[lanes]\nsetup = [\"touch ../../../begun; until [ -e ../../../go ]; do sleep 0.05; done\"]", 2);
    let work = Work::begin(&world, "said", &["--agents", "2"]);
    let begun = world.root().join("begun");
    eventually("the setup runs", || begun.exists().then_some(()));
    work.signal(Signal::SIGINT);
    work.says("not_started", "T-1 did not start: interrupted by SIGINT");
    work.says("stopping", "nothing more starts, 0 agents at work");
    work.ends();
    let count = |table: &str| world.rows(&format!("SELECT id FROM {table}")).len();
    assert_eq!((count("agent_sessions"), at_work(&world)), (0, BTreeSet::new()));
    assert_eq!(world.rows("SELECT name FROM lanes WHERE removed_at IS NULL"), [] as [_; 0]);
    // The next one starts it whole.
    fs::write(world.root().join("go"), "").unwrap();
    let next = Work::begin(&world, "next", &["--agents", "2", "--once"]);
    assert_eq!(next.ends(), Some(0));
    works_on(&world, &["T-1", "T-2"]);
}
