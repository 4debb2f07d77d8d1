//! `fairway usage`.

use fairway_actions::sessions::report::telemetry::{ToolUse, Turn, Usage, report};
use fairway_core::domain::RunId;
use fairway_core::env::Timestamp;

use crate::common::{TestProject, fixtures};
use crate::runtime::app;

#[test]
fn usage_is_summed_over_turns() {
    let world = TestProject::new();
    fixtures::add_lane(&world, "ui", None, None);
    fixtures::add_lane(&world, "db", None, None);
    fixtures::add_session(&world, "s1", "frontend", Some("ui"));
    fixtures::add_session(&world, "s2", "backend", None);
    for id in ["T-1", "T-2"] {
        world.run(["task", "add", id, "title"]).exits(0);
    }
    let day = 24 * 60 * 60 * 1_000;
    let beginning = 1_767_225_600_000;
    let told = |run: &str, task: Option<&str>, model: Option<&str>, at: i64, cost_usd: Option<f64>| {
        if let Some(task) = task {
            let lane = if task == "T-1" { "ui" } else { "db" };
            world.run(["session", "upsert", "--id", "s1", "--task-id", task, "--lane", lane]).exits(0);
        }
        let usage = Usage {
            model: model.map(str::to_owned),
            input_tokens: 1_000,
            output_tokens: 100,
            cache_read_tokens: 10,
            cache_creation_tokens: 1,
            cost_usd,
        };
        let tool = ToolUse { key: None, name: "Bash".into(), success: Some(cost_usd.is_none()), duration_ms: None };
        let turn = Turn { at: Timestamp::from_millis(at), key: None, usage: Some(usage), tools: vec![tool] };
        report(&app(&world), &RunId::parse(run), &[turn]).unwrap();
    };
    told("run-s1", Some("T-1"), Some("large"), beginning - 9 * day, Some(0.25));
    told("run-s1", Some("T-1"), Some("small"), beginning - day, None);
    told("run-s1", Some("T-2"), Some("large"), beginning, Some(0.5));
    told("run-s2", None, None, beginning, None);
    insta::assert_snapshot!(world.transcript(&[
        "fairway usage",
        "fairway usage --by lane",
        "fairway usage --by task --since 2d",
        "fairway usage --by role --quiet",
        "fairway usage --by model --of-session s1",
        "fairway usage --by day",
        "fairway usage --by day --since 2025-12-31",
        "fairway usage --since 2027-01-01",
        "fairway usage --json --by model --of-session s2 --of-session s1 --of-session s2",
        "fairway usage --by colour",
        "fairway usage --since soon",
        "fairway usage --of-session nobody",
    ]), @r#"
    $ fairway usage
    SESSION  TURNS  INPUT  OUTPUT  CACHE READ  CACHE WRITE  COST                       TOOL CALLS  FAILED
    s1       3      3000   300     30          3            $0.7500 + 1 turn unknown   3           2
    s2       1      1000   100     10          1            unknown                    1           0
    total    4      4000   400     40          4            $0.7500 + 2 turns unknown  4           2
    $ fairway usage --by lane
    LANE   TURNS  INPUT  OUTPUT  CACHE READ  CACHE WRITE  COST                       TOOL CALLS  FAILED
    ui     2      2000   200     20          2            $0.2500 + 1 turn unknown   2           1
    -      1      1000   100     10          1            unknown                    1           0
    db     1      1000   100     10          1            $0.5000                    1           1
    total  4      4000   400     40          4            $0.7500 + 2 turns unknown  4           2
    $ fairway usage --by task --since 2d
    TASK   TURNS  INPUT  OUTPUT  CACHE READ  CACHE WRITE  COST                       TOOL CALLS  FAILED
    -      1      1000   100     10          1            unknown                    1           0
    T-1    1      1000   100     10          1            unknown                    1           0
    T-2    1      1000   100     10          1            $0.5000                    1           1
    total  3      3000   300     30          3            $0.5000 + 2 turns unknown  3           1
    $ fairway usage --by role --quiet
    frontend
    backend
    $ fairway usage --by model --of-session s1
    MODEL  TURNS  INPUT  OUTPUT  CACHE READ  CACHE WRITE  COST                      TOOL CALLS  FAILED
    large  2      2000   200     20          2            $0.7500                   2           2
    small  1      1000   100     10          1            unknown                   1           0
    total  3      3000   300     30          3            $0.7500 + 1 turn unknown  3           2
    $ fairway usage --by day
    DAY         TURNS  INPUT  OUTPUT  CACHE READ  CACHE WRITE  COST                       TOOL CALLS  FAILED  CLAIMED  DONE  CLAIM TO DONE
    2025-12-23  1      1000   100     10          1            $0.2500                    1           1       0        0     -
    2025-12-31  1      1000   100     10          1            unknown                    1           0       0        0     -
    2026-01-01  2      2000   200     20          2            $0.5000 + 1 turn unknown   2           1       0        0     -
    total       4      4000   400     40          4            $0.7500 + 2 turns unknown  4           2       0        0     -
    $ fairway usage --by day --since 2025-12-31
    DAY         TURNS  INPUT  OUTPUT  CACHE READ  CACHE WRITE  COST                       TOOL CALLS  FAILED  CLAIMED  DONE  CLAIM TO DONE
    2025-12-31  1      1000   100     10          1            unknown                    1           0       0        0     -
    2026-01-01  2      2000   200     20          2            $0.5000 + 1 turn unknown   2           1       0        0     -
    total       3      3000   300     30          3            $0.5000 + 2 turns unknown  3           1       0        0     -
    $ fairway usage --since 2027-01-01
    nothing was reported
    $ fairway usage --json --by model --of-session s2 --of-session s1 --of-session s2
    {"by":"model","since":null,"rows":[{"key":"large","turns":2,"input_tokens":2000,"output_tokens":200,"cache_read_tokens":20,"cache_creation_tokens":2,"cost_usd":0.75,"turns_without_cost":0,"tools":2,"tool_failures":2},{"key":null,"turns":1,"input_tokens":1000,"output_tokens":100,"cache_read_tokens":10,"cache_creation_tokens":1,"cost_usd":null,"turns_without_cost":1,"tools":1,"tool_failures":0},{"key":"small","turns":1,"input_tokens":1000,"output_tokens":100,"cache_read_tokens":10,"cache_creation_tokens":1,"cost_usd":null,"turns_without_cost":1,"tools":1,"tool_failures":0}],"total":{"key":null,"turns":4,"input_tokens":4000,"output_tokens":400,"cache_read_tokens":40,"cache_creation_tokens":4,"cost_usd":0.75,"turns_without_cost":2,"tools":4,"tool_failures":2}}
    $ fairway usage --by colour
    error: invalid value 'colour' for '--by <BY>': 'colour' is none of session, lane, task, role, model, day
    hint: read the help: fairway usage --help
    [exit 2]
    $ fairway usage --since soon
    error: since 'soon' is no date (2026-01-31), time or span (7d)
    [exit 2]
    $ fairway usage --of-session nobody
    error: there is no session 'nobody'
    hint: list the sessions: fairway session list --all
    [exit 3]
    "#);
}

/// Each command takes a second of the clock, and more where the test lets it pass.
#[test]
fn tasks_per_day_have_claims_completions_and_times_in_states() {
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "backend", None);
    let step = |seconds: i64, call: &str| {
        world.advance_clock(seconds - 1);
        world.run(call.split(' ')).exits(0);
    };
    step(10, "task add T-1 one");
    step(100, "claim T-1 --session s1");
    step(60, "task block T-1 --reason rain --session s1");
    step(30, "task unblock T-1 --session s1");
    step(20, "task submit T-1 --session s1");
    step(14, "evidence add T-1 --result pass --session s1");
    step(1, "done T-1 --session s1");
    step(5, "task add T-2 two");
    step(7, "claim T-2");
    // A second claim on the same day counts once, and the claim lasts from the first one.
    step(3, "release T-2");
    step(2, "claim T-2");
    step(24 * 60 * 60 - 1, "evidence add T-2 --result pass");
    step(1, "done T-2");
    let times = |claim_to_done: i64, todo: i64, in_progress: i64, blocked: i64, review: i64| {
        serde_json::json!({ "claim_to_done": claim_to_done, "todo": todo, "in_progress": in_progress,
            "blocked": blocked, "review": review })
    };
    let tasks = |claimed: i64, done: i64, median: &serde_json::Value| serde_json::json!({ "claimed": claimed, "done": done, "median_seconds": median });
    let day = 24 * 60 * 60;
    let first = times(125, 100, 80, 30, 15);
    let second = times(day + 5, 9, day + 3, 0, 0);
    let usage = world.json(["usage", "--by", "day"]);
    let keys: Vec<&str> = usage["rows"].as_array().unwrap().iter().map(|row| row["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["2026-01-01", "2026-01-02"]);
    assert_eq!(usage["rows"][0]["tasks"], tasks(2, 1, &first));
    assert_eq!(usage["rows"][1]["tasks"], tasks(0, 1, &second));
    let middle = times((125 + day + 5) / 2, 54, (80 + day + 3) / 2, 15, 7);
    assert_eq!(usage["total"]["tasks"], tasks(2, 2, &middle));
    assert!(world.json(["usage"])["total"].get("tasks").is_none());
    // The claims and completions of a session, and those since a day; the times stay whole.
    let of_session = world.json(["usage", "--by", "day", "--of-session", "s1"]);
    assert_eq!(of_session["total"]["tasks"], tasks(1, 1, &first));
    let since = world.json(["usage", "--by", "day", "--since", "2026-01-02"]);
    assert_eq!(since["rows"].as_array().unwrap().len(), 1);
    assert_eq!(since["total"]["tasks"], tasks(0, 1, &second));
}
