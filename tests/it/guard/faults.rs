//! Every fault is a no: none of them prints `"allowed":true` or exits 0.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{GUARD, check_text, world_with};
use crate::common::TestProject;
use crate::common::test_project::CommandOutput;

#[track_caller]
fn assert_denied(run: CommandOutput) -> CommandOutput {
    assert_ne!(run.code, Some(0), "{run:#?}");
    assert_eq!(run.json()["allowed"], false, "{run:#?}");
    assert!(!run.json()["reason"].as_str().unwrap().is_empty(), "{run:#?}");
    run
}

#[test]
fn malformed_calls_are_denied() {
    let world = world_with(GUARD);
    let big =
        format!("{{\"run_id\":\"run-s1\",\"tool\":\"Bash\",\"input\":{{\"command\":\"{}\"}}}}", "a".repeat(3 << 20));
    for document in [
        "",
        " ",
        "null",
        "[]",
        "7",
        "{",
        "\u{0}",
        "{}",
        r#"{"run_id":"run-s1"}"#,
        r#"{"run_id":"run-s1","tool":"Bash"}"#,
        r#"{"run_id":"run-s1","input":{"command":"ls"}}"#,
        r#"{"run_id":"run-s1","tool":"Bash","input":null}"#,
        r#"{"run_id":"run-s1","tool":"Bash","input":"ls"}"#,
        r#"{"run_id":"run-s1","tool":"Bash","input":[]}"#,
        r#"{"run_id":"run-s1","tool":7,"input":{"command":"ls"}}"#,
        r#"{"run_id":7,"tool":"Bash","input":{"command":"ls"}}"#,
        r#"{"run_id":"run-s1","tool":"","input":{"command":"ls"}}"#,
        r#"{"run_id":"run-s1","tool":"Bash","input":{"command":"ls"}} trailing"#,
        &big,
    ] {
        assert_denied(world.run_with_stdin(["guard", "check", "--json"], document.as_bytes()));
    }
    assert_denied(world.run_with_stdin(["guard", "check", "--json"], b"\xff\xfe"));
    assert_denied(world.run(["guard", "check", "--json", "--session", "s1", "--tool", "Bash", "--input", "{"]));
    assert_denied(world.run(["guard", "check", "--json", "--session", "nobody", "--tool", "Bash", "--input", "{}"]));
}

#[test]
fn unfinished_stdin_is_denied_in_time() {
    let world = world_with(GUARD);
    let begun = Instant::now();
    let mut command = world.fairway(["guard", "check", "--json", "--session", "s1"]);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Its stdin stays open as long as the child lives.
    let mut child = child;
    let open = child.stdin.take();
    let run: CommandOutput = child.wait_with_output().unwrap().into();
    drop(open);
    assert_denied(run);
    crate::common::soak::took(begun.elapsed(), ..Duration::from_secs(20), "the denial");
}

#[test]
fn panic_is_denied() {
    let world = world_with(GUARD);
    let words = ["guard", "check", "--json", "--session", "s1", "--tool", "Bash", "--input", "{\"command\":\"true\"}"];
    world.run(words).exits(0);
    assert_denied(world.fairway(words).env("FAIRWAY_TEST_FAULT", "panic").output().unwrap().into());
}

#[test]
fn broken_configuration_is_denied() {
    for text in [
        "[guard",
        "[guard]\ndefault = 7\n",
        "[guard]\nrulez = []\n",
        "[[guard.rules]]\nname = \"x\"\naction = \"deny\"\n",
        "\u{0}",
    ] {
        let world = world_with(GUARD);
        fs::write(world.root().join(".fairway.toml"), text).unwrap();
        // The last trusted text is in force, until there is none.
        check_text(&world, "ls").exits(0);
        fs::remove_dir_all(world.dir().join("home/.local/state/fairway/trust")).unwrap();
        assert_denied(check_text(&world, "ls"));
    }
    let world = world_with(GUARD);
    fs::remove_file(world.root().join(".fairway.toml")).unwrap();
    assert_denied(check_text(&world, "ls"));
    fs::write(world.root().join(".fairway.toml"), GUARD).unwrap();
    check_text(&world, "ls").exits(0);
    fs::remove_dir_all(world.dir().join("home/.local/state/fairway/trust")).unwrap();
    assert_denied(check_text(&world, "ls"));
}

