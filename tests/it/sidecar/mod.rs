//! The companion of an agent that has neither hooks nor an API.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::common::test_project::CommandOutput;
use crate::sessions::{Sessions, eventually};

/// A sidecar beside the session `s`. It goes with the test.
struct Sidecar(Option<Child>);

impl Sidecar {
    fn of(world: &Sessions, args: &[&str]) -> Self {
        let mut command = world.fairway(["sidecar", "--session", "s", "--json"]);
        let child = command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        eventually("it listens", || {
            let folder = fs::read_dir(world.root().join(".fairway/runtime/wake")).ok()?;
            let name = format!("sidecar-{}-", child.id());
            folder.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with(&name)).then_some(())
        });
        Self(Some(child))
    }

    fn pid(&self) -> u32 {
        self.0.as_ref().unwrap().id()
    }

    fn crash(mut self) {
        kill(self.number(), Signal::SIGKILL).unwrap();
        self.0.take().unwrap().wait().unwrap();
    }

    fn number(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.pid()).unwrap())
    }

    /// The output of its end, which comes by itself.
    fn ends(mut self) -> CommandOutput {
        let mut child = self.0.take().unwrap();
        eventually("it ends", || child.try_wait().unwrap());
        child.wait_with_output().unwrap().into()
    }

    /// How much of a processor it has used, in ticks.
    fn ticks(&self) -> u64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    }
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A session `s` whose program keeps what is typed into it.
fn cat(backend: &str) -> Sessions {
    let world = Sessions::new();
    world.configure(&format!("[roles.dev]\nprovider = \"acme\"\nbackend = \"{backend}\"\n"));
    world.run(["trust"]).exits(0);
    world.launch(&["--role", "dev", "--name", "s", "--command", "cat >got"]);
    world
}

fn got(world: &Sessions) -> String {
    fs::read_to_string(world.root().join("got")).unwrap_or_default()
}

fn does(world: &Sessions, activity: &str) {
    world.run(["session", "heartbeat", "s", "--activity", activity]).exits(0);
}

fn prompt(world: &Sessions, text: &str) -> Value {
    world.json(["prompt", "s", text])
}

fn status(world: &Sessions, prompt: &Value) -> String {
    let query = format!("SELECT status FROM messages WHERE id = {}", prompt["message_id"]);
    world.rows(&query).pop().unwrap().remove("status").unwrap()
}

/// It is written down that it was typed: it stays offered without end.
fn typed(world: &Sessions, prompt: &Value) {
    let query = format!(
        "SELECT 1 FROM messages WHERE id = {} AND status = 'offered' AND offered_until > 9999999999999",
        prompt["message_id"]
    );
    eventually("it is written down", || (!world.rows(&query).is_empty()).then_some(()));
}

/// Whatever it was woken for, it has looked at by now: a change that it reacts to came after.
fn settled(sidecar: &Sidecar) {
    let state = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", sidecar.pid())).unwrap();
        (stat.rsplit(')').next().unwrap().trim().starts_with('S'), sidecar.ticks())
    };
    let mut calm = 0;
    let mut before = state();
    eventually("it sleeps again", || {
        let now = state();
        calm = if now.0 && now == before { calm + 1 } else { 0 };
        before = now;
        (calm > 15).then_some(())
    });
}

fn what_an_idle_agent_gets(backend: &str) {
    let world = cat(backend);
    does(&world, "busy");
    let sidecar = Sidecar::of(&world, &[]);
    let first = prompt(&world, "one");
    settled(&sidecar);
    assert_eq!((got(&world).as_str(), status(&world, &first).as_str()), ("", "queued"));
    does(&world, "idle");
    eventually("it is typed", || got(&world).contains("one").then_some(()));
    typed(&world, &first);
    // A typed prompt counts as read only when the session goes on.
    does(&world, "busy");
    assert_eq!(status(&world, &first), "acknowledged");
    does(&world, "idle");
    settled(&sidecar);
    let second = prompt(&world, "two");
    eventually("the second is typed", || got(&world).contains("two").then_some(()));
    assert_eq!(got(&world).matches("one").count(), 1, "{}", got(&world));

    // A crash forgets nothing and repeats nothing.
    typed(&world, &second);
    sidecar.crash();
    let sidecar = Sidecar::of(&world, &[]);
    settled(&sidecar);
    assert_eq!(got(&world).matches("two").count(), 1, "{}", got(&world));
    prompt(&world, "three");
    eventually("the third is typed", || got(&world).contains("three").then_some(()));
    assert_eq!(got(&world).matches("one").count() + got(&world).matches("two").count(), 2, "{}", got(&world));

    world.run(["session", "stop", "s"]).exits(0);
    let end = sidecar.ends().exits(0).json();
    assert!(end["reason"].as_str().unwrap().starts_with("the session is "), "{end}");
    let left: Vec<PathBuf> = fs::read_dir(world.root().join(".fairway/runtime/listen"))
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| !path.ends_with("turns"))
        .collect();
    assert_eq!(left, Vec::<PathBuf>::new());
}

#[test]
fn idle_agent_gets_each_prompt_once() {
    what_an_idle_agent_gets("shell");
}

#[test]
fn idle_agent_in_tmux_gets_each_prompt_once() {
    what_an_idle_agent_gets("tmux");
}

