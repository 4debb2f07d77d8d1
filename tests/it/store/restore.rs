//! A backup takes the store's place: whole or not at all, whatever was there, and nobody writes into the void.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use fairway_core::env::Clock;
use fairway_core::store::{Store, StoreError};
use rusqlite::Connection;

use crate::common::reexec::{SHELL_WAIT_AT_START_LINE, StartBarrier, errors};
use crate::common::test_project::FAIRWAY;
use crate::common::{TestProject, bulk_tasks, invariants, tree_snapshot};

/// A world with tasks, one of them held, and a backup of it.
fn backed_up() -> (TestProject, PathBuf) {
    let world = TestProject::new();
    world.run(["task", "add", "held in the backup"]).exits(0);
    world.run(["task", "add", "free in the backup"]).exits(0);
    world.run(["claim", "T-1"]).exits(0);
    let copy = world.dir().join("copy.db");
    world.run(["backup", "../copy.db"]).exits(0);
    (world, copy)
}

/// Everything that lies beside the store and was kept by a restore.
fn kept(world: &TestProject) -> Vec<PathBuf> {
    let names = fs::read_dir(world.root().join(".fairway")).unwrap().map(|entry| entry.unwrap().path());
    let mut kept: Vec<PathBuf> = names.filter(|path| path.to_string_lossy().contains(".before-restore-")).collect();
    kept.sort();
    kept
}

#[test]
fn restored_rows_keep_their_references() {
    let world = TestProject::new();
    for words in [
        &["lane", "add", "l1"][..],
        &["task", "add", "one", "--lane", "l1"],
        &["session", "upsert", "--id", "s1", "--role", "r", "--lane", "l1", "--task-id", "T-1"],
        &["claim", "T-1", "--session", "s1"],
        &["checkpoint", "record", "T-1", "--state", "active", "--summary", "here", "--session", "s1"],
        &["backup", "../copy.db"],
        &["task", "add", "two"],
    ] {
        world.run(words).exits(0);
    }
    world.run(["restore", "../copy.db"]).exits(0);
    assert_eq!(world.run(["task", "list", "--quiet"]).exits(0).stdout, "T-1\n");
    assert_eq!(world.json(["session", "show", "s1"])["lane"], "l1");
    world.run(["doctor"]).exits(0);
}

#[test]
fn epoch_of_before_a_restore_is_invalid_after_it() {
    let (world, _) = backed_up();
    // After the backup the world goes on: T-1 and T-2 change hands, T-3 comes.
    world.run(["release", "T-1"]).exits(0);
    world.run(["claim", "T-1"]).exits(0);
    world.run(["claim", "T-2"]).exits(0);
    world.run(["task", "add", "unknown to the backup"]).exits(0);
    world.run(["claim", "T-3"]).exits(0);
    world.run(["restore", "../copy.db"]).exits(0);

    // T-1 is held as it was in the backup, under a new epoch; its holder goes on, but not with an old number.
    for epoch in ["1", "2"] {
        world.run(["release", "T-1", "--epoch", epoch, "--json"]).refuses(4, "stale_claim");
    }
    let held = world.json(["task", "show", "T-1"]);
    assert_eq!((&held["status"], &held["claim"]["epoch"]), (&"in_progress".into(), &3.into()));
    world.run(["task", "submit", "T-1"]).exits(0);
    // T-2 is free again, and T-3 is gone; its id is not given out again. Whoever claims gets an epoch that nobody has.
    world.run(["task", "show", "T-3"]).exits(3);
    world.run(["task", "add", "the next id"]).exits(0);
    world.run(["task", "add", "the id once more", "--id", "T-3", "--json"]).refuses(4, "exists");
    for task in ["T-2", "T-4"] {
        assert_eq!(world.json(["claim", task])["task"]["claim"]["epoch"], 4);
        world.run(["task", "submit", task, "--epoch", "1", "--json"]).refuses(4, "stale_claim");
    }
    // Twice from the same backup: still above everything.
    world.run(["restore", "../copy.db"]).exits(0);
    assert_eq!(world.json(["task", "show", "T-1"])["claim"]["epoch"], 5);
    assert_eq!(kept(&world).len(), 2);
    world.run(["doctor"]).exits(0);
}

