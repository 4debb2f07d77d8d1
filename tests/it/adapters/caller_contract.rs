//! The contract with callers that know nothing of Fairway, for every built-in script alike, with real multiplexers.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use fairway_core::os::poll_until;
use serde_json::json;

use super::{Caller, eventually, given};
use crate::common::require;
use crate::common::test_project::{CommandOutput, FAIRWAY};

macro_rules! with_each {
    ($($test:ident)*) => {
        mod shell { $(#[test] fn $test() { super::with("shell", super::$test); })* }
        mod tmux { $(#[test] fn $test() { super::with("tmux", super::$test); })* }
        mod screen { $(#[test] fn $test() { super::with("screen", super::$test); })* }
        mod zellij { $(#[test] fn $test() { super::with("zellij", super::$test); })* }
    };
}

with_each! {
    the_program_is_found_in_path_and_nothing_is_open_to_others
    typing_to_an_exiting_program_succeeds
    program_lists_other_sessions_and_stops_its_own
    no_descriptor_of_the_caller_stays_open
    attach_without_a_terminal_fails
}

fn with(backend: &str, test: impl FnOnce(&Caller)) {
    if backend == "shell" || require::program(backend) {
        test(&Caller::of(backend));
    }
}

/// Every file and folder below one.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { below(&path) } else { vec![path] }).collect()
}

fn the_program_is_found_in_path_and_nothing_is_open_to_others(caller: &Caller) {
    std::os::unix::fs::symlink(FAIRWAY, caller.folder("bin").join("fairway")).unwrap();
    let link = caller.world.dir().join("link");
    std::os::unix::fs::symlink(&caller.script, &link).unwrap();
    let path = format!("{}:{}", caller.folder("bin").display(), std::env::var("PATH").unwrap());
    // Without a mask, with the program's name alone, and by a relative path that is a link.
    let call = |args: &[&str], stdin: &str| -> CommandOutput {
        let mut command = caller.world.command(Path::new("/bin/sh"));
        command.args(["-c", "umask 000; exec ./link \"$@\"", "sh"]).args(args).current_dir(caller.world.dir());
        command.env_remove("FAIRWAY_BIN").env("PATH", &path).env("GC_EXEC_STATE_DIR", &caller.state);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        given(command, stdin.as_bytes()).wait_with_output().unwrap().into()
    };
    assert_eq!(call(&["is-running", "s-1"], "").exits(0).stdout, "false\n");
    call(&["start", "s-1"], &json!({"command": "cat", "nudge": "first"}).to_string()).exits(0);
    call(&["nudge", "s-1"], "second").exits(0);
    eventually("both texts", || {
        let seen = call(&["peek", "s-1", "0"], "").exits(0).stdout;
        (seen.contains("first") && seen.contains("second")).then_some(())
    });
    assert_eq!(call(&["list-running", ""], "").exits(0).stdout, "s-1\n");
    let wide = |path: &PathBuf| {
        let found = fs::symlink_metadata(path).unwrap();
        !found.is_symlink() && found.permissions().mode() & 0o077 != 0
    };
    let session = fs::read_dir(&caller.state).unwrap().flatten().find(|entry| entry.path().join("start.json").exists());
    let open: Vec<PathBuf> = below(&session.unwrap().path()).into_iter().filter(wide).collect();
    assert_eq!(open, Vec::<PathBuf>::new());
    assert_eq!(fs::metadata(&caller.state).unwrap().mode() & 0o777, 0o700);
    call(&["stop", "s-1"], "").exits(0);
    assert_eq!(call(&["is-running", "s-1"], "").exits(0).stdout, "false\n");
}

/// A program's leftovers may take a while to end, and the session with them.
fn typing_to_an_exiting_program_succeeds(caller: &Caller) {
    let left = "(exec </dev/null >/dev/null 2>&1; while :; do sleep 0.2; done)";
    caller.start("s-1", &format!("trap '' TERM HUP; read -r word; {left} & exit 0"), json!({}));
    // On a busy machine it may be ending before this call returns.
    let asked = Instant::now();
    caller.call(&["nudge", "s-1"], "go").exits(0);
    let ended = poll_until::poll_until(Duration::from_secs(20), Duration::from_millis(50), || {
        for (operation, args) in [("nudge", &[][..]), ("send-keys", &["Escape", "C-c", "Enter"]), ("interrupt", &[])] {
            caller.call(&[&[operation, "s-1"], args].concat(), "more").exits(0);
        }
        (caller.said(&["is-running", "s-1"]) == "false\n").then_some(())
    });
    assert!(ended.is_some(), "it never ended");
    assert!(asked.elapsed() > Duration::from_secs(1), "it ended at once: nothing was tried");
}

/// The script is called from inside and outside, wherever the caller keeps its state.
fn program_lists_other_sessions_and_stops_its_own(caller: &Caller) {
    let (script, out) = (caller.script.display(), caller.world.dir().join("out"));
    let fairway = format!("FAIRWAY_BIN='{FAIRWAY}' '{script}'");
    // The shell itself writes to the terminal: it may live long enough to print that its command was terminated.
    let inside = format!(
        "read -r word; {{ {fairway} list-running '' 2>&1; {fairway} stop s-1 2>&1; }} >'{}'; exec sleep 300",
        out.display()
    );
    let call = |args: &[&str], stdin: &str| -> CommandOutput {
        let mut command = caller.command(args);
        // Seen from elsewhere, a relative folder is another one.
        command.env("GC_EXEC_STATE_DIR", "state").current_dir(caller.world.dir());
        given(command, stdin.as_bytes()).wait_with_output().unwrap().into()
    };
    let work = caller.folder("work");
    call(&["start", "s-1"], &json!({"command": inside, "work_dir": work}).to_string()).exits(0);
    call(&["start", "s-2"], &json!({"command": "exec sleep 300"}).to_string()).exits(0);
    call(&["nudge", "s-1"], "go").exits(0);
    eventually("it has ended itself", || (call(&["is-running", "s-1"], "").exits(0).stdout == "false\n").then_some(()));
    assert_eq!(fs::read_to_string(&out).unwrap(), "s-1\ns-2\n");
    assert_eq!(call(&["list-running", ""], "").exits(0).stdout, "s-2\n");
    call(&["start", "s-1"], "{}").exits(0);
    for name in ["s-1", "s-2"] {
        call(&["stop", name], "").exits(0);
    }
}

/// A lock that the caller holds would else be held as long as the session lives.
fn no_descriptor_of_the_caller_stays_open(caller: &Caller) {
    let lock = caller.world.dir().join("lock");
    let mut command = caller.world.command(Path::new("/bin/sh"));
    command.args(["-c", "exec 9>\"$1\"; exec \"$2\" start s-1", "sh"]).args([&lock, &caller.script]);
    command.env("FAIRWAY_BIN", FAIRWAY).env("GC_EXEC_STATE_DIR", &caller.state);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let start =
        json!({"command": "exec sleep 300", "pre_start": ["sleep 301 & true"], "session_live": ["sleep 302 & true"]});
    let run: CommandOutput = given(command, start.to_string().as_bytes()).wait_with_output().unwrap().into();
    run.exits(0);
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let holds = |process: &PathBuf| {
        entries(&process.join("fd")).any(|number| fs::read_link(number).is_ok_and(|file| file == lock))
    };
    let holders: Vec<String> = entries(Path::new("/proc"))
        .filter(holds)
        .map(|process| fs::read_to_string(process.join("cmdline")).unwrap_or_default().replace('\0', " "))
        .collect();
    assert_eq!(holders, Vec::<String>::new());
    caller.said(&["stop", "s-1"]);
}

fn attach_without_a_terminal_fails(caller: &Caller) {
    // Without a multiplexer there is none to be shown, and what the program prints is followed.
    if caller.script.ends_with("shell.sh") {
        return;
    }
    caller.start("s-1", "exec cat", json!({}));
    let run = caller.call(&["attach", "s-1"], "").exits(1);
    assert!(run.stderr.contains("terminal") && !run.stderr.contains("panicked"), "{run:?}");
    assert_eq!(caller.said(&["is-running", "s-1"]), "true\n");
    caller.said(&["stop", "s-1"]);
}
