//! What a server does in the long run, with `FAIRWAY_SOAK=1`: a failover to a replica that lags, statements without an end, and the space
//! of rows that are written again and again.

use std::io::Write as _;
use std::process::Stdio;
use std::time::Instant;

use fairway_core::domain::{Event, EventKind, TaskId};
use fairway_core::env::Clock;
use fairway_core::store::{Store, StoreAddress, StoreError, tasks};

use super::wait_for;
use super::waiting::{Printing, listeners, named};
use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, postgres_server, soak};

#[test]
fn failover_to_a_replica_that_lags_is_told_and_gives_out_no_number_again() {
    if !soak::is_on() {
        return;
    }
    let Some(server) = postgres_server::own() else { return };
    // It outlives the world, which is looked at in the end.
    let replica = server.replica();
    let world = TestProject::on_server_of_its_own(&server);
    let (server, schema) = world.on_server.as_ref().unwrap();
    world.run(["task", "add", "kept"]).exits(0);
    let kept = || replica.server().psql(schema).args(["-c", "SELECT title FROM tasks"]).output().unwrap().stdout;
    wait_for(|| (kept() == b"kept\n").then_some(()));
    replica.cut_off();
    let (address, name) = named(server, schema);
    let mut follower = Printing::start(&world, &["events", "--follow", "--json"], Some(address));
    wait_for(|| (listeners(server, schema, &name) == "1").then_some(()));
    // Acknowledged, and lost.
    let epoch_of = |answer: &serde_json::Value| answer["task"]["claim"]["epoch"].as_i64().unwrap();
    let lost = epoch_of(&world.json(["claim", "T-1"]));
    world.run(["task", "add", "lost"]).exits(0);
    follower.line("\"lost\"");
    let newest: i64 = server.query(schema, "SELECT max(seq) FROM events").remove(0).parse().unwrap();
    server.stop("immediate");
    replica.take_over(server);
    follower.line("store_rewound");
    assert_eq!(follower.end(), Some(4));
    assert_eq!(world.json(["task", "list"]).as_array().unwrap().len(), 1);
    // The danger: what comes next has the numbers of what is lost.
    let again = epoch_of(&world.json(["claim", "T-1"]));
    assert_eq!(again, lost);
    let since = newest.to_string();
    world.run(["events", "--since", &since, "--json"]).refuses(4, "store_rewound");

    let lifted = world.json(["store", "restored", "--yes"]);
    assert!(lifted["epoch"].as_i64().unwrap() > lost && lifted["event"].as_i64().unwrap() > newest, "{lifted:#}");
    world.run(["done", "T-1", "--epoch", &lost.to_string(), "--json"]).refuses(4, "stale_claim");
    world.run(["task", "add", "next"]).exits(0);
    let seen = world.run(["events", "--since", &since, "--json"]).exits(0).stdout;
    assert!(seen.contains("\"title\":\"next\"") && !seen.contains("\"title\":\"kept\""), "{seen}");
    server.check_invariants(schema);
}

#[test]
fn statement_without_an_end_is_ended_by_the_server_and_nothing_of_its_write_stays() {
    if !soak::is_on() {
        return;
    }
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    server.query(
        schema,
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); RETURN NEW; END'; \
         CREATE TRIGGER slow BEFORE INSERT ON tasks FOR EACH ROW WHEN (NEW.title = 'slow') EXECUTE FUNCTION slow()",
    );
    let start = Instant::now();
    let slow = world.fairway(["task", "add", "slow", "--json"]).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let slow = slow.unwrap();
    let holds =
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 'project'::regclass::oid AND granted";
    wait_for(|| (server.query(schema, holds) == ["1"]).then_some(()));
    let error = world.run(["task", "add", "other", "--json"]).refuses(8, "store_busy").error();
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("the store is locked by `fairway task add` on "), "{message}");
    CommandOutput::from(slow.wait_with_output().unwrap()).refuses(8, "store_busy");
    soak::took(start.elapsed(), ..std::time::Duration::from_secs(40), "a statement of 60 s");
    world.run(["task", "add", "other"]).exits(0);
    assert_eq!(server.query(schema, "SELECT title FROM tasks"), ["other"]);
    server.query(schema, "DROP TRIGGER slow ON tasks; DROP FUNCTION slow");
}

/// Each write changes the one row of the project. The server takes the place of its old versions again, unless a transaction that began
/// before still sees them: that is the control.
#[test]
fn rows_of_many_writes_take_no_more_space_than_those_of_a_few() {
    const WRITES: usize = 20_000;
    if !soak::is_on() {
        return;
    }
    let Some(server) = postgres_server::own() else { return };
    let world = TestProject::on_server_of_its_own(&server);
    world.real_time();
    let (server, schema) = world.on_server.as_ref().unwrap();
    // The time of its disk is not asked for.
    server.query("public", "ALTER SYSTEM SET fsync = off");
    server.query("public", "ALTER SYSTEM SET autovacuum_naptime = '1s'");
    server.query("public", "SELECT pg_reload_conf()");
    world.run(["task", "add", "one"]).exits(0);
    let address = StoreAddress::parse(&server.address(schema)).unwrap();
    let store = Store::connect(&address, &world.root(), world.dir(), Clock::System).unwrap();
    let task = TaskId::parse("T-1").unwrap();
    let write = |count: usize| {
        let start = Instant::now();
        for _ in 0..count {
            let done = store.write(Clock::System, "ann", |tx| -> Result<(), StoreError> {
                tasks::set_lane(tx, &task, None)?;
                tx.record(&Event::new(EventKind::TaskEdited).task(&task).with("fields", vec!["title".to_owned()]))
                    .map(drop)
            });
            done.unwrap();
        }
        start.elapsed() / u32::try_from(count).unwrap()
    };
    let size = || -> u64 {
        let query = "SELECT pg_relation_size('project') + pg_relation_size('tasks')";
        server.query(schema, query).remove(0).parse().unwrap()
    };
    let first = write(WRITES / 4);
    let rest = write(WRITES - WRITES / 4);
    let plain = size();
    println!("{WRITES} writes: {first:?} each at first, {rest:?} later; {plain} bytes");
    assert!(plain < 512 << 10, "{plain}");

    let mut old = server.psql(schema).args(["-f", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut say = old.stdin.take().unwrap();
    writeln!(say, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM project;").unwrap();
    let began =
        "SELECT count(*) FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND state = 'idle in transaction'";
    wait_for(|| (server.query(schema, began) == ["1"]).then_some(()));
    let held = write(WRITES / 4);
    let grown = size();
    println!("{} writes beside an old transaction: {held:?} each; {grown} bytes", WRITES / 4);
    assert!(grown > plain + (512 << 10), "{plain} and {grown}: the size tells nothing");
    writeln!(say, "COMMIT;").unwrap();
    drop(say);
    assert!(old.wait().unwrap().success());
    let dead = "SELECT coalesce(sum(n_dead_tup), 0) FROM pg_stat_user_tables WHERE schemaname = current_schema() \
                AND relname IN ('project', 'tasks')";
    wait_for(|| (server.query(schema, dead).remove(0).parse::<u64>().unwrap() < 2_000).then_some(()));
    let after = write(WRITES / 4);
    println!("afterwards {after:?} each; {} bytes", size());
    assert!(size() <= grown, "the place is used again");
}