#[test]
fn unknown_is_not_idle() {
    let world = cat("shell");
    let sidecar = Sidecar::of(&world, &[]);
    let waits = prompt(&world, "one");
    settled(&sidecar);
    assert_eq!((got(&world).as_str(), status(&world, &waits).as_str()), ("", "queued"));
    // A second one takes the place of the first.
    let other = Sidecar::of(&world, &["--when-unknown"]);
    assert_eq!(sidecar.ends().exits(0).json()["reason"], "superseded by another sidecar");
    eventually("it is typed", || got(&world).contains("one").then_some(()));
    world.run(["session", "stop", "s"]).exits(0);
    other.ends().exits(0);
    let run: CommandOutput = world.fairway(["sidecar", "--session", "s", "--json"]).output().unwrap().into();
    run.refuses(4, "session_final");
}

#[test]
fn death_of_the_agent_is_seen_at_once() {
    let world = Sessions::new();
    let mut agent = Command::new("sleep").arg("1000").spawn().unwrap();
    let pid = agent.id().to_string();
    world.run(["session", "upsert", "--id", "s", "--role", "dev", "--pid", &pid]).exits(0);
    let sidecar = Sidecar::of(&world, &[]);
    agent.kill().unwrap();
    let end = sidecar.ends().exits(0);
    assert_eq!(end.json()["reason"], "the agent has exited", "{end:?}");
    assert_eq!(world.session("s")["status"], "stale");
    agent.wait().unwrap();
}

/// A line of a record as the provider's program writes it.
fn line(text: Value) -> String {
    format!("{text}\n")
}

#[test]
fn growing_transcript_is_read() {
    let world = cat("shell");
    let record = world.root().join("records/one/record.jsonl");
    let path = record.display().to_string();
    // It does not exist yet, nor does its folder.
    let sidecar = Sidecar::of(&world, &["--provider", "codex", "--transcript", &path]);
    fs::create_dir_all(record.parent().unwrap()).unwrap();
    settled(&sidecar);
    let mut file = OpenOptions::new().create(true).append(true).open(&record).unwrap();
    let time = "2026-01-01T00:00:00Z";
    let event = |what: &str| line(json!({ "timestamp": time, "type": "event_msg", "payload": { "type": what } }));
    let usage = |id: &str| {
        line(json!({
            "timestamp": time, "type": "token_usage_record",
            "payload": { "response_id": id, "usage": { "input_tokens": 100, "cached_input_tokens": 60, "output_tokens": 7 } },
        }))
    };
    file.write_all(event("task_started").as_bytes()).unwrap();
    eventually("it is busy", || (world.session("s")["activity"] == "busy").then_some(()));
    let waits = prompt(&world, "one");
    // Half a line is read when it is whole.
    let (first, second) = (usage("a"), usage("b"));
    file.write_all(first.as_bytes()).unwrap();
    file.write_all(&second.as_bytes()[..40]).unwrap();
    let turns = |count: usize| {
        eventually("its turns are counted", || (world.rows("SELECT * FROM usage_turns").len() == count).then_some(()));
    };
    turns(1);
    file.write_all(&second.as_bytes()[40..]).unwrap();
    turns(2);
    assert_eq!((got(&world).as_str(), status(&world, &waits).as_str()), ("", "queued"));
    file.write_all(event("task_complete").as_bytes()).unwrap();
    eventually("it is idle, and the prompt is typed", || got(&world).contains("one").then_some(()));
    file.write_all(event("task_started").as_bytes()).unwrap();
    eventually("the next turn is the proof", || (status(&world, &waits) == "acknowledged").then_some(()));

    // Another record under the same name, read again after a crash: what was counted is not counted twice.
    sidecar.crash();
    fs::write(&record, first.clone() + &second + &usage("c")).unwrap();
    let sidecar = Sidecar::of(&world, &["--provider", "codex", "--transcript", &path]);
    turns(3);
    let sums = "SELECT sum(input_tokens) AS i, sum(cache_read_tokens) AS c, sum(output_tokens) AS o FROM usage_turns";
    let sums = world.rows(sums).pop().unwrap();
    assert_eq!((sums["i"].as_str(), sums["c"].as_str(), sums["o"].as_str()), ("120", "180", "21"));
    world.run(["session", "stop", "s"]).exits(0);
    sidecar.ends().exits(0);
}

#[test]
#[ignore = "it measures time; `just soak` runs it"]
fn idle_sidecar_uses_no_cpu() {
    let world = cat("shell");
    let sidecar = Sidecar::of(&world, &[]);
    settled(&sidecar);
    let status = || {
        let mut text = String::new();
        let path = format!("/proc/{}/status", sidecar.pid());
        fs::File::open(path).unwrap().read_to_string(&mut text).unwrap();
        text.lines().find(|line| line.starts_with("voluntary_ctxt_switches")).unwrap().to_owned()
    };
    let before = status();
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!(status(), before);
    world.run(["session", "stop", "s"]).exits(0);
    sidecar.ends().exits(0);
}

#[test]
fn invalid_sidecar_arguments_are_refused() {
    let world = Sessions::new();
    let refused =
        |args: &[&str]| -> CommandOutput { world.fairway(args.iter().chain(&["--json"])).output().unwrap().into() };
    refused(&["sidecar"]).refuses(2, "usage");
    refused(&["sidecar", "--session", "nobody"]).refuses(3, "not_found");
    world.run(["session", "upsert", "--id", "s", "--role", "dev"]).exits(0);
    refused(&["sidecar", "--session", "s", "--transcript", "f"]).refuses(2, "usage");
    refused(&["sidecar", "--session", "s", "--transcript", "f", "--provider", "acme"]).refuses(2, "usage");
}
