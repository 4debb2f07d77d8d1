//! Typing into a session of the shell script, interrupting it, and following it.

use std::fs;
use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use super::eventually;
use super::external_caller::Caller;

/// 40 kB with everything that a shell, a terminal or a multiplexer would take for its own.
fn hostile(from: char) -> Vec<u8> {
    let line = format!("{from} 'single' \"double\" $HOME $(touch canary) `touch canary` \\ #{{x}} ^C %s é👋\t-;\n");
    let mut text = line.repeat(40_000 / line.len()).into_bytes();
    text.extend_from_slice(b"\x1b[201~ end;");
    text
}

#[test]
fn long_text_arrives_exactly_and_only_in_its_session() {
    let caller = Caller::new();
    let names = ["a", "ab", "a-1", "a-10"];
    for name in names {
        caller.start(name, &json!({"command": format!("cat >got-{name}")}));
    }
    for name in names {
        caller.call(&["nudge", name], hostile(name.chars().last().unwrap())).exits(0);
    }
    for name in names {
        let expected = [&hostile(name.chars().last().unwrap())[..], b"\n"].concat();
        let path = caller.work().join(format!("got-{name}"));
        eventually("all of it arrives", || (fs::metadata(&path).ok()?.len() >= expected.len() as u64).then_some(()));
        assert!(fs::read(&path).unwrap() == expected, "{name}");
    }
    assert!(!caller.work().join("canary").exists());
    caller.call(&["nudge", "nobody"], "text").exits(0);
}

#[test]
fn texts_that_are_sent_at_once_do_not_mix() {
    let caller = Caller::new();
    // It reads late, so that all of them wait in front of it.
    caller.start("x", &json!({"command": "sleep 1; cat >got"}));
    let (each, size) = (6, 60_000);
    std::thread::scope(|scope| {
        for letter in [b'a', b'b', b'c', b'd', b'e', b'f'] {
            let caller = &caller;
            scope.spawn(move || caller.call(&["nudge", "x"], vec![letter; size]).exits(0));
        }
    });
    let path = caller.work().join("got");
    let whole = each * (size + 1);
    eventually("all of it arrives", || (fs::metadata(&path).ok()?.len() >= whole as u64).then_some(()));
    let got = fs::read_to_string(path).unwrap();
    let mut letters: Vec<char> = got
        .lines()
        .map(|line| {
            let first = line.chars().next().unwrap();
            assert!(line.len() == size && line.chars().all(|letter| letter == first), "a mixture");
            first
        })
        .collect();
    letters.sort_unstable();
    assert_eq!(letters, ['a', 'b', 'c', 'd', 'e', 'f']);
}

#[test]
fn nudge_to_a_program_that_does_not_read_fails() {
    let caller = Caller::new();
    caller.start("x", &json!({"command": "sleep 300"}));
    let text = vec![b'x'; 900_000];
    caller.call(&["nudge", "x"], &text).exits(0);
    let start = Instant::now();
    let run = caller.call(&["nudge", "x"], &text).exits(1);
    assert!(run.stderr.contains("does not read"), "{run:?}");
    crate::common::soak::took(start.elapsed(), ..Duration::from_secs(20), "the failure");
    // One that has closed its input says so at once.
    caller.start("y", &json!({"command": "exec <&-; touch closed; exec sleep 300"}));
    eventually("its input is closed", || caller.work().join("closed").exists().then_some(()));
    let run = caller.call(&["nudge", "y"], "text").exits(1);
    assert!(run.stderr.contains("does not read"), "{run:?}");
}

#[test]
fn keys_and_interrupts_reach_the_program() {
    let caller = Caller::new();
    caller.start("x", &json!({"command": "cat >got"}));
    caller.ask(&["send-keys", "x", "two words", "Enter", "-x", "Space", "Up", "C-a", "--", "Enter"]);
    eventually("the keys arrive", || (caller.file("got") == b"two words\n-x \x1b[A\x01--\n").then_some(()));
    // An interrupt reaches what runs in the foreground, also as a key, and the program may live on.
    caller.start("y", &json!({"command": "trap 'echo caught' INT; echo ready; while :; do sleep 0.1; done"}));
    let shows = |what: &str, count: usize| {
        eventually(what, || (caller.ask(&["peek", "y", "0"]).matches(what).count() >= count).then_some(()));
    };
    shows("ready", 1);
    caller.ask(&["interrupt", "y"]);
    shows("caught", 1);
    caller.ask(&["send-keys", "y", "C-c"]);
    shows("caught", 2);
    assert_eq!(caller.ask(&["is-running", "y"]), "true\n");
    caller.start("z", &json!({"command": "sleep 300"}));
    caller.ask(&["interrupt", "z"]);
    eventually("it has ended", || (caller.ask(&["is-running", "z"]) == "false\n").then_some(()));
    for operation in ["interrupt", "send-keys"] {
        caller.ask(&[operation, "nobody"]);
    }
}

#[test]
fn attach_follows_until_the_session_ends_or_the_reader_goes() {
    let caller = Caller::new();
    caller.start("x", &json!({"command": "echo one; cat"}));
    assert_eq!(caller.ask(&["is-attached", "x"]), "false\n");
    let mut reader = caller.command(&["attach", "x"]).stdin(Stdio::null()).spawn().unwrap();
    let mut leaver = caller.command(&["attach", "x"]).stdin(Stdio::null()).spawn().unwrap();
    eventually("both follow", || (caller.ask(&["is-attached", "x"]) == "true\n").then_some(()));
    // The session prints nothing, and it is noticed all the same.
    drop(leaver.stdout.take());
    eventually("the one whose reader went is gone", || leaver.try_wait().unwrap());
    assert_eq!(caller.ask(&["is-attached", "x"]), "true\n");
    caller.call(&["nudge", "x"], "two\x1b[31m").exits(0);
    eventually("it is printed", || caller.ask(&["peek", "x", "0"]).contains("two").then_some(()));
    caller.ask(&["stop", "x"]);
    assert!(reader.wait().unwrap().success());
    let mut seen = String::new();
    reader.stdout.take().unwrap().read_to_string(&mut seen).unwrap();
    assert_eq!(seen, "one\ntwo\x1b[31m\n");
    assert_eq!(caller.ask(&["is-attached", "x"]), "false\n");
    caller.call(&["attach", "x"], "").exits(1);
    caller.is_empty();
}
