//! Typing into a run's terminal, which is one in every respect.

use std::fs;
use std::time::Duration;

use fairway_core::os::poll_until;
use serde_json::Value;

use super::job_project::{JobProject, WAIT_TIMEOUT};
use crate::common::TestProject;

/// Waits until a run has printed this.
#[track_caller]
fn shows(place: &JobProject<'_>, run: &str, text: &str) -> Value {
    let seen = poll_until::poll_until(WAIT_TIMEOUT, Duration::from_millis(20), || {
        Some(place.json(["exec", "poll", run])).filter(|seen| seen["snippet"].as_str().unwrap().contains(text))
    });
    seen.unwrap_or_else(|| panic!("{text:?} is not in {}", place.json(["exec", "poll", run])))
}

#[test]
fn terminal_has_a_size_and_ctrl_c_is_ctrl_c() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let script = "trap 'echo caught; exit 5' INT; trap 'stty size' WINCH; stty size; : </dev/tty && echo own; \
                  while :; do sleep 0.05; done";
    let run = place.spawn(["--pty", "--size", "33x44", "--shell", script]);
    shows(&place, &run, "33 44\r\nown\r\n");
    let sent = place.json(["exec", "send-keys", &run, "--size", "11x22"]);
    assert_eq!((sent["sent"].as_bool(), sent["bytes"].as_u64()), (Some(true), Some(0)), "{sent}");
    shows(&place, &run, "11 22");
    place.json(["exec", "send-keys", &run, "C-c"]);
    let seen = place.json(["exec", "poll", &run, "--until", "exit", "--wait", "30s"]);
    assert_eq!((seen["status"].as_str(), seen["exit_code"].as_i64()), (Some("failed"), Some(5)), "{seen}");
    assert!(seen["snippet"].as_str().unwrap().contains("caught"), "{seen}");
    place.wait_no_processes("Ctrl-C");
}

#[test]
fn text_keys_bytes_and_the_end_of_input_arrive_in_order() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let run = place.spawn(["--pty", "--shell", "stty -echo; echo up; cat >got"]);
    let before = shows(&place, &run, "up\r\n");
    let sent =
        place.json(["exec", "send-keys", &run, "-l", "Enter C-c $HOME ü", "--hex", "7e 41", "Enter", "x", "Enter"]);
    assert_eq!(sent["bytes"], 23, "{sent}");
    assert_eq!(sent["seq_before"], before["next_seq"].as_i64().unwrap_or_default(), "{sent} {before}");
    place.json(["exec", "send-keys", &run, "--eof"]);
    let seen = place.json(["exec", "poll", &run, "--until", "exit", "--wait", "30s"]);
    assert_eq!(seen["status"], "succeeded", "{seen}");
    assert_eq!(fs::read_to_string(place.dir.join("got")).unwrap(), "Enter C-c $HOME ü~A\nx\n");
}

#[test]
fn terminal_stays_until_the_program_has_ended() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    // A program that closes its streams, as many do at their end, is not hung up on; and may open its terminal again.
    let text = "echo up; exec <&- >&- 2>&-; sleep 0.3; echo again >/dev/tty; exit 3";
    let run = place.spawn(["--pty", "--shell", text]);
    let seen = place.json(["exec", "poll", &run, "--until", "exit", "--wait", "30s"]);
    let got = (seen["exit_code"].as_i64(), seen["snippet"].as_str());
    assert_eq!(got, (Some(3), Some("up\r\nagain\r\n")), "{seen}");
}

#[test]
fn paste_is_marked_for_a_program_that_asked_for_it() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let run =
        place.spawn(["--pty", "--shell", "stty raw -echo; printf '\\033[?2004hup'; dd bs=1 count=15 2>/dev/null >got"]);
    shows(&place, &run, "up");
    place.json(["exec", "send-keys", &run, "--paste", "a\nb"]);
    place.json(["exec", "poll", &run, "--until", "exit", "--wait", "30s"]);
    assert_eq!(fs::read(place.dir.join("got")).unwrap(), b"\x1b[200~a\nb\x1b[201~");
}

