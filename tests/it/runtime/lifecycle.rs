//! Lifecycle reports: late, repeated, shuffled, of the wrong run, of no run.

use std::cell::Cell;

use fairway_actions::App;
use fairway_actions::agents::runtime::lifecycle::{LifecycleReport, report};
use fairway_core::domain::lifecycle::LifecycleEvent;
use fairway_core::domain::{RunId, SessionId};
use fairway_core::env::Timestamp;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::{acting, app, at, code, one, session};
use crate::common::{TestProject, fixtures};

const RUN: &str = "00000000-0000-7000-8000-00000000000a";

fn said(event: LifecycleEvent, run_id: &str, at: Option<i64>) -> LifecycleReport {
    let at = at.map(Timestamp::from_millis);
    LifecycleReport { event, run_id: RunId::parse(run_id), session_id: None, at, metadata: Value::Null }
}

fn ended(run_id: &str, exit_code: Option<i64>) -> LifecycleReport {
    LifecycleReport { metadata: json!({ "exit_code": exit_code }), ..said(LifecycleEvent::Stopped, run_id, None) }
}

#[track_caller]
fn tell(app: &App, told: &LifecycleReport) -> Value {
    report(app, told).unwrap().document
}

/// The fields of an answer that count.
fn stands(answer: &Value) -> (String, String, bool) {
    let word = |name: &str| answer[name].as_str().unwrap().to_owned();
    (word("status"), word("activity"), answer["applied"].as_bool().unwrap())
}

#[test]
fn lifecycle_events_follow_the_table_from_every_status() {
    let world = TestProject::new();
    let app = app(&world);
    for from in ["starting", "running", "stale"] {
        for (event, status, activity) in [
            (LifecycleEvent::Started, "running", "unknown"),
            (LifecycleEvent::Ready, "running", "idle"),
            (LifecycleEvent::Busy, "running", "busy"),
            (LifecycleEvent::Idle, "running", "idle"),
            (LifecycleEvent::Stopping, "running", "stopping"),
            (LifecycleEvent::Stopped, "ended", "unknown"),
        ] {
            let id = format!("{from}-{event}");
            let told = ["session", "upsert", "--id", &id, "--role", "r", "--status", from, "--activity", "busy"];
            let run = world.json(told)["run_id"].as_str().unwrap().to_owned();
            let answer = tell(&app, &said(event, &run, None));
            assert_eq!(stands(&answer), (status.into(), activity.into(), true), "{id}");
            assert_eq!((&answer["session_id"], &answer["run_id"]), (&json!(id), &json!(run)));
        }
    }
}

#[test]
fn older_reports_move_nothing_back_and_repeats_are_harmless() {
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "r", None);
    let app = app(&world);
    let now = world.now().millis();
    let idle = ("running".to_owned(), "idle".to_owned(), true);
    assert_eq!(stands(&tell(&app, &said(LifecycleEvent::Idle, "run-s1", Some(now - 10)))), idle);
    let events = || one::<i64>(&world, "SELECT count(*) FROM events");
    let before = events();
    for _ in 0..3 {
        assert_eq!(stands(&tell(&app, &said(LifecycleEvent::Idle, "run-s1", Some(now - 10)))), idle);
        let late = tell(&app, &said(LifecycleEvent::Busy, "run-s1", Some(now - 11)));
        assert_eq!(stands(&late), ("running".into(), "idle".into(), false));
    }
    assert_eq!(events(), before, "what is no news is no event");
    // At the same moment, the one that comes later.
    let busy = tell(&app, &said(LifecycleEvent::Busy, "run-s1", Some(now - 10)));
    assert_eq!(stands(&busy), ("running".into(), "busy".into(), true));
    // A clock that goes wrong once does not deafen us: what lies far ahead was now.
    tell(&app, &said(LifecycleEvent::Idle, "run-s1", Some(now + 3_600_000)));
    let busy = tell(&at(&world, Timestamp::from_millis(now + 1)), &said(LifecycleEvent::Busy, "run-s1", None));
    assert_eq!(stands(&busy), ("running".into(), "busy".into(), true));
    // A little ahead is believed: an older one that comes later is old.
    tell(&app, &said(LifecycleEvent::Idle, "run-s1", Some(now + 60_000)));
    let late = tell(&app, &said(LifecycleEvent::Busy, "run-s1", Some(now + 59_999)));
    assert_eq!(stands(&late), ("running".into(), "idle".into(), false));
}

