//! A lane moves on from a session without a process and a backend, of which nothing but its own reports is known: a provider's thread,
//! the session of a runtime, and one that was registered by hand.

use fairway_actions::agents::runtime::lifecycle::{LifecycleReport, report};
use fairway_core::domain::RunId;
use fairway_core::domain::lifecycle::LifecycleEvent;
use serde_json::{Value, json};

use super::{Sessions, text};
use crate::common::test_project::CommandOutput;
use crate::runtime::app;

const RUN: &str = "00000000-0000-7000-8000-00000000000b";

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Thread,
    Runtime,
    Registered,
}

impl Kind {
    /// Registers the session `first` in the lane `a`.
    fn begin(self, world: &Sessions) {
        let place = ["--role", "dev", "--lane", "a"];
        match self {
            Self::Thread => {
                let event = ["session", "event", "--id", "first", "--state", "started"];
                world
                    .run([&event[..], &place, &["--provider", "codex", "--external-session-id", "thread"]].concat())
                    .exits(0);
            }
            Self::Runtime => {
                let more = ["--run-id", RUN, "--provider", "codex"];
                world.run([&["session", "upsert", "--id", "first"][..], &place, &more].concat()).exits(0);
                tell(world, LifecycleEvent::Started);
            }
            Self::Registered => {
                let more = ["--provider", "codex"];
                world.run([&["session", "upsert", "--id", "first"][..], &place, &more].concat()).exits(0);
            }
        }
    }

    /// Reports the end, as such a session does.
    fn end(self, world: &Sessions) {
        match self {
            Self::Thread => {
                let event = ["session", "event", "--provider", "codex", "--external-session-id", "thread"];
                world.run([&event[..], &["--state", "completed", "--summary", "half"]].concat()).exits(0);
            }
            Self::Runtime => tell(world, LifecycleEvent::Stopped),
            Self::Registered => drop(world.run(["session", "end", "first", "--session", "first"]).exits(0)),
        }
    }
}

fn tell(world: &Sessions, event: LifecycleEvent) {
    let run_id = RunId::parse(RUN);
    report(&app(world), &LifecycleReport { event, run_id, session_id: None, at: None, metadata: Value::Null }).unwrap();
}

/// A task that `first` has claimed, proven and written about, and whose session has ended.
fn left(kind: Kind) -> Sessions {
    let world = Sessions::with_git();
    world.configure(
        "[gates.done]\nrequire = [\"evidence\"]\n[roles.dev]\nprovider = \"plain\"\n\
         [providers.plain]\ncommand = \"sleep 600\"\n[providers.codex]\ncommand = \"sleep 600\"\n",
    );
    world.run(["trust"]).exits(0);
    world.run(["task", "add", "T-1", "Fix the total"]).exits(0);
    world.run(["lane", "add", "a", "--create-worktree"]).exits(0);
    kind.begin(&world);
    let first = |words: &[&str]| world.run([&["--session", "first"], words].concat()).exits(0);
    first(&["claim", "T-1"]);
    first(&["evidence", "add", "T-1", "--result", "pass"]);
    first(&["checkpoint", "record", "T-1", "--state", "active", "--summary", "the parser is done"]);
    first(&["review", "request", "T-1", "--domain", "code"]);
    kind.end(&world);
    world
}

/// The commands of the board's item about the ended session.
fn commands(world: &Sessions) -> Vec<String> {
    let needs = world.json(["status"])["needs_you"].clone();
    let dead = needs.as_array().unwrap().iter().find(|need| need["id"] == "dead:first").cloned().expect("an item");
    dead["commands"].as_array().unwrap().iter().map(|next| text(&next["command"])).collect()
}

/// The session has all that `first` had, and can finish the task by its evidence.
#[track_caller]
fn goes_on(world: &Sessions, session: &str, what: &str) {
    let task = world.json(["task", "show", "T-1"]);
    assert_eq!((&task["claim"]["session_id"], &task["lane"]), (&json!(session), &json!("a")), "{what}");
    assert_eq!(world.json(["checkpoint", "latest", "T-1", "--written"])["summary"], "the parser is done", "{what}");
    assert_eq!(world.json(["review", "list", "T-1"]).as_array().unwrap().len(), 1, "{what}");
    world.run(["--session", session, "done", "T-1"]).exits(0);
}

#[test]
fn lane_moves_on_from_a_session_that_only_reported_its_end() {
    for kind in [Kind::Thread, Kind::Runtime, Kind::Registered] {
        let what = format!("{kind:?}");
        let start = "fairway start T-1 --provider codex";
        let release = "fairway release T-1 --force --reason TEXT";

        // By a claim, in a session that is there: each surface names it, and it works.
        let world = left(kind);
        assert_eq!(commands(&world), [start, release], "{what}");
        world
            .run(["session", "upsert", "--id", "next", "--role", "dev", "--lane", "a", "--provider", "claude"])
            .exits(0);
        let claim = "fairway --session next claim T-1";
        assert_eq!(commands(&world), [claim, release], "{what}");
        for words in [
            &["task", "show", "T-1"][..],
            &["explain", "task", "T-1"],
            &["session", "show", "first"],
            &["ready", "--why"],
        ] {
            let shown = world.run(words).exits(0).stdout;
            assert!(shown.contains(claim), "{what} {words:?}:\n{shown}");
        }
        for words in [&["done", "T-1"][..], &["task", "submit", "T-1"], &["release", "T-1"]] {
            let refused = world.run([&["--session", "next"], words].concat()).exits(4).stderr;
            assert!(
                refused.contains("hint: to continue the claim: fairway claim T-1\n"),
                "{what} {words:?}: {refused}"
            );
        }
        let claimed = world.run(["--session", "next", "claim", "T-1", "--json"]).exits(0).json();
        assert_eq!((&claimed["takeover"], &claimed["from"]), (&json!("continued"), &json!("first")), "{what}");
        goes_on(&world, "next", &what);

        // By a start, as the board says it.
        let world = left(kind);
        let started = world.run(["start", "T-1", "--provider", "plain", "--json"]).exits(0).json();
        goes_on(&world, &text(&started["id"]), &what);

        // By a relaunch.
        let world = left(kind);
        let again = world.run(["session", "relaunch", "first", "--json", "--", "sleep", "600"]).exits(0).json();
        assert_eq!(again["continued"], json!(["T-1"]), "{what}");
        goes_on(&world, &text(&again["id"]), &what);

        // By a release of what the dead hold: the work is anybody's again.
        let world = left(kind);
        let released: CommandOutput = world.run(["release", "--dead"]).exits(0);
        assert!(released.stdout.starts_with("released T-1: in_progress → todo (first is dead"), "{what}: {released:?}");
    }
}

/// A handoff of the lane's work, made before the end, is taken by a session of another provider.
#[test]
fn handoff_of_a_session_that_only_reported_its_end_is_taken() {
    for kind in [Kind::Thread, Kind::Runtime, Kind::Registered] {
        let what = format!("{kind:?}");
        let world = left(kind);
        world.run(["handoff", "create", "T-1", "--to", "dev", "--summary", "half is done"]).exits(0);
        world
            .run(["session", "upsert", "--id", "next", "--role", "dev", "--lane", "a", "--provider", "claude"])
            .exits(0);
        world.run(["--session", "next", "handoff", "accept", "1", "--claim"]).exits(0);
        let task = world.json(["task", "show", "T-1"]);
        assert_eq!(task["claim"]["session_id"], "next", "{what}");
        assert_eq!(world.json(["checkpoint", "latest", "T-1", "--written"])["summary"], "the parser is done", "{what}");
    }
}