#[test]
fn trust_file_writable_by_others_is_denied() {
    let world = world_with(GUARD);
    let folder = world.dir().join("home/.local/state/fairway/trust");
    for entry in fs::read_dir(folder).unwrap() {
        fs::set_permissions(entry.unwrap().path(), fs::Permissions::from_mode(0o666)).unwrap();
    }
    assert_denied(check_text(&world, "ls"));
}

#[test]
fn locked_store_is_denied_in_time() {
    let world = world_with(GUARD);
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    conn.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let begun = Instant::now();
    assert_denied(check_text(&world, "ls"));
    crate::common::soak::took(begun.elapsed(), ..Duration::from_secs(10), "the denial");
    conn.execute_batch("ROLLBACK").unwrap();
    check_text(&world, "ls").exits(0);
}

#[test]
fn damaged_or_missing_store_is_denied() {
    let world = world_with(GUARD);
    let bytes = fs::read(world.store()).unwrap();
    fs::write(world.store(), b"this is no store at all, whatever it says").unwrap();
    assert_denied(check_text(&world, "ls"));
    for suffix in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(world.store().with_file_name(format!("fairway.db{suffix}")));
    }
    assert_denied(check_text(&world, "ls"));
    fs::write(world.store(), bytes).unwrap();
}

#[test]
fn unresolvable_texts_are_denied() {
    let world = world_with(GUARD);
    for text in [
        "(".repeat(5_000),
        "$(".repeat(2_000),
        "a ".repeat(40_000),
        "if true; then ".repeat(1_000),
        "\u{202e}ls".to_owned(),
    ] {
        let document =
            json!({"run_id": "run-s1", "tool": "Bash", "input": {"command": format!("{text}'")}}).to_string();
        assert_denied(world.run_with_stdin(["guard", "check", "--json"], document.as_bytes()));
    }
}

#[test]
fn unclosed_parentheses_are_denied_before_they_are_parsed() {
    let world = world_with(GUARD);
    // The parser would need hours for the last of them.
    for count in [9, 24, 40] {
        let text = format!("{}{}", "(".repeat(count), "a ".repeat(1_000));
        let document = json!({"run_id": "run-s1", "tool": "Bash", "input": {"command": text}}).to_string();
        let run = assert_denied(world.run_with_stdin(["guard", "check", "--json"], document.as_bytes()));
        assert!(run.stdout.contains("parentheses that are not closed"), "{count}: {}", run.stdout);
    }
}

#[test]
fn text_whose_parse_would_take_too_long_is_denied_in_time() {
    let world = world_with(GUARD);
    for text in [
        // Closed, but no program: the parser tries each of them in several ways.
        format!("{}a ; ; b{}", "(( (".repeat(20), ") ))".repeat(20)),
        format!("{}a ; ; b{}", "(".repeat(30), ")".repeat(30)),
        // Closed by quoted ones only.
        format!(": '{}'; {}a", ")".repeat(40), "(".repeat(40)),
        format!("{}a ; ; b{}", "case x in x) ".repeat(30), " ;; esac".repeat(30)),
        format!(": \"$(\" \"{}\"", "(a".repeat(30)),
    ] {
        let document = json!({"run_id": "run-s1", "tool": "Bash", "input": {"command": text}}).to_string();
        let start = Instant::now();
        assert_denied(world.run_with_stdin(["guard", "check", "--json"], document.as_bytes()));
        crate::common::soak::took(start.elapsed(), ..Duration::from_secs(3), "the denial");
    }
}

#[test]
fn call_outside_a_project_is_denied() {
    let world = TestProject::uninitialized();
    assert_denied(world.run(["guard", "check", "--json", "--session", "s1", "--tool", "Bash", "--input", "{}"]));
}