#[test]
fn numbers_of_events_are_never_used_again() {
    let (world, _) = backed_up();
    for _ in 0..5 {
        world.run(["task", "add", "more"]).exits(0);
    }
    let newest = |world: &TestProject| -> i64 {
        let events = world.run(["events", "--quiet"]).exits(0).stdout;
        events.lines().last().unwrap().parse().unwrap()
    };
    let before = newest(&world);
    world.run(["restore", "../copy.db"]).exits(0);
    let since = world.run(["events", "--since", &before.to_string()]).exits(0).stdout;
    assert!(since.contains("store.restored") && since.contains("takeover=restored"), "{since}");
}

#[test]
fn bad_backup_is_refused_and_nothing_is_touched() {
    let (world, copy) = backed_up();
    bulk_tasks::insert_ready_tasks(&copy, 300);
    let good = fs::read(&copy).unwrap();
    let page = 4096;
    let mut bad_page = good.clone();
    bad_page[good.len() - page..].fill(0x55);
    let sqlite = |setup: &str| {
        let file = world.dir().join("made.db");
        let _ = fs::remove_file(&file);
        fs::copy(&copy, &file).unwrap();
        Connection::open(&file).unwrap().execute_batch(setup).unwrap();
        fs::read(&file).unwrap()
    };
    let before_all = tree_snapshot::capture(&world.root());
    for (about, bytes, code) in [
        ("empty", Vec::new(), "store_damaged"),
        ("cut", good[..good.len() / 2].to_vec(), "store_damaged"),
        ("short of a byte", good[..good.len() - 1].to_vec(), "store_damaged"),
        ("a bad page", bad_page, "store_damaged"),
        ("a text", b"no database".repeat(100), "store_foreign"),
        ("foreign", sqlite("PRAGMA application_id = 7"), "store_foreign"),
        ("newer", sqlite("PRAGMA user_version = 99"), "store_newer"),
        (
            "broken references",
            sqlite("PRAGMA foreign_keys = OFF; INSERT INTO task_labels VALUES ('X', 'l')"),
            "store_damaged",
        ),
    ] {
        fs::write(&copy, bytes).unwrap();
        let run = world.run(["restore", "../copy.db", "--json"]);
        assert_eq!(run.error()["code"], code, "{about}: {run:?}");
        assert_eq!(run.code, Some(1), "{about}");
        assert!(run.stderr.contains("copy.db"), "{about}: {run:?}");
        assert!(tree_snapshot::capture(&world.root()) == before_all, "{about}");
    }
    world.run(["restore", "..", "--json"]).refuses(1, "store_foreign");
    assert!(tree_snapshot::capture(&world.root()) == before_all);
}

#[test]
fn damaged_store_is_replaced_and_kept_as_it_is() {
    let (world, _) = backed_up();
    bulk_tasks::insert_ready_tasks(&world.store(), 300);
    let good = fs::read(world.store()).unwrap();
    for damage in [Vec::new(), good[..good.len() / 2].to_vec(), b"not a database ".repeat(4096)] {
        fs::write(world.store(), &damage).unwrap();
        world.run(["ready"]).exits(1);
        world.run(["restore", "../copy.db"]).exits(0);
        assert!(fs::read(kept(&world).last().unwrap()).unwrap() == damage);
        assert_eq!(world.json(["task", "list"]).as_array().unwrap().len(), 2);
        world.run(["release", "T-1", "--epoch", "1", "--json"]).refuses(4, "stale_claim");
        world.run(["doctor"]).exits(0);
    }
    // The epochs of what could not be read are leapt over.
    assert!(world.json(["task", "show", "T-1"])["claim"]["epoch"].as_i64().unwrap() > 1_000_000);
}

