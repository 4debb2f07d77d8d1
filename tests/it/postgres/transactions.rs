//! Writes run one after another, see what the one before has written, and are told apart by the server's clock.

use std::io::Write;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use fairway_core::env::Timestamp;
use serde_json::Value;

use super::wait_for;
use crate::common::TestProject;
use crate::common::postgres_server::PostgresServer;

/// A session of psql that has locked the project; with its process in the server.
pub(super) fn hold_lock(server: &PostgresServer, schema: &str) -> (Child, String) {
    let mut holder = server.psql(schema).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let lock = b"BEGIN; SELECT 1 FROM project FOR UPDATE;\n";
    holder.stdin.as_mut().unwrap().write_all(lock).unwrap();
    let process = "SELECT l.pid FROM pg_locks l JOIN pg_class c ON c.oid = l.relation WHERE c.relname = 'project' \
                   AND c.relnamespace = current_schema()::regnamespace AND l.mode = 'RowShareLock'";
    let process = wait_for(|| server.query(schema, process).pop());
    (holder, process)
}

/// Waits until a process of the server holds another one up.
fn wait_until_it_blocks(server: &PostgresServer, schema: &str, process: &str) {
    let blocked = format!("SELECT pid FROM pg_stat_activity WHERE {process} = ANY (pg_blocking_pids(pid))");
    wait_for(|| server.query(schema, &blocked).pop());
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
    let (mut holder, process) = hold_lock(server, schema);
    let mut writer = world.fairway(["task", "add", "waits"]).stdout(Stdio::null()).spawn().unwrap();
    wait_until_it_blocks(server, schema, &process);
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
    let (mut holder, _) = hold_lock(server, schema);
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

/// The control: a snapshot of the whole transaction is older than the lock that it waits for. What the holder has written is not
/// in it, so that a task which the holder has claimed looks free.
#[test]
fn control_a_waiter_under_repeatable_read_misses_what_the_holder_wrote() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    let seen = |isolation: &str| {
        let epoch = "(SELECT coalesce(max(epoch), 0) + 1 FROM restores)";
        let write = format!("INSERT INTO restores VALUES ({epoch}, 0); COMMIT;");
        let (mut holder, process) = hold_lock(server, schema);
        let look = format!(
            "BEGIN ISOLATION LEVEL {isolation}; SELECT 1 FROM project FOR UPDATE; SELECT count(*) FROM restores; COMMIT"
        );
        let waiter = server.psql(schema).arg("-c").arg(look).stdout(Stdio::piped()).spawn().unwrap();
        wait_until_it_blocks(server, schema, &process);
        holder.stdin.take().unwrap().write_all(write.as_bytes()).unwrap();
        assert!(holder.wait().unwrap().success());
        let output = waiter.wait_with_output().unwrap();
        let count = String::from_utf8(output.stdout).unwrap().lines().last().unwrap().parse::<i64>().unwrap();
        let written = server.query(schema, "SELECT count(*) FROM restores")[0].parse::<i64>().unwrap();
        written - count
    };
    assert_eq!((seen("READ COMMITTED"), seen("REPEATABLE READ")), (0, 1));
}

/// A commit that was acknowledged is kept, whatever the server's default is. A stronger setting stays.
#[test]
fn a_write_is_flushed_to_disk_where_the_server_would_not_wait_for_it() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    let note = "CREATE TABLE settings (value text); CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                INSERT INTO settings VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$; \
                CREATE TRIGGER note AFTER INSERT ON events FOR EACH ROW EXECUTE FUNCTION note()";
    server.query(schema, note);
    server.query("public", &format!("CREATE ROLE {schema} SUPERUSER LOGIN"));
    for (default, expected) in [("off", "on"), ("remote_apply", "remote_apply"), ("on", "on")] {
        server.query("public", &format!("ALTER ROLE {schema} SET synchronous_commit = {default}"));
        let address = server.address(schema).replacen("fairway@", &format!("{schema}@"), 1);
        let added = world.fairway(["task", "add", default]).env("FAIRWAY_STORE_URL", address).output().unwrap();
        assert!(added.status.success(), "{added:?}");
        assert_eq!(server.query(schema, "DELETE FROM settings RETURNING value"), [expected], "{default}");
    }
    server.query(schema, "DROP TRIGGER note ON events; DROP FUNCTION note; DROP TABLE settings");
    server.query("public", &format!("DROP OWNED BY {schema}; DROP ROLE {schema}"));
}