#[test]
fn full_input_of_a_silent_program_never_hangs() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let run = place.spawn(["--pty", "--shell", "stty raw -echo; echo up; sleep 600"]);
    shows(&place, &run, "up");
    // Input that fits into the buffer is taken before any program reads.
    assert_eq!(place.json(["exec", "send-keys", &run, "-l", &"k".repeat(1_000)])["bytes"], 1_000);
    let refused =
        place.run(["exec", "send-keys", &run, "--json", "-l", &"k".repeat(100_000)]).refuses(4, "input_full").error();
    let taken = refused["details"]["bytes"].as_u64().unwrap();
    assert!(taken > 0 && taken < 100_000, "{refused}");
    assert_eq!(place.json(["exec", "poll", &run])["status"], "running");
    assert_eq!(place.json(["exec", "kill", &run])["status"], "canceled");
}

#[test]
fn slow_reader_receives_all_typed_keys() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let script = "stty raw; echo up; dd bs=1 count=50000 2>/dev/null >got";
    let run = place.spawn(["--pty", "--shell", script]);
    shows(&place, &run, "up");
    let text: String = ('a'..='z').cycle().take(50_000).collect();
    assert_eq!(place.json(["exec", "send-keys", &run, "-l", &text])["bytes"], 50_000);
    let seen = place.json(["exec", "poll", &run, "--until", "exit", "--wait", "30s"]);
    assert_eq!(seen["status"], "succeeded", "{seen}");
    assert!(fs::read_to_string(place.dir.join("got")).unwrap() == text, "not what was typed");
}

#[test]
fn send_keys_to_an_unsuitable_job_names_the_reason() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let run = place.spawn(["--queue", "q", "--shell", "echo up; sleep 600"]);
    let queued = place.spawn(["--queue", "q", "--pty", "--", "cat"]);
    let refuse = |run: &str, words: &[&str], exit: i32, code: &str| {
        let words = ["exec", "send-keys", run, "--json"].into_iter().chain(words.iter().copied());
        place.run(words).refuses(exit, code);
    };
    refuse(&run, &["Enter"], 4, "no_terminal");
    refuse(&queued, &["Enter"], 4, "run_queued");
    refuse(&queued, &["Return"], 2, "usage");
    refuse(&queued, &["--hex", "4"], 2, "usage");
    refuse(&queued, &["--size", "0x1"], 2, "usage");
    refuse(&queued, &[], 2, "usage");
    refuse("ffffffff", &["Enter"], 3, "not_found");
    place.json(["exec", "kill", &run]);
    shows(&place, &queued, "");
    let up = || (place.json(["exec", "poll", &queued])["status"] == "running").then_some(());
    assert!(poll_until::poll_until(WAIT_TIMEOUT, Duration::from_millis(20), up).is_some());
    refuse(&queued, &["-l", &"x".repeat(5_000)], 2, "invalid_value");
    // Nothing of that was typed: the end of input comes to an empty line.
    place.json(["exec", "send-keys", &queued, "--eof"]);
    assert_eq!(place.json(["exec", "poll", &queued, "--until", "exit", "--wait", "30s"])["status"], "succeeded");
    refuse(&queued, &["Enter"], 4, "run_final");
}

#[test]
fn repeat_of_a_request_types_once() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let run = place.spawn(["--pty", "--shell", "stty -echo; echo up; cat >got"]);
    shows(&place, &run, "up");
    let first = place.json(["exec", "send-keys", &run, "-l", "once", "Enter", "--request-id", "r"]);
    assert_eq!(place.json(["exec", "send-keys", &run, "-l", "once", "Enter", "--request-id", "r"]), first);
    place.json(["exec", "send-keys", &run, "--eof"]);
    place.json(["exec", "poll", &run, "--until", "exit", "--wait", "30s"]);
    assert_eq!(fs::read_to_string(place.dir.join("got")).unwrap(), "once\n");
}
