//! Reports of turns: twice, too much, too late.

use fairway_actions::sessions::report::telemetry::{ToolUse, Turn, Usage, report};
use fairway_core::domain::RunId;
use fairway_core::env::Timestamp;

use super::{app, code, one};
use crate::common::{TestProject, fixtures};

fn turn(at: i64, input: u64, tools: &[&str]) -> Turn {
    let usage = Usage { input_tokens: input, output_tokens: 10, ..Usage::default() };
    let tools = tools.iter().map(|name| ToolUse {
        key: None,
        name: (*name).into(),
        success: Some(*name != "Bad"),
        duration_ms: Some(5),
    });
    Turn { at: Timestamp::from_millis(at), key: None, usage: Some(usage), tools: tools.collect() }
}

fn counts(world: &TestProject) -> (i64, i64, i64, i64) {
    let count = |query: &str| one::<i64>(world, query);
    (
        count("SELECT count(*) FROM usage_turns"),
        count("SELECT coalesce(sum(input_tokens), 0) FROM usage_turns"),
        count("SELECT count(*) FROM tool_calls"),
        count("SELECT count(*) FROM events WHERE kind = 'usage.reported'"),
    )
}

#[test]
fn report_that_comes_twice_counts_once() {
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "r", None);
    fixtures::add_session(&world, "s2", "r", None);
    let app = app(&world);
    let turns = [turn(1, 5, &["Read", "Read", "Bad"]), turn(2, 5, &[]), turn(2, 6, &[])];
    let first = report(&app, &RunId::parse("run-s1"), &turns).unwrap().document;
    assert_eq!(first, serde_json::json!({"turns": 3, "turns_known": 0, "tools": 3, "tools_known": 0}));
    for part in [&turns[..], &turns[1..], &turns[..1]] {
        let again = report(&app, &RunId::parse("run-s1"), part).unwrap().document;
        assert_eq!((&again["turns"], &again["tools"]), (&0.into(), &0.into()));
    }
    assert_eq!(counts(&world), (3, 16, 3, 1));
    // The same numbers of another run are other turns.
    report(&app, &RunId::parse("run-s2"), &turns).unwrap();
    assert_eq!(counts(&world), (6, 32, 6, 2));
    assert_eq!(code(report(&app, &RunId::parse("run-s3"), &turns)), "not_found");
}

#[test]
fn turn_with_a_key_counts_once_at_any_time() {
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "r", None);
    let app = app(&world);
    let keyed = |at: i64, output: u64| Turn {
        key: Some("answer-1".into()),
        usage: Some(Usage { input_tokens: 5, output_tokens: output, cost_usd: None, ..Usage::default() }),
        ..turn(at, 0, &[])
    };
    report(&app, &RunId::parse("run-s1"), &[keyed(1, 10)]).unwrap();
    report(&app, &RunId::parse("run-s1"), &[keyed(9, 10), keyed(10, 4)]).unwrap();
    let output = || one::<i64>(&world, "SELECT sum(output_tokens) FROM usage_turns");
    assert_eq!((counts(&world), output()), ((1, 5, 0, 1), 10));
    // Written again with more in it.
    report(&app, &RunId::parse("run-s1"), &[keyed(11, 25)]).unwrap();
    assert_eq!((counts(&world), output()), ((1, 5, 0, 1), 25));
    // Calls have names too, also when two doors tell of them; without a turn they are no event.
    let call = |at: i64, key: &str| Turn {
        usage: None,
        tools: vec![ToolUse { key: Some(key.into()), name: "Bash".into(), success: None, duration_ms: None }],
        ..turn(at, 0, &[])
    };
    report(&app, &RunId::parse("run-s1"), &[call(3, "a"), call(3, "b"), call(4, "a")]).unwrap();
    assert_eq!(counts(&world), (1, 5, 2, 1));
}

#[test]
fn wrong_number_leaves_nothing_of_the_report() {
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "r", None);
    let app = app(&world);
    let wrong = Turn { usage: Some(Usage { cost_usd: Some(-1.0), ..Usage::default() }), ..turn(2, 1, &[]) };
    let error = report(&app, &RunId::parse("run-s1"), &[turn(1, 1, &["Read"]), wrong]).unwrap_err();
    assert_eq!(error.to_string(), "cost_usd of events[1] is -1, which no turn costs");
    assert_eq!(counts(&world), (0, 0, 0, 0));
    let many = vec![turn(1, 1, &[]); 10_001];
    assert_eq!(code(report(&app, &RunId::parse("run-s1"), &many)), "invalid_value");
}

#[test]
fn report_after_the_end_counts_and_revives_nothing() {
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "r", None);
    let app = app(&world);
    world.run(["session", "upsert", "--id", "s1", "--status", "stale"]).exits(0);
    report(&app, &RunId::parse("run-s1"), &[turn(1, 1, &[])]).unwrap();
    assert_eq!(super::session(&world, "s1")["status"], "running", "it is a sign of life");
    world.run(["session", "end", "s1"]).exits(0);
    report(&app, &RunId::parse("run-s1"), &[turn(2, 1, &[])]).unwrap();
    assert_eq!(super::session(&world, "s1")["status"], "ended");
    assert_eq!(counts(&world).0, 2);
}

#[test]
fn usage_counts_for_the_task_claimed_then() {
    let world = TestProject::new();
    fixtures::add_lane(&world, "ui", None, None);
    fixtures::add_session(&world, "s1", "r", None);
    let app = app(&world);
    for (number, words) in [
        "task add T-1 first --lane ui", "task add T-2 second", "--session s1 claim T-1", "--session s1 claim T-2",
        "--session s1 release T-2", "--session s1 release T-1",
    ]
    .iter()
    .enumerate()
    {
        world.run(words.split(' ')).exits(0);
        report(&app, &RunId::parse("run-s1"), &[turn(i64::try_from(number).unwrap(), 1, &["Read"])]).unwrap();
    }
    for table in ["usage_turns", "tool_calls"] {
        let query =
            format!("SELECT group_concat(coalesce(task_id, '-') || ' ' || coalesce(lane, '-'), ', ') FROM {table}");
        assert_eq!(one::<String>(&world, &query), "- -, - -, T-1 ui, T-2 -, T-1 ui, - -", "{table}");
    }
}

/// The plans of the sums name an index, however much was reported.
#[test]
fn sums_are_read_through_an_index() {
    let world = TestProject::new();
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    for table in ["usage_turns", "tool_calls"] {
        for (index, place) in [("at", "at >= 5"), ("session", "session_id = 's1' AND at >= 5")] {
            let query =
                format!("EXPLAIN QUERY PLAN SELECT count(*) FROM {table} INDEXED BY {table}_{index} WHERE {place}");
            let plan: String = conn.query_row(&query, [], |row| row.get(3)).unwrap();
            assert!(plan.contains(&format!("{table}_{index}")) && plan.starts_with("SEARCH"), "{plan}");
        }
    }
}
