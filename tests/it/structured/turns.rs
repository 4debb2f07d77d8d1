//! Turns: prompts, cancel, usage, and the end of the agent or its supervisor.

use std::collections::BTreeSet;
use std::time::Duration;

use fairway_core::os::process::ProcessKey;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::Scene;
use crate::sessions::{eventually, marked};

#[test]
fn prompts_are_delivered_and_acknowledged_exactly_once() {
    const COUNT: usize = 60;
    let scene = Scene::launched();
    for number in 0..COUNT {
        scene.prompt(&format!("word {number}."));
    }
    let rest = "SELECT id FROM messages WHERE status <> 'acknowledged'";
    eventually("all are acknowledged", || scene.rows(rest).is_empty().then_some(()));
    let text = scene.prompts().into_iter().flatten().collect::<Vec<_>>().join("\n");
    let found: Vec<&str> = text.split("word ").skip(1).filter_map(|rest| rest.split('.').next()).collect();
    let distinct: BTreeSet<&&str> = found.iter().collect();
    assert_eq!((found.len(), distinct.len()), (COUNT, COUNT), "{text}");
    let turns = scene.rows("SELECT seq FROM events WHERE kind = 'session.turn_ended'").len();
    assert!((1..=COUNT).contains(&turns));
}

#[test]
fn cancel_ends_the_turn_and_what_waits_comes_next() {
    let scene = Scene::launched();
    scene.prompt("STALL");
    eventually("it is busy", || (scene.session("s")["activity"] == "busy").then_some(()));
    scene.prompt("the word after");
    scene.run(["session", "interrupt", "s"]).exits(0);
    let shown = scene.shows("did: the word after");
    assert!(shown.contains("> STALL\n[turn ended: cancelled]\n\n> the word after\n"), "{shown}");
    scene.wait_until_idle();
    let unchanged = scene.run(["session", "interrupt", "s"]).exits(0).stdout;
    assert_eq!(unchanged, "unchanged: s is idle\n");
    let reasons = scene.rows("SELECT data FROM events WHERE kind = 'session.turn_ended' ORDER BY seq");
    assert!(reasons[0]["data"].contains("cancelled") && reasons[1]["data"].contains("end_turn"), "{reasons:?}");
}

#[test]
fn agent_that_can_be_steered_takes_prompts_into_its_turn() {
    let scene = Scene::with("steer", "");
    scene.begin();
    scene.prompt("STALL");
    eventually("it is busy", || (scene.session("s")["activity"] == "busy").then_some(()));
    let status = |id: &serde_json::Value| scene.rows(&format!("SELECT * FROM messages WHERE id = {id}")).remove(0);
    let urgent = |text: &str| scene.json(["prompt", "s", "--priority", "urgent", text])["message_id"].clone();
    let taken = urgent("a word in between");
    scene.shows("heard: a word in between");
    eventually("it is acknowledged", || (status(&taken)["status"] == "acknowledged").then_some(()));
    // What is not urgent, and what the agent refuses, waits for the end of the turn.
    scene.prompt("a letter");
    let back = urgent("BACK with it");
    let refused = scene.run(["prompt", "s", "--priority", "urgent", "NEVER this"]).exits(0);
    assert!(refused.stderr.contains("it does not listen"), "{refused:?}");
    scene.run(["session", "interrupt", "s"]).exits(0);
    for text in ["> BACK with it\ndid: BACK with it", "NEVER this", "a letter"] {
        scene.shows(text);
    }
    scene.wait_until_idle();
    let shown = scene.peek();
    assert!(shown.find("[turn ended: cancelled]").unwrap() < shown.find("a letter").unwrap(), "{shown}");
    assert_eq!((&*status(&taken)["status"], &*status(&taken)["stop_reason"]), ("acknowledged", "cancelled"));
    assert_eq!(status(&back)["status"], "acknowledged");
    assert_eq!(shown.matches("a word in between").count(), 2, "the prompt, and what the agent says: {shown}");
}

