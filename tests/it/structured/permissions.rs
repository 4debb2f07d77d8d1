//! Questions of the agent: the guard first, then a person; each is decided once and disappears when it is over.

use std::time::Duration;

use serde_json::{Value, json};

use super::Scene;
use crate::common::soak;
use crate::sessions::eventually;

const RULES: &str = "[guard]\ndefault = \"allow\"\n[[guard.rules]]\nname = \"no-canary\"\ntools = [\"Bash\"]\n\
     command = [\"touch\", \"denied\"]\naction = \"deny\"\nreason = \"canaries are for people\"\n";

#[test]
fn person_allows_and_denies() {
    let scene = Scene::launched();
    scene.prompt("RUN[[touch allowed; echo made]]");
    let asked = scene.asked();
    assert_eq!((&asked["tool"], &asked["provider"]), (&json!("Bash"), &json!("fake")));
    assert_eq!(
        asked["input"],
        json!({ "command": "touch allowed; echo made", "options": ["Always", "Yes", "No"], "always": "Always" })
    );
    let session = scene.session("s");
    assert_eq!(
        (session["activity"].as_str(), session["waiting_for"].as_str()),
        ("requires_action", "permission: Bash: touch allowed; echo made")
    );
    assert!(!scene.has("allowed"));
    scene.run(["approvals", "answer", &asked["id"].to_string(), "allow"]).exits(0);
    let shown = scene.shows("did: RUN");
    assert!(shown.contains("* Bash: touch allowed; echo made\n"), "{shown}");
    assert!(shown.contains("[allowed]\n  made\n"), "{shown}");
    assert!(scene.has("allowed"));
    scene.prompt("RUN[[touch not-allowed]]");
    let asked = scene.asked();
    scene.run(["approvals", "answer", &asked["id"].to_string(), "deny", "--reason", "not now"]).exits(0);
    assert!(scene.shows("[denied: not now]").contains("not-allowed"));
    scene.wait_until_idle();
    assert!(!scene.has("not-allowed"));
}

#[test]
fn always_goes_back_as_the_option_that_the_agent_offers() {
    let scene = Scene::launched();
    for (words, shown, outcome) in [
        (&["allow", "--always"][..], "[allowed always]", Some("always")),
        (&["allow"][..], "[allowed]", Some("yes")),
        // The agent has no option for good.
        (&["deny", "--always"][..], "[denied]", Some("no")),
    ] {
        scene.prompt("RUN[[true]]");
        let asked = scene.asked()["id"].to_string();
        scene.run(["approvals", "answer", &asked].iter().chain(words)).exits(0);
        scene.shows(shown);
        scene.wait_until_idle();
        let frames = std::fs::read_to_string(format!("{}.frames", scene.session("s")["transcript"])).unwrap();
        let sent = frames.lines().rfind(|line| line.contains("\"optionId\":") && line.contains(" > ")).unwrap();
        let frame: Value = serde_json::from_str(sent.split_once(" > ").unwrap().1).unwrap();
        assert_eq!(frame["result"]["outcome"]["optionId"].as_str(), outcome);
    }
    let said = scene.rows("SELECT data FROM events WHERE kind = 'approval.answered' ORDER BY seq");
    assert!(said[0]["data"].contains("\"always\":true") && !said[1]["data"].contains("true"), "{said:?}");
}

#[test]
fn guard_denies_without_a_person_and_each_call_has_one_decision() {
    let scene = Scene::with("", RULES);
    scene.begin();
    scene.prompt("RUN[[touch denied]]");
    assert!(scene.shows("(failed)").contains("[denied: no-canary: canaries are for people]"));
    assert_eq!(scene.json(["approvals", "list", "--all"]), json!([]));
    scene.wait_until_idle();
    scene.prompt("RUN[[touch asked-about]]");
    let asked = scene.asked();
    scene.run(["approvals", "answer", &asked["id"].to_string(), "allow"]).exits(0);
    scene.shows("did: RUN[[touch asked-about]]");
    // A tool that runs without a question gets its decision when it has run.
    scene.prompt("SILENT[[touch denied]]");
    scene.shows("[it ran without asking, and the guard denies it: canaries are for people]");
    assert!(scene.has("asked-about"));
    let decisions = scene.rows("SELECT allowed, rule, context FROM guard_decisions ORDER BY id");
    let found: Vec<(&str, &str)> =
        decisions.iter().map(|row| (row["allowed"].as_str(), row["rule"].as_str())).collect();
    assert_eq!(found, [("0", "no-canary"), ("1", ""), ("0", "no-canary")]);
    let calls: Vec<Value> = decisions.iter().map(|row| serde_json::from_str(&row["context"]).unwrap()).collect();
    assert!(calls.iter().all(|context| context["call_id"].is_string()), "{calls:?}");
    assert!(calls[0] != calls[1] && calls[1] != calls[2]);
}

