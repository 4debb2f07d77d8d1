//! The screen of a session: its scrollback, and an attached terminal.

use super::*;

with_each! {
    scrollback_is_peeked_whole_and_cleared
    attached_terminal_is_reported_and_sets_the_size
}

fn scrollback_is_peeked_whole_and_cleared(caller: &Caller) {
    caller.start("x", "seq 1 3000; exec cat", json!({"terminal": {"rows": 20, "cols": 40}}));
    let all: String = (1..=3000).map(|number| format!("{number}\n")).collect();
    eventually("all is there", || (caller.said(&["peek", "x", "0"]) == all).then_some(()));
    assert_eq!(caller.said(&["peek", "x", "100"]).lines().next(), Some("2901"));
    caller.said(&["clear-scrollback", "x"]);
    let left = caller.said(&["peek", "x", "0"]);
    assert!(!left.contains("\n100\n") && left.lines().count() <= 20, "{left}");
    caller.call(&["nudge", "x"], "äöü 字 🦀").exits(0);
    eventually("letters of any kind", || caller.said(&["peek", "x", "1"]).contains("äöü 字 🦀").then_some(()));
    caller.said(&["stop", "x"]);
}

fn attached_terminal_is_reported_and_sets_the_size(caller: &Caller) {
    caller.start("x", "while :; do stty size; sleep 0.2; done", json!({"terminal": {"rows": 33, "cols": 99}}));
    eventually("the size asked for", || caller.said(&["peek", "x", "1"]).contains("33 99").then_some(()));
    let script = caller.script.display().to_string();
    let mut command = caller.command(&["attach", "x"]);
    let env: Vec<_> = command.get_envs().map(|(name, value)| (name.to_owned(), value.unwrap().to_owned())).collect();
    command = Command::new("script");
    command.args(["-qec", &format!("stty rows 21 cols 81; exec '{script}' attach x"), "/dev/null"]);
    command
        .env_clear()
        .envs(env)
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut person = command.spawn().unwrap();
    eventually("it is attached", || (caller.said(&["is-attached", "x"]) == "true\n").then_some(()));
    eventually("its size", || caller.said(&["peek", "x", "1"]).contains("21 81").then_some(()));
    // A viewer that detaches leaves the session as it is.
    let key = ProcessKey::of(i32::try_from(person.id()).unwrap()).unwrap();
    key.signal(Signal::SIGTERM).unwrap();
    person.wait().unwrap();
    eventually("it is not attached", || (caller.said(&["is-attached", "x"]) == "false\n").then_some(()));
    assert_eq!(caller.said(&["is-running", "x"]), "true\n");
    // Those who ask at the same time are all answered.
    let asked = race(6, |_| caller.command(&["is-attached", "x"]));
    assert!(asked.iter().all(|one| one.stdout == b"false\n"), "{asked:?}");
    caller.said(&["stop", "x"]);
    nothing_is_left(caller);
}