#[test]
fn answer_is_waited_for_until_the_turn_ends() {
    let scene = Scene::launched();
    let answered = scene.json(["prompt", "s", "one", "--wait-answer", "60s"]);
    let message = &answered["message"];
    assert_eq!(
        (&message["status"], &message["stop_reason"]),
        (&"acknowledged".into(), &"end_turn".into()),
        "{message}"
    );
    assert!(message["answered_at"].is_string());
    let failed = scene.run(["send", "s", "FAIL", "--wait-answer", "60s"]).exits(6).stderr;
    assert!(failed.starts_with("error: prompt 2 has no answer: the turn of s has failed\n"), "{failed}");
    let unanswered =
        scene.run(["prompt", "s", "STALL", "--wait-answer", "1s", "--json"]).refuses(6, "not_answered").error();
    assert_eq!(unanswered["message"], "prompt 3 has no answer: the turn of s has not ended within 1s");
    assert_eq!(unanswered["hint"], "read the conversation: fairway session peek s");
    scene.run(["session", "interrupt", "s"]).exits(0);
    let reason = || scene.rows("SELECT stop_reason FROM messages WHERE id = 3").remove(0).remove("stop_reason");
    eventually("its end", || (reason().as_deref() == Some("cancelled")).then_some(()));
    let events = scene.rows("SELECT data FROM events WHERE kind = 'message.answered' ORDER BY seq");
    assert_eq!(events.len(), 3, "{events:?}");
    // Whether it came to the agent first is a race.
    scene.run(["prompt", "s", "DIE", "--wait-answer", "60s"]).exits(6);
    scene.run(["session", "upsert", "--id", "t", "--role", "dev"]).exits(0);
    let refused = scene.run(["send", "t", "word", "--wait-answer", "1s"]).exits(2).stderr;
    assert!(refused.contains("t is not structured") && refused.contains("--wait-ack 1m"), "{refused}");
}

#[test]
fn usage_cost_and_context_are_those_that_the_agent_tells_and_a_spent_budget_pauses_after_the_turn() {
    let scene = Scene::with("", "[budgets]\nsession = \"0.25 USD\"\n");
    scene.begin();
    scene.prompt("one");
    scene.shows("did: one");
    eventually("the usage", || {
        let total = scene.json(["usage", "--by", "session", "--session", "s"])["total"].clone();
        let of = |key: &str| total[key].as_f64().unwrap_or_default();
        let all = (of("turns"), of("input_tokens"), of("output_tokens"), of("cache_read_tokens"), of("cost_usd"));
        (all == (1.0, 8.0, 5.0, 2.0, 0.25)).then_some(())
    });
    eventually("the context", || (scene.session("s")["context_usage"] == "Real(0.5)").then_some(()));
    // The turn that spent the budget was whole; the next one waits for a person.
    let parked = || scene.json(["session", "show", "s"])["parked"].clone();
    eventually("the pause", || (parked()["why"] == "budget of s").then_some(()));
    assert_eq!(scene.json(["prompt", "s", "two"])["reason"], "session_parked");
    scene.run(["budget", "raise", "s", "1usd", "--reason", "nearly done"]).exits(0);
    scene.shows("two");
    assert_eq!(parked(), serde_json::Value::Null);
}

#[test]
fn turn_that_fails_leaves_an_idle_session_with_the_reason() {
    let scene = Scene::launched();
    scene.prompt("FAIL");
    scene.shows("[the turn failed: Internal error: overloaded]");
    scene.wait_until_idle();
    scene.prompt("again");
    scene.shows("did: again");
}

#[test]
fn agent_that_dies_ends_its_session_with_its_code() {
    let scene = Scene::launched();
    scene.prompt("RUN[[true]]");
    scene.asked();
    let run = scene.session("s")["run_id"].clone();
    let agent = marked(&run).unwrap().into_iter().find(|key| {
        std::fs::read_to_string(format!("/proc/{}/comm", key.pid)).is_ok_and(|name| name.starts_with("python3"))
    });
    kill(Pid::from_raw(agent.unwrap().pid), Signal::SIGKILL).unwrap();
    eventually("its end", || (scene.session("s")["status"] == "failed").then_some(()));
    assert_eq!(scene.session("s")["reason"], "its program ended with exit code 137");
    assert_eq!(scene.json(["approvals", "list"]), serde_json::json!([]));
    assert!(scene.peek().ends_with("[the agent has ended]\n"), "{}", scene.peek());
    eventually("no process is left", || marked(&run).unwrap().is_empty().then_some(()));
}