/// Reports in the order of their times, or in another one, lead to the same end.
#[test]
fn shuffled_reports_lead_to_the_same_state() {
    const CASES: u32 = 200;
    let world = TestProject::new();
    let app = app(&world);
    let now = world.now().millis();
    let others: Vec<LifecycleEvent> =
        LifecycleEvent::ALL.iter().copied().filter(|event| *event != LifecycleEvent::Stopped).collect();
    let live = prop::collection::vec(prop::sample::select(others), 1..8);
    let end = prop::option::of((any::<Index>(), prop::option::of(0_i64..2)));
    let order = prop::collection::vec(any::<u32>(), 9);
    let number = Cell::new(0);
    // How often the order of arrival alone would have led elsewhere: else this proves nothing.
    let misled = Cell::new(0);
    let config = ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new(config)
        .run(&(live, end, order), |(live, end, order)| {
            let mut reports: Vec<(LifecycleEvent, Option<i64>)> = live.into_iter().map(|event| (event, None)).collect();
            if let Some((place, exit_code)) = end {
                reports.insert(place.index(reports.len() + 1), (LifecycleEvent::Stopped, exit_code));
            }
            let mut shuffled: Vec<usize> = (0..reports.len()).collect();
            shuffled.sort_by_key(|place| order[*place]);
            let play = |places: &[usize]| {
                number.set(number.get() + 1);
                let id = format!("s{}", number.get());
                fixtures::add_session(&world, &id, "r", None);
                for place in places {
                    let (event, exit_code) = reports[*place];
                    let told = LifecycleReport {
                        metadata: json!({ "exit_code": exit_code }),
                        ..said(event, &format!("run-{id}"), Some(now - 1_000 + i64::try_from(*place).unwrap()))
                    };
                    if let Err(error) = report(&app, &told) {
                        assert_eq!(fairway_actions::core::errors::classify(&error).code, "session_final");
                    }
                }
                let query = format!(
                    "SELECT status || ' ' || activity || ' ' || coalesce(exit_code, '-') FROM agent_sessions \
                     WHERE id = '{id}'"
                );
                one::<String>(&world, &query)
            };
            let sorted = play(&(0..reports.len()).collect::<Vec<_>>());
            prop_assert_eq!(play(&shuffled), sorted);
            let last = |places: &[usize]| reports[*places.last().unwrap()].0;
            misled.set(misled.get() + usize::from(last(&shuffled) != reports.last().unwrap().0));
            Ok(())
        })
        .unwrap();
    let misled = misled.get();
    assert!(misled > 20, "only {misled} of {CASES} orders matter");
}

#[test]
fn stopped_report_records_how_and_is_final() {
    let world = TestProject::new();
    let app = app(&world);
    for (exit_code, status) in [(None, "ended"), (Some(0), "ended"), (Some(3), "failed"), (Some(-9), "failed")] {
        let id = format!("s{}", exit_code.map_or("none".into(), |code: i64| code.unsigned_abs().to_string()));
        fixtures::add_session(&world, &id, "r", None);
        let run = format!("run-{id}");
        let answer = tell(&app, &ended(&run, exit_code));
        assert_eq!((answer["status"].as_str(), answer["exit_code"].as_i64()), (Some(status), exit_code));
        // Again, also with another code: it stays as it is.
        for told in [ended(&run, exit_code), ended(&run, Some(7))] {
            let again = tell(&app, &told);
            assert_eq!((again["status"].as_str(), again["exit_code"].as_i64()), (Some(status), exit_code));
            assert_eq!(again["applied"], false);
        }
        for event in LifecycleEvent::ALL.iter().filter(|event| **event != LifecycleEvent::Stopped) {
            assert_eq!(code(report(&app, &said(*event, &run, None))), "session_final", "{event}");
        }
    }
    // One that was told to stop has not failed, whatever its program makes of the signal.
    fixtures::add_session(&world, "told", "r", None);
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    let told = "UPDATE agent_sessions SET activity = 'stopping', activity_source = 'fairway session stop', \
         reason = 'being stopped by ann@here' WHERE id = 'told'";
    conn.execute(told, []).unwrap();
    let idle = tell(&app, &said(LifecycleEvent::Idle, "run-told", None));
    assert_eq!(stands(&idle).1, "stopping", "it is being stopped");
    assert_eq!(tell(&app, &ended("run-told", Some(143)))["status"], "ended");
    assert_eq!(session(&world, "told")["reason"], "stopped by ann@here");
}

