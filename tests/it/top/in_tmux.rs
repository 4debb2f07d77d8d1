//! The program in a real terminal.

use std::fs;
use std::time::{Duration, Instant};

use fairway_core::os::process::{self, ProcessKey};
use nix::sys::signal::Signal;

use super::tmux::Window;
use crate::sessions::{Sessions, eventually};

/// An item is on the screen this long after its event at the latest.
const SHOWN: Duration = Duration::from_secs(1);
/// The time that a loaded machine may take besides.
const SLACK: Duration = Duration::from_secs(4);

fn world() -> Sessions {
    let world = Sessions::new();
    world.run(["lane", "add", "cart"]).exits(0);
    world.run(["task", "add", "T-1", "Fix the total"]).exits(0);
    world
}

/// The process of the program in the window.
fn top(window: &Window<'_>) -> ProcessKey {
    let shell: i32 = window.value("#{pane_pid}").parse().unwrap();
    eventually("top runs", || process::all().ok()?.into_iter().find(|one| one.parent == shell).map(|one| one.key()))
}

fn ticks(pid: i32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

/// Asserts that a program uses no time while nothing happens.
fn is_still(pid: i32) {
    let before = eventually("it has settled", || {
        let before = ticks(pid);
        std::thread::sleep(Duration::from_secs(1));
        (ticks(pid) == before).then_some(before)
    });
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(ticks(pid) - before, 0);
}

#[test]
fn events_deaths_and_sizes_are_shown_and_nothing_costs_nothing() {
    let world = world();
    fs::write(
        world.root().join(".fairway/local.toml"),
        "[notify]\nsinks = [\"bell\"]\n[notify.per_sink.bell]\nkinds = [\"question\"]\n",
    )
    .unwrap();
    let window = Window::open(&world, 80, 24);
    window.types("fairway top");
    window.shows("READY (1)");
    let key = top(&window);

    // An event is shown, and told to the sinks.
    world.run(["session", "upsert", "--id", "ada", "--role", "dev", "--lane", "cart"]).exits(0);
    let begin = Instant::now();
    let asks = ["session", "heartbeat", "ada", "--activity", "requires_action", "--waiting-for", "which currency?"];
    world.run(asks).exits(0);
    window.shows("which currency?");
    assert!(begin.elapsed() < SHOWN + SLACK, "{:?}", begin.elapsed());
    eventually("the bell has rung", || {
        let items = world.json(["notify"])["items"].clone();
        (items[0]["sink"] == "bell" && items[0]["state"] == "sent").then_some(())
    });
    world.run(["session", "heartbeat", "ada", "--activity", "busy"]).exits(0);
    window.shows("nothing needs you");

    // A death is shown, without an event.
    world.launch(&["--role", "dev", "--lane", "cart", "--backend", "shell", "--name", "bob", "--", "sleep", "600"]);
    world.run(["--session", "bob", "claim", "T-1"]).exits(0);
    window.shows("T-1");
    let run = world.session("bob")["run_id"].clone();
    let begin = Instant::now();
    for process in crate::sessions::marked(&run).unwrap() {
        process.signal(Signal::SIGKILL).unwrap();
    }
    window.shows("dead · bob");
    assert!(begin.elapsed() < SHOWN + SLACK, "{:?}", begin.elapsed());
    // Its lines say who, why and since when, and the keys what to do.
    window.press(&["g"]);
    let dead = window.until("the keys of the dead one", |screen| screen.contains("›✗") && screen.contains("r release"));
    let lines: Vec<&str> = dead.lines().skip_while(|line| !line.starts_with("NEEDS YOU (1)")).skip(1).take(3).collect();
    for part in ["›✗ T-1: process", "Fix the total", "dead · bob", "s\n"] {
        assert!(lines.join("\n").contains(part), "{part}: {dead}");
    }

    // The size of the window is that of the frame.
    window.resize(130, 40);
    window.until("the wide frame", |screen| screen.lines().any(|line| line.chars().nth(58) == Some('│')));
    window.resize(60, 16);
    window.until("the narrow frame", |screen| screen.contains("NEEDS YOU (1)") && !screen.contains('│'));

    is_still(key.pid);

    // A session whose usage limit has passed goes on.
    let eve = ["session", "upsert", "--id", "eve", "--role", "dev", "--provider", "fake"];
    world.run(eve).exits(0);
    world.run(["park", "eve", "--for", "1h", "--limit"]).exits(0);
    world.write_rows("UPDATE agent_sessions SET parked_until = 1 WHERE id = 'eve'");
    world.run(eve.iter().chain(&["--branch", "main"])).exits(0);
    let told = "SELECT id FROM messages WHERE to_session = 'eve' AND source = 'resumption'";
    eventually("it is told to go on", || (world.rows(told).len() == 1).then_some(()));
    world.run(["session", "end", "eve"]).exits(0);

    window.press(&["q"]);
    window.is_sane();
    world.run(["session", "stop", "bob"]).exits(0);
}

#[test]
fn terminal_is_sane_after_suspend_signals_and_a_panic() {
    let world = world();
    let window = Window::open(&world, 80, 24);
    window.types("set -m; fairway top");
    window.shows("READY (1)");
    window.press(&["C-z"]);
    window.is_sane();
    window.types("clear; fg");
    window.shows("READY (1)");
    window.press(&["q"]);
    window.is_sane();
    for signal in [Signal::SIGTERM, Signal::SIGHUP] {
        window.types("clear; fairway top");
        window.shows("READY (1)");
        assert!(top(&window).signal(signal).unwrap());
        window.is_sane();
    }
    window.types("clear; FAIRWAY_TEST_FAULT=panic fairway top");
    window.shows("as asked");
    window.is_sane();
    // A killed program can put nothing right; the next one can be used all the same.
    window.types("clear; fairway top");
    window.shows("READY (1)");
    assert!(top(&window).signal(Signal::SIGKILL).unwrap());
    eventually("it is gone", || (window.value("#{pane_current_command}") == "sh").then_some(()));
    // Raw mode knows no Enter.
    window.press(&["-l", "stty sane; echo sane$((1+1))"]);
    window.press(&["C-j"]);
    window.shows("sane2");
    // The killed one has left its frame: what is read must be that of the next one.
    window.types("clear");
    window.until("the frame is gone", |screen| !screen.contains("READY (1)"));
    window.types("fairway top");
    window.shows("READY (1)");
    window.press(&["q"]);
    window.is_sane();
}

#[test]
fn attach_comes_back_to_the_board() {
    let world = world();
    world.launch(&[
        "--role", "dev", "--lane", "cart", "--backend", "tmux", "--name", "ada", "--", "sh", "-c",
        "echo hello; exec cat",
    ]);
    let window = Window::open(&world, 90, 24);
    window.types("fairway top");
    window.shows("Enter attach; Ctrl-b d comes back");
    window.press(&["Enter"]);
    window.shows("hello");
    window.press(&["C-b"]);
    window.press(&["d"]);
    window.shows("READY (1)");
    // Its live output, and the output as it grows.
    window.press(&["1"]);
    window.shows("fairway session peek ada");
    window.shows("hello");
    world.run(["session", "nudge", "ada", "more of it"]).exits(0);
    window.shows("more of it");
    window.press(&["q"]);
    window.shows("READY (1)");
    // On a wide screen its terminal stands beside the list, and costs nothing while it is still.
    window.resize(130, 24);
    window.until("list and screen", |screen| {
        screen.contains("READY (1)") && screen.contains("[1 screen]") && screen.contains("│ more of it")
    });
    world.run(["session", "nudge", "ada", "and yet more"]).exits(0);
    window.shows("│ and yet more");
    let key = top(&window);
    is_still(key.pid);
    window.press(&["2"]);
    window.shows("[2 messages]");
    window.press(&["3"]);
    window.shows("fairway lane edit cart --worktree DIR");
    window.press(&["0"]);
    window.until("the list alone", |screen| !screen.contains('│') && screen.contains("READY (1)"));
    // It asks before it stops the session.
    window.press(&["s"]);
    window.shows("All processes of the session are ended.");
    window.press(&["x"]);
    window.shows("nothing was done");
    assert_eq!(world.session("ada")["status"], "running");
    window.press(&["s"]);
    window.press(&["y"]);
    window.shows("stopped ada");
    assert_eq!(world.session("ada")["status"], "ended");
    window.press(&["q"]);
    window.is_sane();
}

#[test]
fn board_of_a_store_that_vanished_is_not_shown_as_current() {
    let world = world();
    let window = Window::open(&world, 80, 24);
    window.types("fairway top");
    window.shows("READY (1)");
    let (state, gone) = (world.root().join(".fairway"), world.root().join("gone"));
    let begin = Instant::now();
    fs::rename(&state, &gone).unwrap();
    let screen = window.shows(" as of ");
    assert!(begin.elapsed() < Duration::from_secs(20) + SLACK, "{:?}", begin.elapsed());
    assert!(screen.contains("cart"), "{screen}");
    fs::rename(&gone, &state).unwrap();
    window.until("the board is current", |screen| !screen.contains(" as of ") && screen.contains("READY (1)"));
    window.press(&["q"]);
    window.is_sane();
}
