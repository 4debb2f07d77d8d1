//! Sessions at the usage limit of their provider.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use super::turn_end::{configure, needs, working};
use super::{event, silent};
use crate::common::TestProject;

#[test]
fn usage_limit_parks_a_session_until_its_reset_and_an_ordinary_refusal_does_not() {
    let world = TestProject::new();
    configure(&world, "1ms");
    let id = working(&world, "claude");
    let record = world.dir().join("record.jsonl");
    let fails = |line: Value| {
        fs::write(&record, format!("{line}\n")).unwrap();
        let mut failure = event("StopFailure", "a", json!({ "error": "rate_limit" }));
        failure["transcript_path"] = record.to_str().unwrap().into();
        silent(&world.hook("claude", &failure));
        world.session()["parked"].clone()
    };
    let limit = |from_now: u64| {
        let until = world.now().plus(Duration::from_secs(from_now)).millis() / 1_000;
        json!({ "apiError": "usage_limit_reached", "error": "rate_limit", "apiErrorStatus": 429,
            "quotaLimits": { "status": "rejected", "resetsAt": until } })
    };
    assert_eq!(fails(json!({ "error": "rate_limit", "isApiErrorMessage": true, "apiErrorStatus": 429 })), Value::Null);
    assert_eq!(needs(&world)[0]["kind"], "unfinished");
    // It waits for its time, with one item while nobody else works, and prompts wait with it.
    let parked = fails(limit(600));
    assert_eq!((&parked["kind"], &parked["why"]), (&json!("usage_limit"), &json!("usage limit of claude")));
    let items = needs(&world);
    assert_eq!((items.len(), &world.session()["turn_end"]["meaning"]), (1, &json!("waits")));
    assert_eq!(
        (&items[0]["id"], &items[0]["commands"][0]["command"]),
        (&json!("parked:all"), &json!(format!("fairway session unpark {id}")))
    );
    let line = items[0]["line"].as_str().unwrap();
    assert!(
        line.starts_with("no agent works until ") && line.ends_with("(usage limit of claude): 1 session is parked"),
        "{line}"
    );
    let shown = world.run(["session", "list"]).exits(0).stdout;
    assert!(shown.contains("parked until ") && shown.contains("(usage limit of claude)"), "{shown}");
    let sent = world.json(["prompt", &id, "go on"]);
    assert_eq!(sent["reason"], "session_parked", "{sent}");
    // A turn that begins ends the parking, and brings nothing into what the provider may refuse again.
    let begins = event("UserPromptSubmit", "a", json!({ "prompt": "Continue the task" }));
    silent(&world.hook("claude", &begins));
    assert_eq!(world.session()["parked"], Value::Null);
    assert_eq!(fails(limit(600))["why"], "usage limit of claude");
    world.advance_clock(900);
    assert_eq!((&world.session()["parked"], &needs(&world)[0]["kind"]), (&Value::Null, &json!("unfinished")));
    // The prompt comes with the next turn.
    let turn = world.hook("claude", &begins).exits(0).stdout;
    assert!(turn.contains("go on"), "{turn}");
    let kinds = "SELECT count(*) FROM events WHERE kind = 'session.parked'";
    assert_eq!(world.value(kinds), "2");
}
