//! A read leaves no trace.

use std::fs;

use rusqlite::Connection;

use crate::common::{TestProject, tree_snapshot};

const READS: &[&[&str]] = &[
    &["ready"],
    &["ready", "--why"],
    &["ready", "--json"],
    &["task", "list"],
    &["task", "show", "T-1"],
    &["task", "show", "T-9"],
    &["events"],
];

fn assert_reads_leave_no_trace(world: &TestProject) {
    let before = tree_snapshot::capture(world.dir());
    for words in READS {
        let code = world.run(*words).code;
        assert_eq!(code, Some(if words.contains(&"T-9") { 3 } else { 0 }), "{words:?}");
        assert!(
            tree_snapshot::capture(world.dir()) == before,
            "{words:?} left a trace: {:?}",
            tree_snapshot::capture(world.dir()).keys()
        );
    }
}

#[test]
fn reads_change_no_file() {
    let world = TestProject::new();
    world.run(["task", "add", "first"]).exits(0);
    assert!(fs::metadata(world.root().join(".fairway/fairway.db-wal")).unwrap().len() > 0);
    assert_reads_leave_no_trace(&world);

    // Closing the usual way writes the log back and removes it.
    Connection::open(world.store()).unwrap().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    assert!(!world.root().join(".fairway/fairway.db-wal").exists());
    assert_reads_leave_no_trace(&world);
}

#[test]
fn reads_of_a_store_that_is_not_there_make_none() {
    let world = TestProject::uninitialized();
    fs::write(world.root().join(".fairway.toml"), "").unwrap();
    let before = tree_snapshot::capture(world.dir());
    world.run(["ready"]).exits(0);
    world.run(["task", "show", "T-1"]).exits(3);
    world.run(["events"]).exits(0);
    assert!(tree_snapshot::capture(world.dir()) == before);
}