#[test]
fn lost_store_comes_back_and_a_log_without_it_is_kept_apart() {
    let (world, _) = backed_up();
    let log = world.root().join(".fairway/fairway.db-wal");
    world.run(["task", "add", "in the log"]).exits(0);
    let bytes = fs::read(&log).unwrap();
    fs::remove_file(world.store()).unwrap();
    world.run(["ready"]).exits(1);
    world.run(["restore", "../copy.db"]).exits(0);
    assert_eq!(world.json(["task", "list"]).as_array().unwrap().len(), 2);
    assert!(fs::read(kept(&world).last().unwrap()).unwrap() == bytes);

    fs::remove_dir_all(world.root().join(".fairway")).unwrap();
    world.run(["restore", "../copy.db"]).exits(0);
    assert_eq!(world.json(["task", "list"]).as_array().unwrap().len(), 2);
}

#[test]
fn writer_with_a_replaced_store_is_refused() {
    let (world, _) = backed_up();
    let runtime = world.root().join(".fairway/runtime");
    let store = Store::open_for_writing(&world.store(), &runtime, None).unwrap();
    let add = |store: &Store| store.write(Clock::System, "test", |_| Ok::<(), StoreError>(()));
    add(&store).unwrap();
    // A healthy store keeps its file: who has it open goes on.
    world.run(["restore", "../copy.db"]).exits(0);
    add(&store).unwrap();
    // A lost one comes back as another file.
    fs::rename(world.store(), world.dir().join("aside.db")).unwrap();
    let _ = fs::remove_file(world.root().join(".fairway/fairway.db-wal"));
    world.run(["restore", "../copy.db"]).exits(0);
    assert!(matches!(add(&store), Err(StoreError::Replaced)));
    let seen: Result<(), StoreError> = store.read(|_| Ok(()));
    assert!(matches!(seen, Err(StoreError::Replaced)));
}

#[test]
fn writers_continue_during_a_restore() {
    let (world, _) = backed_up();
    world.real_time();
    let place = world.dir().join("writers");
    // Ids of their own: the backup knows none of them.
    let adds =
        "for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do \"$0\" task add \"W$W-$n\" text --quiet || exit 1; done";
    let restores = "for n in 1 2 3; do \"$0\" restore ../copy.db --quiet || exit 1; done";
    let command = |number: usize| {
        let work = if number == 0 { restores } else { adds };
        let mut command: Command = world.command("sh");
        command.args(["-c", &format!("{SHELL_WAIT_AT_START_LINE} {{ {work}; }} >\"$JOURNAL\""), FAIRWAY]);
        command.env("W", number.to_string()).env("JOURNAL", place.join(format!("journal-{number}")));
        command
    };
    let (ended, _) = StartBarrier::spawn(&place, 5, command).release();
    assert!(ended.iter().all(std::process::ExitStatus::success), "{}", errors(&place));

    let mut acknowledged = BTreeSet::new();
    for number in 1..5 {
        let journal = fs::read_to_string(place.join(format!("journal-{number}"))).unwrap();
        acknowledged.extend(journal.lines().map(str::to_owned));
    }
    assert_eq!(acknowledged.len(), 60);
    // Each acknowledged write is in the store, or in one that was kept when a backup took its place.
    let mut found = BTreeSet::new();
    let stores = kept(&world);
    assert_eq!(stores.len(), 3);
    for store in stores.iter().chain([&world.store()]) {
        invariants::check(store);
        let conn = Connection::open(store).unwrap();
        let mut ids = conn.prepare("SELECT id FROM tasks WHERE id LIKE 'W%'").unwrap();
        found.extend(ids.query_map([], |row| row.get::<_, String>(0)).unwrap().map(Result::unwrap));
    }
    assert_eq!(found, acknowledged);
}

#[test]
fn backup_with_the_largest_epoch_is_refused() {
    let (world, copy) = backed_up();
    Connection::open(&copy).unwrap().execute("UPDATE tasks SET epoch = 9223372036854775807", []).unwrap();
    let refused = world.run(["restore", "../copy.db", "--json"]).refuses(1, "store_damaged");
    assert!(refused.stderr.contains("an epoch that is too large"), "{refused:?}");
    assert_eq!(world.run(["task", "list", "--quiet"]).exits(0).stdout.lines().count(), 2);
}
