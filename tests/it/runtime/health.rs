//! Health, heartbeats, and a context that fills up.

use fairway_actions::agents::runtime::context::{Mode, Section, SectionKind, push};
use fairway_actions::agents::runtime::health::{HealthReport, heartbeat, of_run};
use fairway_core::domain::RunId;
use fairway_core::domain::rules::runtime_health::HealthStatus;
use fairway_core::domain::session::Activity;
use fairway_core::env::Timestamp;
use serde_json::{Value, json};

use super::{app, at, code, one};
use crate::common::{TestProject, fixtures};

fn beat(context_usage: Option<f64>) -> HealthReport {
    HealthReport { run_id: RunId::parse("run-s1"), activity: None, waiting_for: None, context_usage, error: None }
}

/// The system prompts that ask a session to hand over, as far as they are not settled.
fn asked(world: &TestProject) -> Vec<Value> {
    let unsettled = world.json(["outbox"]);
    let unsettled = unsettled.as_array().unwrap().iter();
    unsettled.filter(|message| message["source"] == "context").cloned().collect()
}

#[test]
fn health_reports_the_last_heartbeat_and_its_age() {
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "r", None);
    let begun = world.now().millis();
    let look = |seconds: i64| {
        of_run(&at(&world, Timestamp::from_millis(begun + seconds * 1_000)), &RunId::parse("run-s1")).unwrap()
    };
    let first = look(100);
    assert_eq!(
        (first.status, first.uptime_seconds, first.current_state),
        (HealthStatus::Healthy, 100, Activity::Unknown)
    );
    // Half of the thirty minutes after which it would be stale.
    assert_eq!((look(900).status, look(901).status), (HealthStatus::Healthy, HealthStatus::Degraded));
    let told = HealthReport {
        activity: Some(Activity::RequiresAction),
        waiting_for: Some("approval: ls".into()),
        ..beat(Some(0.5))
    };
    let later = at(&world, Timestamp::from_millis(begun + 901_000));
    let heard = heartbeat(&later, &told).unwrap().document;
    assert_eq!((&heard["status"], &heard["current_state"]), (&json!("degraded"), &json!("requires_action")));
    assert_eq!((&heard["error"], &heard["pressed"]), (&json!("it waits for approval: ls"), &json!(false)));
    let fine = HealthReport { activity: Some(Activity::Idle), ..beat(None) };
    let heard = heartbeat(&later, &fine).unwrap().document;
    assert_eq!((&heard["status"], &heard["context_usage"]), (&json!("healthy"), &json!(0.5)));
    // A reported error stays until a report has none; its secrets do not.
    let wrong = HealthReport { error: Some("no disk, token=abcdefghijklmnop".into()), ..beat(None) };
    let heard = heartbeat(&later, &wrong).unwrap().document;
    assert_eq!(heard["status"], "degraded");
    assert!(heard["error"].as_str().unwrap().starts_with("no disk") && !heard.to_string().contains("abcdef"));
    assert_eq!(heartbeat(&later, &beat(None)).unwrap().document["status"], "healthy");
    world.run(["session", "end", "s1", "--exit-code", "1", "--reason", "it broke"]).exits(0);
    let over = look(2_000);
    assert_eq!((over.status, over.error.as_deref()), (HealthStatus::Unhealthy, Some("it is failed: it broke")));
    assert_eq!(code(heartbeat(&later, &beat(None))), "session_final");
    assert_eq!(code(of_run(&later, &RunId::parse("run-s2"))), "not_found");
}

#[test]
fn heartbeat_with_an_invalid_field_is_refused() {
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "r", None);
    let app = app(&world);
    for share in [-0.1, 1.1, f64::NAN] {
        assert_eq!(code(heartbeat(&app, &beat(Some(share)))), "invalid_value");
    }
    let waits = HealthReport { waiting_for: Some("x".into()), ..beat(None) };
    assert_eq!(code(heartbeat(&app, &waits)), "usage");
    let garbled = HealthReport { error: Some("\u{1b}[2J".into()), ..beat(None) };
    assert_eq!(code(heartbeat(&app, &garbled)), "invalid_value");
    assert_eq!(one::<i64>(&world, "SELECT count(*) FROM session_reports"), 0);
}

#[test]
fn full_context_is_told_once_until_it_was_emptier() {
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "r", None);
    world.run(["task", "add", "T-1", "title"]).exits(0);
    world.run(["--session", "s1", "claim", "T-1"]).exits(0);
    let app = app(&world);
    let press = |share: f64| heartbeat(&app, &beat(Some(share))).unwrap().document["pressed"].as_bool().unwrap();
    assert!(!press(0.79));
    assert!(press(0.8));
    let told = asked(&world);
    assert_eq!((told.len(), &told[0]["priority"], &told[0]["to_session"]), (1, &json!("system"), &json!("s1")));
    let words = told[0]["content"].as_str().unwrap();
    assert!(words.contains("80 % full") && words.contains("checkpoint record T-1"), "{words}");
    assert!(!press(0.85) && !press(0.95), "once is enough");
    // Emptier and full again, while the first one was not read: that one says it.
    assert!(!press(0.3) && !press(0.9));
    assert_eq!(asked(&world).len(), 1);
    world.run(["--session", "s1", "inbox", "--ack"]).exits(0);
    assert!(!press(0.91), "it was read, and the context has not been emptier since");
    assert!(!press(0.2) && press(0.9));
    assert_eq!(asked(&world).len(), 1);
    // The command line's heartbeat is the same one.
    fixtures::add_session(&world, "s2", "r", None);
    let run = world.run(["session", "heartbeat", "s2", "--context-usage", "0.9"]).exits(0);
    assert!(run.stderr.contains("context of s2 is nearly full; a handoff was requested"), "{run:?}");
    assert_eq!(asked(&world).len(), 2);
    let facts = world.json(["explain", "session", "s2"]);
    assert!(facts.to_string().contains("context 90 % full, handoff requested"), "{facts}");
}

#[test]
fn pushed_context_is_one_system_prompt() {
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "r", None);
    let app = app(&world);
    let section = |kind, content: &str| Section { kind, content: content.into() };
    let sections = [section(SectionKind::Work, "do this"), section(SectionKind::Directive, "then that")];
    push(&app, &RunId::parse("run-s1"), &sections, Mode::Compact).unwrap();
    let queued = world.json(["outbox"]);
    assert_eq!(queued.as_array().unwrap().len(), 1);
    assert_eq!((&queued[0]["priority"], &queued[0]["source"]), (&json!("system"), &json!("prime")));
    assert_eq!(queued[0]["content"], "## work\ndo this\n\n## directive\nthen that\n");
    assert_eq!(queued[0]["metadata"]["mode"], "compact");
    assert_eq!(queued[0]["metadata"]["types"], json!(["work", "directive"]));
    assert_eq!(code(push(&app, &RunId::parse("run-s1"), &[], Mode::Full)), "invalid_value");
    assert_eq!(
        code(push(&app, &RunId::parse("run-s1"), &[section(SectionKind::Mail, " \n")], Mode::Full)),
        "invalid_value"
    );
    let long = section(SectionKind::Work, &"x".repeat(300_000));
    assert_eq!(code(push(&app, &RunId::parse("run-s1"), &[long], Mode::Full)), "invalid_value");
    assert_eq!(code(push(&app, &RunId::parse("run-s2"), &sections, Mode::Full)), "not_found");
    world.run(["session", "end", "s1"]).exits(0);
    assert_eq!(code(push(&app, &RunId::parse("run-s1"), &sections, Mode::Full)), "session_final");
}
