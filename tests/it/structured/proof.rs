//! `doctor agents`: what a canary proves, where that is shown, and what becomes of an agent without a proof.

use std::fs;

use serde_json::{Value, json};

use super::Scene;

fn canary(scene: &Scene, code: i32) -> Value {
    let tried = scene.run(["doctor", "agents", "fake", "--json"]).exits(code).stdout;
    serde_json::from_str::<Value>(&tried).unwrap()[0].clone()
}

fn listed(scene: &Scene) -> Value {
    let all = scene.json(["provider", "list"]);
    all.as_array().unwrap().iter().find(|one| one["name"] == "fake").cloned().unwrap()
}

#[test]
fn canary_proves_only_an_agent_that_asks_and_obeys() {
    let unproven = [
        ("sly", "it ran a command without asking: Bash: touch fairway-canary"),
        ("defiant", "it ran a command that was denied"),
        ("lazy", "it did not try to run the command, so nothing is known"),
        ("deaf", "its mode is 'auto', not 'ask'"),
        ("refuse", "it refused initialize: log in first"),
    ];
    for (start, why) in unproven {
        let scene = Scene::unproven(start, "");
        let tried = canary(&scene, 1);
        assert_eq!(tried["proof"]["proven"], false, "{start}");
        assert!(tried["proof"]["reason"].as_str().unwrap().starts_with(why), "{start}: {tried}");
        // A failure is no proof for later either.
        assert_eq!(listed(&scene)["proof"]["proven"], false, "{start}");
    }
    let scene = Scene::unproven("", "");
    let tried = canary(&scene, 0);
    let expected =
        json!({ "proven": true, "reason": null, "agent": "Fake 1.2", "mode": "ask", "at": tried["proof"]["at"] });
    assert_eq!(tried["proof"], expected);
    assert_eq!(listed(&scene)["proof"], expected);
    let table = scene.run(["provider", "list"]).exits(0).stdout;
    assert!(table.lines().any(|line| line.starts_with("fake ") && line.contains(" proven today ")), "{table}");
    assert!(!scene.root().join("fairway-canary").exists());
    let left = fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    assert_eq!(left.filter(|entry| entry.file_name().to_string_lossy().starts_with("fairway-canary-")).count(), 0);
}

#[test]
fn proof_is_of_one_agent_command_mode_and_environment() {
    let scene = Scene::new();
    let reason = |scene: &Scene| {
        scene.begin();
        let shown = scene.json(["session", "show", "s"])["protocol"]["unguarded_reason"].clone();
        scene.run(["session", "stop", "s"]).exits(0);
        scene.run(["session", "forget", "s"]);
        shown
    };
    assert_eq!(reason(&scene), Value::Null);
    let file = scene.root().join(".fairway.toml");
    let before = fs::read_to_string(&file).unwrap();
    let unproven = "it is not proven that it asks; to prove it: fairway doctor agents";
    for (from, to, why) in [
        ("FAKE_ACP = \"\"", "FAKE_ACP = \"\"\nMORE = \"1\"", unproven),
        ("mode = \"ask\"", "mode = \"auto\"", unproven),
    ] {
        fs::write(&file, before.replace(from, to)).unwrap();
        scene.run(["trust"]).exits(0);
        let session = scene.launch(&["--role", "dev", "--structured", "--id", &format!("s{}", to.len())]);
        let id = session["id"].as_str().unwrap().to_owned();
        assert_eq!(scene.json(["session", "show", &id])["protocol"]["unguarded_reason"], why, "{to}");
    }
}

#[test]
fn agent_without_a_proof_is_shown_on_every_board_and_refused_where_that_is_set() {
    let scene = Scene::unproven("", "");
    let why = "it is not proven that it asks; to prove it: fairway doctor agents";
    let launched = scene.run(["session", "launch", "--role", "dev", "--structured", "--id", "s"]).exits(0);
    assert!(launched.stderr.contains(&format!("s is not guarded: {why}")), "{}", launched.stderr);
    let shown = scene.run(["session", "show", "s"]).exits(0).stdout;
    assert!(shown.contains(&format!("guard       not guarded: {why}\n")), "{shown}");
    let board = scene.json(["status"]);
    assert_eq!(board["sessions"][0]["unguarded"], why, "{board}");
    let status = scene.run(["status"]).exits(0).stdout;
    assert!(status.contains("(protocol), not guarded"), "{status}");
    scene.run(["session", "stop", "s"]).exits(0);
    let strict = Scene::unproven("", "[agents]\nunguarded = \"refuse\"\n");
    let refused = strict.run(["session", "launch", "--role", "dev", "--structured", "--id", "s"]).exits(7);
    assert!(refused.stderr.contains(&format!("it is not guarded: {why}")), "{}", refused.stderr);
    strict.run(["doctor", "agents", "fake"]).exits(0);
    strict.launch(&["--role", "dev", "--structured", "--id", "t"]);
    assert_eq!(strict.json(["session", "show", "t"])["protocol"]["guarded"], true);
}

#[test]
fn doctor_agents_tries_what_is_due_and_nothing_in_a_dry_run() {
    let scene = Scene::unproven("", "");
    let tried = |words: &[&str]| scene.json(["doctor", "agents"].iter().chain(words))[0]["tried"].clone();
    let fake = |all: &Value| all.as_array().unwrap().iter().find(|one| one["provider"] == "fake").cloned().unwrap();
    let plan = fake(&scene.json(["doctor", "agents", "--dry-run"]));
    assert_eq!((&plan["tried"], &plan["proof"]), (&json!(true), &Value::Null));
    assert!(!scene.dir().join("prompts").exists());
    assert_eq!(tried(&["fake"]), true);
    assert_eq!(fake(&scene.json(["doctor", "agents", "--dry-run"]))["tried"], false, "it is proven by now");
    assert_eq!(tried(&["fake"]), true, "by its name it is tried again");
    scene.run(["doctor", "agents", "nothing", "--json"]).refuses(3, "not_found");
    let inside = scene.fairway(["doctor", "agents", "fake"]).env("FAIRWAY_SESSION_ID", "s").output().unwrap();
    assert!(!inside.status.success());
}
