//! A stop stays a stop, with any reports while the session stops, and every surface says so.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use fairway_actions::board::{self, BoardCache};
use serde_json::Value;

use super::answer_interleavings::Random;
use super::{Sessions, eventually, marked, text};
use crate::common::soak;
use crate::hooks::{event, started};
use crate::runtime::app;

/// The number of stops in a soak run, and in any other one. `FAIRWAY_STOPS` is another number.
const STOPS: usize = 50;
const FEW_STOPS: usize = 5;

/// A program that takes its time to end after TERM, and then fails.
const SLOW: &str = "trap 'sleep 0.5; exit 3' TERM; while :; do sleep 0.05; done";

/// The reports of a provider, a registrar, a heartbeat and the agent's hooks.
fn reports(id: &str) -> Vec<Vec<String>> {
    let words = |text: &str| text.replace("ID", id).split(' ').map(str::to_owned).collect();
    [
        "session event --id ID --provider shell --external-session-id e-ID --state running",
        "session event --id ID --provider shell --external-session-id e-ID --state waiting_on_input --summary which?",
        "session event --id ID --provider shell --external-session-id e-ID --state stale",
        "session upsert --id ID --activity busy",
        "session upsert --id ID --status stale",
        "session heartbeat ID --activity idle",
        "session heartbeat ID --activity requires_action --waiting-for which?",
        "session reconcile",
    ]
    .map(words)
    .to_vec()
}

/// Ends of the session, as others than its stop report them.
fn ends(id: &str) -> Vec<Vec<String>> {
    let words = |text: &str| text.replace("ID", id).split(' ').map(str::to_owned).collect();
    [
        "session event --id ID --provider shell --external-session-id e-ID --state failed --summary broken",
        "session event --id ID --provider shell --external-session-id e-ID --state completed --summary done",
        "session end ID --exit-code 3",
        "session end ID --status failed --reason broken",
    ]
    .map(words)
    .to_vec()
}

fn spawn(mut command: Command) -> std::process::Child {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn stop_at_any_moment_is_told_as_a_stop() {
    let seed = std::env::var("FAIRWAY_STOP_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(20_261_128);
    let mut random = Random(seed);
    let world = Sessions::new();
    world.run(["lane", "add", "a", "--wip", "100"]).exits(0);
    let (app, mut cache) = (app(&world), BoardCache::new());
    for number in 0..soak::count("FAIRWAY_STOPS", STOPS, FEW_STOPS) {
        let (id, task) = (format!("s{number}"), format!("T-{number}"));
        let what = format!("FAIRWAY_STOP_SEED={seed}, stop {number}");
        world.run(["task", "add", "--id", &task, "work"]).exits(0);
        let session = world.launch(&["--role", "dev", "--lane", "a", "--name", &id, "--", "sh", "-c", SLOW]);
        world.run(["--session", &id, "claim", &task]).exits(0);
        let activity = || world.session(&id)["activity"].clone();
        let mut children = Vec::new();
        let mut tell = |words: &[String]| children.push(spawn(world.fairway(words)));
        let all = reports(&id);
        let pick = |random: &mut Random, of: &[Vec<String>]| {
            let count = u64::try_from(of.len()).unwrap();
            of[usize::try_from(random.below(count)).unwrap()].clone()
        };
        for _ in 0..random.below(3) {
            tell(&pick(&mut random, &all));
        }
        thread::sleep(Duration::from_millis(random.below(80)));
        let stop = spawn(world.fairway(["session", "stop", &id]));
        eventually("it is being stopped", || {
            (activity() != "unknown" || world.session(&id)["status"] != "running").then_some(())
        });
        eventually("the stop has begun", || {
            (activity() == "stopping" || world.session(&id)["status"] == "ended").then_some(())
        });
        for _ in 0..=random.below(4) {
            tell(&pick(&mut random, &all));
            thread::sleep(Duration::from_millis(random.below(120)));
            let shown = cache.compose(&app, &[]).unwrap().needs_you;
            assert!(shown.is_empty(), "{what}: {shown:?}");
        }
        match random.below(4) {
            0 => tell(&pick(&mut random, &ends(&id))),
            1 => {
                let mut hook = world.fairway(["hook", "claude", "SessionEnd"]);
                hook.env("FAIRWAY_SESSION_ID", &id);
                let payload = event("SessionEnd", &format!("c-{number}"), serde_json::json!({ "reason": "other" }));
                let _ = started(hook, payload.to_string().as_bytes()).wait_with_output();
            }
            2 => {
                for key in marked(&text(&session["run_id"])).unwrap() {
                    let _ = key.signal(nix::sys::signal::Signal::SIGKILL);
                }
            }
            _ => {}
        }
        for mut child in children.into_iter().chain([stop]) {
            child.wait().unwrap();
        }
        let row = world.session(&id);
        assert_eq!(row["status"], "ended", "{what}: {row:?}");
        assert!(row["reason"].starts_with("stopped by "), "{what}: {row:?}");
        let log = world.run(["events", "--json", "--of-session", &id]).exits(0).stdout;
        let log: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let of = |kind: &str| log.iter().filter(|one| one["kind"] == kind).cloned().collect::<Vec<Value>>();
        assert_eq!(of("session.failed"), [Value::Null; 0], "{what}");
        let ended = of("session.ended");
        assert_eq!((ended.len(), text(&ended[0]["data"]["reason"])), (1, row["reason"].clone()), "{what}: {ended:?}");
        let kept = cache.compose(&app, &[]).unwrap();
        assert_eq!(kept.lanes, board::compose(&app, &[]).unwrap().lanes, "{what}");
        let shown = world.json(["status"]);
        assert_eq!(shown["needs_you"], serde_json::json!([]), "{what}");
        let one = kept.lanes[0].sessions.iter().find(|one| one.session.id == id).expect("its row");
        let by = row["reason"].trim_start_matches("stopped by ");
        assert_eq!((one.shown_state().shape, one.stopped_by.as_deref()), ('○', Some(by)), "{what}");
    }
}