/// What is seen outweighs what was proven.
#[test]
fn agent_that_gets_around_the_guard_is_not_guarded_from_then_on() {
    for (words, what) in [
        ("SILENT[[touch denied]]", "it ran without asking: Bash: touch denied"),
        ("DEFY[[touch denied]]", "it ran although it was denied: Bash: touch denied"),
        ("SWAP[[true|touch denied]]", "it does not do what it asked for: Bash: touch denied"),
    ] {
        let scene = Scene::with("", RULES);
        scene.begin();
        let proof = || {
            let all = scene.json(["provider", "list"]);
            all.as_array().unwrap().iter().find(|one| one["name"] == "fake").unwrap()["proof"].clone()
        };
        assert_eq!(
            (scene.json(["session", "show", "s"])["protocol"]["guarded"].clone(), proof()["proven"].clone()),
            (json!(true), json!(true))
        );
        scene.prompt(words);
        if words.starts_with("SWAP") {
            scene.run(["approvals", "answer", &scene.asked()["id"].to_string(), "allow"]).exits(0);
        }
        scene.wait_until_idle();
        let shown = scene.shows(&format!("[not guarded: {what}]"));
        if words.starts_with("SWAP") {
            assert!(shown.contains("[the agent has changed the call: Bash: touch denied]"), "{shown}");
        }
        let told = scene.json(["session", "show", "s"])["protocol"].clone();
        assert_eq!((&told["guarded"], &told["unguarded_reason"]), (&json!(false), &json!(what)), "{told}");
        let text = scene.run(["session", "show", "s"]).exits(0).stdout;
        assert!(text.contains(&format!("guard       not guarded: {what}\n")), "{text}");
        let board = scene.json(["status"]);
        let need = &board["needs_you"][0];
        assert_eq!((&need["kind"], &need["id"]), (&json!("guard"), &json!("guard:s")), "{board}");
        assert_eq!(need["line"], format!("it is not guarded: {what}"));
        for command in need["commands"].as_array().unwrap() {
            assert!(command["command"].as_str().unwrap().contains(" s"), "{command}");
        }
        let log = scene.json(["guard", "log", "--denied", "--session", "s"]);
        assert_eq!((log.as_array().unwrap().len(), &log[0]["input"]["command"]), (1, &json!("touch denied")), "{log}");
        assert_eq!((&proof()["proven"], &proof()["reason"]), (&json!(false), &json!(what)));
        // A further call changes nothing.
        scene.prompt("MODE[[auto]] MODE[[ask]]");
        scene.wait_until_idle();
        assert_eq!(scene.json(["session", "show", "s"])["protocol"]["unguarded_reason"], what);
    }
    let strict = Scene::with("", &format!("{RULES}[agents]\nunguarded = \"refuse\"\n"));
    strict.begin();
    strict.prompt("SILENT[[touch denied]]");
    eventually("its session is ended", || (strict.session("s")["status"] == "failed").then_some(()));
}

#[test]
fn call_that_changes_while_its_question_is_open_is_judged_again() {
    let scene = Scene::with("", RULES);
    scene.begin();
    for (second, is_denied) in [("touch other", false), ("touch denied", true)] {
        let _ = std::fs::remove_file(scene.root().join("change"));
        scene.prompt(&format!("CHANGE[[touch first|{second}]]"));
        let first = scene.asked();
        assert_eq!(first["input"]["command"], "touch first");
        std::fs::write(scene.root().join("change"), "").unwrap();
        scene.shows(&format!("[the agent has changed the call: Bash: {second}]"));
        if is_denied {
            scene.shows("[denied: no-canary: canaries are for people]");
        } else {
            let other = eventually("another question", || Some(scene.asked()).filter(|now| now["id"] != first["id"]));
            assert_eq!(other["input"]["command"], second);
            scene.run(["approvals", "answer", &other["id"].to_string(), "allow"]).exits(0);
        }
        scene.wait_until_idle();
        let late = scene.run(["approvals", "answer", &first["id"].to_string(), "allow", "--json"]);
        late.refuses(4, "approval_lapsed");
        assert!(scene.has("other"));
        assert!(!scene.has("first") && !scene.has("denied"));
    }
    assert_eq!(scene.json(["session", "show", "s"])["protocol"]["guarded"], true);
    let log = scene.json(["guard", "log", "--session", "s"]);
    let commands: Vec<&str> =
        log.as_array().unwrap().iter().map(|one| one["input"]["command"].as_str().unwrap()).collect();
    assert_eq!(commands, ["touch first", "touch other", "touch first", "touch denied"]);
}