#[test]
fn unknown_run_is_registered_only_by_a_start_with_a_role() {
    let world = TestProject::new();
    let app = app(&world);
    world.run(["task", "add", "T-1", "title"]).exits(0);
    let start = |metadata: Value| LifecycleReport { metadata, ..said(LifecycleEvent::Started, RUN, None) };
    for event in LifecycleEvent::ALL {
        let told = LifecycleReport { metadata: json!({"role": "r"}), ..said(*event, RUN, None) };
        if *event != LifecycleEvent::Started {
            assert_eq!(code(report(&app, &told)), "not_found", "{event}");
        }
    }
    assert_eq!(code(report(&app, &start(Value::Null))), "not_found");
    assert_eq!(code(report(&app, &start(json!({"lane": "x"})))), "not_found");
    assert_eq!(code(report(&app, &start(json!({"role": "r", "lane": "x"})))), "not_found");
    assert_eq!(code(report(&app, &start(json!({"role": "r", "task_id": "T-9"})))), "not_found");
    for wrong in [
        json!([1]),
        json!({"role": 1}),
        json!({"role": "a b"}),
        json!({"role": "r", "pid": "7"}),
        json!({"role": "r", "branch": "a\nb"}),
        json!({"role": "r", "worktree": "a\u{1b}b"}),
        json!({"role": "r", "exit_code": 1.5}),
    ] {
        assert_eq!(code(report(&app, &start(wrong.clone()))), "invalid_value", "{wrong}");
    }
    let odd = LifecycleReport { run_id: RunId::parse("my run"), ..start(json!({"role": "r"})) };
    assert_eq!(code(report(&app, &odd)), "invalid_value");
    assert_eq!(one::<i64>(&world, "SELECT count(*) FROM agent_sessions"), 0, "nothing was written");

    let metadata = json!({
        "role": "backend", "task_id": "T-1", "provider": "acme", "external_session_id": "x1", "branch": "b",
        "pid": std::process::id(), "unknown": [1],
    });
    let told = LifecycleReport { session_id: Some(SessionId::parse("be-1").unwrap()), ..start(metadata.clone()) };
    let answer = tell(&app, &told);
    assert_eq!((&answer["session_id"], &answer["created"]), (&json!("be-1"), &json!(true)));
    let known = session(&world, "be-1");
    for (name, value) in [("run_id", RUN), ("role", "backend"), ("task_id", "T-1"), ("branch", "b")] {
        assert_eq!(known[name], value);
    }
    assert_eq!(known["pid"], std::process::id());
    assert_eq!(world.json(["task", "show", "T-1"])["status"], "todo", "a report claims nothing");
    // Told again, in another spelling of the run, it is the same one.
    let again = tell(&app, &LifecycleReport { run_id: RunId::parse(&RUN.to_uppercase()), ..told });
    assert_eq!((&again["created"], &again["applied"]), (&json!(false), &json!(true)));
    assert_eq!(one::<i64>(&world, "SELECT count(*) FROM agent_sessions"), 1);
    // Without an id it gets one.
    let other = "00000000-0000-7000-8000-00000000000b";
    let answer = tell(&app, &LifecycleReport { run_id: RunId::parse(other), ..start(json!({"role": "qa"})) });
    assert!(answer["session_id"].as_str().unwrap().starts_with("qa-"), "{answer}");
    // Two live sessions are not one conversation.
    let twin = LifecycleReport { run_id: RunId::parse("00000000-0000-7000-8000-00000000000c"), ..start(metadata) };
    assert_eq!(code(report(&app, &twin)), "session_mismatch");
}

#[test]
fn run_and_session_belong_together() {
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "r", None);
    fixtures::add_session(&world, "s2", "r", None);
    let app = app(&world);
    let named = |id: &str, run_id: &str| LifecycleReport {
        session_id: Some(SessionId::parse(id).unwrap()),
        metadata: json!({"role": "r"}),
        ..said(LifecycleEvent::Started, run_id, None)
    };
    assert_eq!(code(report(&app, &named("s2", "run-s1"))), "session_mismatch");
    assert_eq!(code(report(&app, &named("s1", RUN))), "session_mismatch");
    let other = LifecycleReport { metadata: json!({"role": "x"}), ..named("s1", "run-s1") };
    assert_eq!(code(report(&app, &other)), "session_mismatch");
    // A start tells more of a session that is known; its lane and task are not its own to say.
    let more =
        json!({"role": "r", "provider": "acme", "external_session_id": "x", "lane": "nowhere", "task_id": "T-9"});
    tell(&app, &LifecycleReport { metadata: more, ..named("s1", "run-s1") });
    let known = session(&world, "s1");
    assert_eq!((known["provider"].as_str(), known["external_session_id"].as_str()), (Some("acme"), Some("x")));
    assert_eq!((&known["lane"], &known["task_id"]), (&Value::Null, &Value::Null));
    // Whoever acts as that session may report too.
    tell(&acting(&app, "s1"), &said(LifecycleEvent::Busy, "run-s1", None));
    assert_eq!(session(&world, "s1")["activity"], "busy");
}

#[test]
fn report_renews_leases_and_masks_secrets() {
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "r", None);
    world.run(["task", "add", "T-1", "title"]).exits(0);
    let claimed = world.json(["--session", "s1", "claim", "T-1", "--lease", "60s"]);
    let before = claimed["task"]["claim"]["lease_until"].as_str().unwrap().to_owned();
    world.advance_clock(30);
    let app = app(&world);
    tell(&app, &said(LifecycleEvent::Busy, "run-s1", None));
    let after = world.json(["task", "show", "T-1"])["claim"]["lease_until"].as_str().unwrap().to_owned();
    assert!(after > before, "{after}");
    let reason = "the key sk-abcdefghijklmnopqrstuvwxyz is wrong";
    let told = LifecycleReport { metadata: json!({"exit_code": 1, "reason": reason}), ..ended("run-s1", None) };
    tell(&app, &told);
    let reason = session(&world, "s1")["reason"].as_str().unwrap().to_owned();
    assert!(
        reason.starts_with("its program ended with exit code 1: the key ") && !reason.contains("abcdef"),
        "{reason}"
    );
}
