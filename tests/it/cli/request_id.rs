//! `--request-id`: which command lines are the same request, and the rows that the version before left in a store.

use rusqlite::Connection;

use crate::common::World;

/// Three tasks, of which T-3 is claimed and has evidence.
fn project() -> World {
    let world = World::new();
    for _ in 0..3 {
        world.run(["task", "add", "fixture"]).exits(0);
    }
    world.run(["claim", "T-3"]).exits(0);
    world.run(["evidence", "add", "T-3", "--result", "pass"]).exits(0);
    world
}

/// Whether the second line is answered as a repeat of the first.
fn is_repeat(first: &[&str], second: &[&str]) -> bool {
    let world = project();
    let first = world.run([first, &["--request-id", "r1", "--json"]].concat()).exits(0);
    let second = world.run([second, &["--request-id", "r1", "--json"]].concat());
    if second.code == Some(0) {
        assert_eq!(first.stdout, second.stdout);
        return true;
    }
    second.refuses(2, "request_reused");
    false
}

#[test]
fn spellings_of_one_command_are_one_request() {
    for (first, second) in [
        // The order of flags, a global option, a flag's two forms.
        (
            &["task", "add", "x", "--role", "r", "--label", "l"][..],
            &["task", "add", "--label", "l", "--role", "r", "x"][..],
        ),
        (&["task", "add", "x"], &["--color", "never", "task", "add", "x"]),
        (&["task", "add", "x", "--role", "r"], &["task", "add", "x", "--role=r"]),
        // Two spellings of a duration.
        (&["claim", "T-1", "--lease", "30m"], &["claim", "T-1", "--lease", "1800s"]),
        // A shortcut, and an option's default.
        (&["done", "T-3", "--force", "--reason", "r"], &["task", "done", "T-3", "--reason", "r", "--force"]),
        (
            &["message", "send", "--to-role", "r", "x"],
            &["message", "send", "--to-role", "r", "--priority", "normal", "x"],
        ),
    ] {
        assert!(is_repeat(first, second), "{first:?} {second:?}");
    }
}

#[test]
fn different_commands_are_different_requests() {
    for (first, second) in [
        (&["task", "add", "x"][..], &["task", "add", "y"][..]),
        (&["task", "add", "x", "--label", "a", "--label", "b"], &["task", "add", "x", "--label", "b", "--label", "a"]),
        (&["task", "add", "x", "--role", "r"], &["task", "add", "x", "--lane", "r"]),
        (&["claim", "T-1"], &["claim", "T-2"]),
        (&["claim", "T-1"], &["claim", "T-1", "--as", "dev"]),
        (&["claim", "T-1"], &["claim", "T-1", "--any-role"]),
        (&["task", "block", "T-3", "--reason", "a"], &["task", "cancel", "T-3", "--reason", "a"]),
    ] {
        assert!(!is_repeat(first, second), "{first:?} {second:?}");
    }
}

/// The version before stored a digest of Rust names, which cannot be made again.
#[test]
fn row_of_the_version_before_answers_its_command_and_no_other() {
    let world = project();
    let store = || Connection::open(world.store()).unwrap();
    let fingerprint = || {
        let one = |row: &rusqlite::Row<'_>| row.get::<_, String>(0);
        store().query_row("SELECT words FROM requests WHERE id = 'r1'", [], one).unwrap()
    };
    let add = ["task", "add", "old", "--json", "--request-id", "r1"];
    let first = world.run(add).exits(0);
    assert!(fingerprint().starts_with("2:task add:"), "{}", fingerprint());

    store().execute("UPDATE requests SET words = ?1", ["5e".repeat(32)]).unwrap();
    assert_eq!(world.run(add).exits(0).stdout, first.stdout);
    assert_eq!(world.json(["task", "list"]).as_array().unwrap().len(), 4);
    for other in [&["claim", "T-1"][..], &["lane", "add", "web"], &["task", "edit", "T-4", "--title", "x"]] {
        world.run([other, &["--request-id", "r1", "--json"]].concat()).refuses(2, "request_reused");
    }
    // Another format is no digest of the version before.
    store().execute("UPDATE requests SET words = '3:task add:00'", []).unwrap();
    world.run(add).refuses(2, "request_reused");
}
