//! Writes run one after another, see what the one before has written, and are told apart by the server's clock.

use std::{
    io::Write,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use fairway::{env::Timestamp, os::poll_until};

use serde_json::Value;

use crate::common::{TestProject, postgres_server::PostgresServer};

/// A session of psql that has locked the project.
fn hold_lock(server: &PostgresServer, schema: &str) -> Child {
    let mut holder = server.psql(schema).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let lock = b"BEGIN; SELECT 1 FROM project FOR UPDATE;\n";
    holder.stdin.as_mut().unwrap().write_all(lock).unwrap();
    let waits = "SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation \
                 WHERE c.relname = 'project' AND c.relnamespace = current_schema()::regnamespace AND l.mode = 'RowShareLock'";
    wait_for(server, schema, waits);
    holder
}

/// Waits until a count is above zero.
fn wait_for(server: &PostgresServer, schema: &str, count: &str) {
    let found = poll_until::poll_until(Duration::from_secs(30), Duration::from_millis(10), || {
        (server.query(schema, count) != ["0"]).then_some(())
    });
    assert!(found.is_some(), "{count}");
}

/// Every event, in order.
fn events(world: &TestProject) -> Vec<Value> {
    let printed = world.run(["events", "--json"]).exits(0).stdout;
    printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A time that the list of the locking statement gave would be that before the wait, when the holder changes nothing.
#[test]
fn the_time_of_a_write_is_that_after_its_wait() {
    let Some(world) = TestProject::on_postgres() else { return };
    world.real_time();
    let (server, schema) = world.on_server.as_ref().unwrap();
    let mut holder = hold_lock(server, schema);
    let mut writer = world.fairway(["task", "add", "waits"]).stdout(Stdio::null()).spawn().unwrap();
    wait_for(
        server,
        schema,
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' \
                              AND application_name = 'fairway'",
    );
    let released = server.query(schema, "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint");
    drop(holder.stdin.take());
    assert!(writer.wait().unwrap().success() && holder.wait().unwrap().success());
    let at = Timestamp::parse(events(&world)[0]["at"].as_str().unwrap()).unwrap();
    assert!(at.millis() >= released[0].parse().unwrap(), "{at} is before {released:?}");
}

/// A write does not wait for a lock without end.
#[test]
fn a_write_behind_a_lock_that_stays_is_told_after_seconds() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    let mut holder = hold_lock(server, schema);
    let start = Instant::now();
    // A read waits for no lock.
    world.run(["task", "list"]).exits(0);
    world.run(["task", "add", "waits", "--json"]).refuses(8, "store_busy");
    assert!(start.elapsed() >= Duration::from_secs(4), "{:?}", start.elapsed());
    drop(holder.stdin.take());
    holder.wait().unwrap();
    world.run(["task", "add", "goes on"]).exits(0);
}

/// A number that a write took and rolled back is given out again, so that no number is missing.
#[test]
fn numbers_have_no_gaps_after_a_write_that_was_rolled_back() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    world.run(["task", "add", "first"]).exits(0);
    let rolled_back = "BEGIN; SELECT begin_write(); SELECT next_number('events'); SELECT end_write(); ROLLBACK";
    server.query(schema, rolled_back);
    world.run(["task", "add", "second"]).exits(0);
    let numbers: Vec<i64> = events(&world).iter().map(|event| event["seq"].as_i64().unwrap()).collect();
    assert_eq!(numbers, [1, 2]);
    // A writer that has not begun as a write has no numbers.
    let careless = "INSERT INTO events (at, kind, actor, data) VALUES (1, 'x', 'y', '{}')";
    assert!(!server.psql(schema).arg("-c").arg(careless).output().unwrap().status.success());
}
