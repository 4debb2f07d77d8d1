//! `fairway usage`.

use crate::common::{World, cast};

#[test]
fn what_turns_used_is_added_up() {
    let world = World::new();
    cast::lane(&world, "ui", None, None);
    cast::session(&world, "s1", "frontend", Some("ui"));
    cast::session(&world, "s2", "backend", None);
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    let day = 24 * 60 * 60 * 1_000;
    let beginning = world.now().millis();
    for (number, (session, role, lane, task, model, at, cost)) in [
        ("s1", "frontend", Some("ui"), Some("T-1"), Some("large"), beginning - 9 * day, Some(0.25)),
        ("s1", "frontend", Some("ui"), Some("T-1"), Some("small"), beginning - day, None),
        ("s1", "frontend", None, Some("T-2"), Some("large"), beginning, Some(0.5)),
        ("s2", "backend", None, None, None, beginning, None),
    ]
    .into_iter()
    .enumerate()
    {
        conn.execute(
            "INSERT INTO usage_turns (run_id, session_id, role, lane, task_id, at, digest, model, input_tokens, \
             output_tokens, cache_read_tokens, cache_creation_tokens, cost_usd) \
             VALUES ('run-' || ?1, ?1, ?2, ?3, ?4, ?6, ?7, ?5, 1000, 100, 10, 1, ?8)",
            rusqlite::params![session, role, lane, task, model, at, number.to_string(), cost],
        )
        .unwrap();
        conn.execute(
            "INSERT INTO tool_calls (run_id, session_id, role, lane, task_id, at, digest, model, name, success) \
             VALUES ('run-' || ?1, ?1, ?2, ?3, ?4, ?6, ?7, ?5, 'Bash', ?7 > 2)",
            rusqlite::params![session, role, lane, task, model, at, number.to_string()],
        )
        .unwrap();
    }
    insta::assert_snapshot!(world.transcript(&[
        "fairway usage",
        "fairway usage --by lane",
        "fairway usage --by task --since 2d",
        "fairway usage --by role --quiet",
        "fairway usage --by model --for s1",
        "fairway usage --by day",
        "fairway usage --by day --since 2025-12-31",
        "fairway usage --since 2027-01-01",
        "fairway usage --json --by model --for s2 --for s1 --for s2",
        "fairway usage --by colour",
        "fairway usage --since soon",
        "fairway usage --for nobody",
    ]), @r#"
    $ fairway usage
    SESSION  TURNS  INPUT  OUTPUT  CACHE READ  CACHE WRITE  COST                         TOOL CALLS  FAILED
    s1       3      3000   300     30          3            $0.7500 + 1 turn(s) unknown  3           0
    s2       1      1000   100     10          1            unknown                      1           0
    total    4      4000   400     40          4            $0.7500 + 2 turn(s) unknown  4           0
    $ fairway usage --by lane
    LANE   TURNS  INPUT  OUTPUT  CACHE READ  CACHE WRITE  COST                         TOOL CALLS  FAILED
    -      2      2000   200     20          2            $0.5000 + 1 turn(s) unknown  2           0
    ui     2      2000   200     20          2            $0.2500 + 1 turn(s) unknown  2           0
    total  4      4000   400     40          4            $0.7500 + 2 turn(s) unknown  4           0
    $ fairway usage --by task --since 2d
    TASK   TURNS  INPUT  OUTPUT  CACHE READ  CACHE WRITE  COST                         TOOL CALLS  FAILED
    -      1      1000   100     10          1            unknown                      1           0
    T-1    1      1000   100     10          1            unknown                      1           0
    T-2    1      1000   100     10          1            $0.5000                      1           0
    total  3      3000   300     30          3            $0.5000 + 2 turn(s) unknown  3           0
    $ fairway usage --by role --quiet
    frontend
    backend
    $ fairway usage --by model --for s1
    MODEL  TURNS  INPUT  OUTPUT  CACHE READ  CACHE WRITE  COST                         TOOL CALLS  FAILED
    large  2      2000   200     20          2            $0.7500                      2           0
    small  1      1000   100     10          1            unknown                      1           0
    total  3      3000   300     30          3            $0.7500 + 1 turn(s) unknown  3           0
    $ fairway usage --by day
    DAY         TURNS  INPUT  OUTPUT  CACHE READ  CACHE WRITE  COST                         TOOL CALLS  FAILED
    2025-12-23  1      1000   100     10          1            $0.2500                      1           0
    2025-12-31  1      1000   100     10          1            unknown                      1           0
    2026-01-01  2      2000   200     20          2            $0.5000 + 1 turn(s) unknown  2           0
    total       4      4000   400     40          4            $0.7500 + 2 turn(s) unknown  4           0
    $ fairway usage --by day --since 2025-12-31
    DAY         TURNS  INPUT  OUTPUT  CACHE READ  CACHE WRITE  COST                         TOOL CALLS  FAILED
    2025-12-31  1      1000   100     10          1            unknown                      1           0
    2026-01-01  2      2000   200     20          2            $0.5000 + 1 turn(s) unknown  2           0
    total       3      3000   300     30          3            $0.5000 + 2 turn(s) unknown  3           0
    $ fairway usage --since 2027-01-01
    nothing was reported
    $ fairway usage --json --by model --for s2 --for s1 --for s2
    {"by":"model","since":null,"rows":[{"key":"large","turns":2,"input_tokens":2000,"output_tokens":200,"cache_read_tokens":20,"cache_creation_tokens":2,"cost_usd":0.75,"turns_without_cost":0,"tools":2,"tool_failures":0},{"key":null,"turns":1,"input_tokens":1000,"output_tokens":100,"cache_read_tokens":10,"cache_creation_tokens":1,"cost_usd":null,"turns_without_cost":1,"tools":1,"tool_failures":0},{"key":"small","turns":1,"input_tokens":1000,"output_tokens":100,"cache_read_tokens":10,"cache_creation_tokens":1,"cost_usd":null,"turns_without_cost":1,"tools":1,"tool_failures":0}],"total":{"key":null,"turns":4,"input_tokens":4000,"output_tokens":400,"cache_read_tokens":40,"cache_creation_tokens":4,"cost_usd":0.75,"turns_without_cost":2,"tools":4,"tool_failures":0}}
    $ fairway usage --by colour
    error: invalid value 'colour' for '--by <BY>': 'colour' is none of session, lane, task, role, model, day
    hint: fairway --help
    [exit 2]
    $ fairway usage --since soon
    error: since 'soon' is no date (2026-01-31), time or span (7d)
    [exit 2]
    $ fairway usage --for nobody
    error: there is no session 'nobody'
    hint: fairway session list --all
    [exit 3]
    "#);
}