#[test]
fn killed_supervisor_is_a_dead_session_whose_agent_ends() {
    let scene = Scene::launched();
    let row = scene.session("s");
    let (run, pid) = (row["run_id"].clone(), row["pid"].parse().unwrap());
    assert_eq!(marked(&run).unwrap().len(), 2, "the supervisor and its agent");
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    eventually("its agent ends", || marked(&run).unwrap().is_empty().then_some(()));
    assert_eq!(scene.json(["session", "show", "s"])["alive"], false);
    scene.run(["session", "reconcile"]).exits(0);
    assert_ne!(scene.session("s")["status"], "running");
    // The name is free again, and the conversation goes on.
    let next = scene.json(["session", "relaunch", "s"]);
    let id = next["id"].as_str().unwrap().to_owned();
    assert_eq!(scene.session(&id)["external_session_id"], "conversation-1");
    scene.run(["session", "stop", &id]).exits(0);
}

/// As in a terminal: the agent may not have stored it before it died.
#[test]
fn conversation_that_the_agent_has_lost_is_a_new_one_after_a_relaunch() {
    let scene = Scene::unproven("forgetful", "");
    scene.begin();
    scene.kill("s");
    scene.run(["session", "reconcile"]).exits(0);
    let next = scene.json(["session", "relaunch", "s"]);
    let notes = next["notes"].to_string();
    assert!(notes.contains("a new conversation begins") && notes.contains("No previous sessions found"), "{notes}");
    scene.run(["session", "stop", next["id"].as_str().unwrap()]).exits(0);
}

#[test]
fn idle_session_takes_no_time_of_the_processor() {
    let scene = Scene::launched();
    scene.prompt("one");
    scene.shows("did: one");
    scene.wait_until_idle();
    let pid = scene.session("s")["pid"].clone();
    let ticks = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let fields: Vec<u64> = stat
            .rsplit(')')
            .next()
            .unwrap()
            .split_whitespace()
            .skip(11)
            .take(2)
            .map(|field| field.parse().unwrap())
            .collect();
        fields.iter().sum::<u64>()
    };
    std::thread::sleep(Duration::from_millis(300));
    let before = ticks();
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(ticks(), before);
    let smaps = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
    let private =
        smaps.lines().filter(|line| line.starts_with("Private_")).filter_map(|line| line.split_whitespace().nth(1));
    let kib: u64 = private.map(|kib| kib.parse::<u64>().unwrap()).sum();
    println!("private memory of the supervisor: {kib} KiB");
    // Of a build that is not optimised; that of a release is in the benchmarks.
    assert!(kib < 16 << 10, "{kib} KiB");
    assert!(ProcessKey::of(pid.parse().unwrap()).is_some());
}

#[test]
fn stopped_session_is_reminded_by_its_next_prompt_unless_the_turn_was_cancelled() {
    let scene = Scene::with("", "[agents]\ncontinue = 2\n[gates.done]\nrequire = [\"evidence\"]\n");
    scene.run(["task", "add", "T-1", "Fix the total"]).exits(0);
    scene.begin();
    scene.run(["--session", "s", "--as", "dev", "claim", "T-1"]).exits(0);
    scene.prompt("STALL");
    eventually("it is busy", || (scene.session("s")["activity"] == "busy").then_some(()));
    scene.run(["session", "interrupt", "s"]).exits(0);
    scene.wait_until_idle();
    assert_eq!(scene.json(["session", "show", "s"])["turn_end"]["meaning"], "stopped");
    scene.prompt("one word");
    let shown = scene.shows("T-1 is not handed in");
    assert!(shown.contains("fairway evidence run T-1"), "{shown}");
    scene.wait_until_idle();
    let ended = scene.json(["session", "show", "s"])["turn_end"].clone();
    assert!(ended["said"].as_str().is_some_and(|said| said.contains("from reminder by fairway")), "{ended}");
    // What it answered is no progress.
    assert_eq!(scene.rows("SELECT seq FROM events WHERE kind = 'session.reminded'").len(), 1);
}
