//! Stores that are not as they were written: one clear sentence, no panic, and the bytes stay for whoever can mend them.

use std::fs;

use rusqlite::Connection;

use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, bulk_tasks, tree_snapshot};

/// The commands that are tried on every bad store: reads and writes.
const COMMANDS: &[&[&str]] = &[
    &["ready", "--json"],
    &["task", "list", "--json"],
    &["task", "show", "S-1", "--json"],
    &["events", "--json"],
    &["claim", "--json"],
    &["task", "add", "one more", "--json"],
    &["init", "--json"],
];

/// A world whose store holds a few pages of tasks, and no log.
fn stocked() -> TestProject {
    let world = TestProject::new();
    bulk_tasks::insert_ready_tasks(&world.store(), 300);
    assert!(!world.root().join(".fairway/fairway.db-wal").exists());
    world
}

/// Fails unless it was one document with one sentence, and no panic.
#[track_caller]
fn assert_told(run: &CommandOutput, about: &str) {
    assert!(!run.stderr.contains("panicked"), "{about}: {run:?}");
    let error = run.error();
    let message = error["message"].as_str().unwrap();
    assert!(!message.contains('\n') && !message.is_empty(), "{about}: {run:?}");
    assert_eq!(run.stderr.lines().count(), 1, "{about}: {run:?}");
}

/// Every command is refused with this code, and every file stays as it is; then, with the good bytes back, all is well.
#[track_caller]
fn assert_refused(world: &TestProject, bad: &[u8], code: &str, about: &str) {
    let good = fs::read(world.store()).unwrap();
    fs::write(world.store(), bad).unwrap();
    let before = tree_snapshot::capture(world.dir());
    for words in COMMANDS {
        let run = world.run(*words);
        assert_told(&run, about);
        assert_eq!(run.code, Some(1), "{about}, {words:?}: {run:?}");
        assert_eq!(run.error()["code"], code, "{about}, {words:?}: {run:?}");
        tree_snapshot::assert_unchanged(&before, &tree_snapshot::capture(world.dir()));
    }
    fs::write(world.store(), good).unwrap();
    world.run(["ready", "--quiet"]).exits(0);
}

#[test]
fn truncated_store_is_refused_at_every_length() {
    let world = stocked();
    let good = fs::read(world.store()).unwrap();
    let page = 4096;
    for length in [0, 1, 16, 99, 100, 512, page - 1, page, 2 * page, good.len() / 2, good.len() - page, good.len() - 1]
    {
        assert_refused(&world, &good[..length], "store_damaged", &format!("cut to {length} bytes"));
    }
}

#[test]
fn store_with_turned_bits_is_told_or_works_but_never_panics() {
    let world = stocked();
    let good = fs::read(world.store()).unwrap();
    let pages = good.len() / 4096;
    let mut told = 0;
    // The head of each page says what the page is; the middle holds rows, keys and free space.
    for (page, at) in (0..pages).flat_map(|page| [(page, 0), (page, 3), (page, 9), (page, 2048)]) {
        let mut bad = good.clone();
        bad[page * 4096 + at] ^= 0x55;
        fs::write(world.store(), &bad).unwrap();
        for words in [&["ready", "--json"][..], &["claim", "--json"]] {
            let about = format!("page {page}, byte {at}, {words:?}");
            let run = world.run(words);
            if run.code != Some(0) {
                assert_told(&run, &about);
                assert_eq!(run.code, Some(1), "{about}: {run:?}");
                told += 1;
            }
        }
        for suffix in ["-wal", "-shm"] {
            let _ = fs::remove_file(world.root().join(format!(".fairway/fairway.db{suffix}")));
        }
    }
    assert!(told > pages, "only {told} of {} were noticed", pages * 8);
    fs::write(world.store(), &good).unwrap();
}

#[test]
fn store_of_a_newer_fairway_is_refused() {
    let world = stocked();
    let newer = world.dir().join("newer.db");
    fs::copy(world.store(), &newer).unwrap();
    Connection::open(&newer).unwrap().pragma_update(None, "user_version", 99).unwrap();
    assert_refused(&world, &fs::read(newer).unwrap(), "store_newer", "version 99");
}

#[test]
fn file_of_another_program_is_refused() {
    let world = stocked();
    for (about, setup) in [
        ("another program's", "CREATE TABLE t (x); PRAGMA application_id = 7; PRAGMA user_version = 1;"),
        ("nobody's", "CREATE TABLE tasks (id);"),
        ("one that is at version 1 too", "CREATE TABLE tasks (id); PRAGMA user_version = 1;"),
    ] {
        let file = world.dir().join("foreign.db");
        Connection::open(&file).unwrap().execute_batch(setup).unwrap();
        assert_refused(&world, &fs::read(&file).unwrap(), "store_foreign", about);
        fs::remove_file(file).unwrap();
    }
    for text in ["not a database, but a text\n".repeat(400), "short".into()] {
        assert_refused(&world, text.as_bytes(), "store_foreign", "a text");
    }
}

#[test]
fn folder_in_the_place_of_the_store_is_refused() {
    let world = TestProject::new();
    fs::remove_file(world.store()).unwrap();
    fs::create_dir(world.store()).unwrap();
    for words in COMMANDS {
        let run = world.run(*words);
        assert_told(&run, "a folder");
        run.refuses(1, "store_foreign");
    }
    fs::remove_dir(world.store()).unwrap();
    world.run(["task", "add", "first"]).exits(0);
}

#[test]
fn log_without_its_store_is_damage_and_is_kept() {
    let world = TestProject::new();
    world.run(["task", "add", "first"]).exits(0);
    let aside = world.dir().join("aside.db");
    fs::rename(world.store(), &aside).unwrap();
    let before = tree_snapshot::capture(world.dir());
    for words in COMMANDS {
        let run = world.run(*words);
        assert_told(&run, "a log alone");
        run.refuses(1, "store_damaged");
        tree_snapshot::assert_unchanged(&before, &tree_snapshot::capture(world.dir()));
    }
    fs::rename(&aside, world.store()).unwrap();
    world.run(["task", "show", "T-1"]).exits(0);
}