/// Neither a person's yes nor the guard's own becomes one for all further calls.
#[test]
fn yes_for_one_call_never_becomes_always() {
    let allowed = "[guard]\ndefault = \"allow\"\n[[guard.rules]]\nname = \"fine\"\ntools = [\"Bash\"]\n\
         command = [\"touch\", \"fine\"]\naction = \"allow\"\n";
    let scene = Scene::with("", allowed);
    scene.begin();
    for command in ["touch lasting", "touch fine"] {
        scene.prompt(&format!("LASTING[[{command}]]"));
        let id = scene.asked()["id"].to_string();
        let board = scene.json(["status"])["needs_you"][0]["commands"].to_string();
        assert!(!board.contains("allow\"") && board.contains("allow --always"), "{board}");
        let refused = scene.run(["approvals", "answer", &id, "allow"]).exits(5);
        let hint = format!("hint: allow them all: fairway approvals answer {id} allow --always\n");
        assert!(refused.stderr.contains(&hint), "{}", refused.stderr);
        assert_eq!(scene.asked()["status"], "pending");
        scene.run(["approvals", "answer", &id, "allow", "--always"]).exits(0);
        scene.shows("[allowed always]");
        scene.wait_until_idle();
    }
    assert!(scene.has("lasting") && scene.has("fine"));
    scene.prompt("NOYES[[touch never]]");
    let id = scene.asked()["id"].to_string();
    for more in [&["allow"][..], &["allow", "--always"]] {
        let refused = scene.run(["approvals", "answer", &id].iter().chain(more)).exits(5);
        assert!(refused.stderr.contains("the agent offers no answer that allows it"), "{}", refused.stderr);
    }
    scene.run(["approvals", "answer", &id, "deny"]).exits(0);
    scene.wait_until_idle();
    assert!(!scene.has("never"));
}

#[test]
fn prompt_that_waits_for_an_approval_names_its_answer() {
    let scene = Scene::launched();
    scene.prompt("RUN[[true]]");
    let id = scene.asked()["id"].to_string();
    let sent = scene.run(["prompt", "s", "go on"]).exits(0);
    assert!(
        sent.stderr.contains(&format!("answer the request: fairway approvals answer {id} allow")),
        "{}",
        sent.stderr
    );
    assert!(!sent.stderr.contains("attach"), "{}", sent.stderr);
    scene.run(["approvals", "answer", &id, "allow"]).exits(0);
}

#[test]
fn rule_that_is_added_later_holds_for_a_session_that_runs() {
    let scene = Scene::with("", "[guard]\ndefault = \"allow\"\n");
    scene.begin();
    let file = scene.root().join(".fairway.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("[guard]\ndefault = \"allow\"\n", RULES)).unwrap();
    scene.run(["trust"]).exits(0);
    scene.prompt("RUN[[touch denied]]");
    scene.shows("[denied: no-canary: canaries are for people]");
}

#[test]
fn question_that_is_over_disappears() {
    let scene = Scene::launched();
    let is_gone = || scene.json(["approvals", "list"]) == json!([]);
    scene.prompt("WITHDRAW");
    scene.asked();
    std::fs::write(scene.root().join("withdraw"), "").unwrap();
    scene.shows("withdrawn: -32800");
    assert!(is_gone());
    scene.wait_until_idle();
    scene.prompt("RUN[[touch cancelled]]");
    let asked = scene.asked();
    scene.run(["session", "interrupt", "s"]).exits(0);
    eventually("it disappears", || is_gone().then_some(()));
    scene.shows("[turn ended: cancelled]");
    let late = scene.run(["approvals", "answer", &asked["id"].to_string(), "allow", "--json"]);
    late.refuses(4, "approval_lapsed");
    assert!(!scene.has("cancelled"));
    let why = scene.rows("SELECT reason FROM approvals ORDER BY id");
    assert_eq!(why[0]["reason"], "the agent has withdrawn the question");
    assert_eq!(why[1]["reason"], "the turn was cancelled");
}

#[test]
fn question_is_in_the_list_soon() {
    let scene = Scene::launched();
    let count = if soak::is_on() { 100 } else { 3 };
    for _ in 0..count {
        scene.prompt("RUN[[true]]");
        let asked = scene.asked()["id"].to_string();
        scene.run(["approvals", "answer", &asked, "allow"]).exits(0);
        scene.wait_until_idle();
    }
    // The agent has written down when it asked, and the store when the approval was there. The first question is the canary's.
    let asked = std::fs::read_to_string(scene.dir().join("prompts.asked")).unwrap();
    let asked: Vec<i64> = asked.lines().skip(1).map(|line| line.parse().unwrap()).collect();
    let stored = scene.rows("SELECT 'ms' || asked_at AS at FROM approvals ORDER BY id");
    let stored = stored.iter().map(|row| row["at"].trim_start_matches("ms").parse::<i64>().unwrap());
    let mut spans: Vec<i64> = asked.iter().zip(stored).map(|(asked, stored)| stored - asked).collect();
    assert_eq!(spans.len(), count);
    spans.sort_unstable();
    let (median, longest) = (spans[count / 2], spans[count - 1]);
    println!("from a question to its approval: median {median} ms, longest {longest} ms, of {count}");
    soak::took(Duration::from_millis(u64::try_from(median).unwrap()), ..Duration::from_millis(50), "the median");
}
