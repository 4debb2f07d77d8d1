//! What callers that know nothing of Fairway rely on, of every built-in script alike, with real multiplexers.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use fairway::os::wait;
use serde_json::json;

use super::{Caller, eventually, given};
use crate::common::world::{FAIRWAY, Run};

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
    who_types_to_a_program_that_has_just_ended_is_not_at_fault
}

/// Where the multiplexer is missing, the test says so and passes; under CI it must be there.
fn with(backend: &str, test: impl FnOnce(&Caller)) {
    let version = if backend == "tmux" { "-V" } else { "--version" };
    let found = backend == "shell" || Command::new(backend).arg(version).stdin(Stdio::null()).output().is_ok();
    assert!(found || std::env::var_os("CI").is_none(), "{backend} is missing; tests/run.sh installs it");
    if found {
        test(&Caller::of(backend));
    } else {
        println!("skipped: there is no {backend} here");
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
    let call = |args: &[&str], stdin: &str| -> Run {
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

/// What a program leaves behind may take a while to end, and the session with it.
fn who_types_to_a_program_that_has_just_ended_is_not_at_fault(caller: &Caller) {
    let left = "(exec </dev/null >/dev/null 2>&1; while :; do sleep 0.2; done)";
    caller.start("s-1", &format!("trap '' TERM HUP; read -r word; {left} & exit 0"), json!({}));
    caller.call(&["nudge", "s-1"], "go").exits(0);
    let asked = Instant::now();
    let ended = wait::until(Duration::from_secs(20), Duration::from_millis(50), || {
        for (operation, args) in [("nudge", &[][..]), ("send-keys", &["Escape", "C-c", "Enter"]), ("interrupt", &[])] {
            caller.call(&[&[operation, "s-1"], args].concat(), "more").exits(0);
        }
        (caller.said(&["is-running", "s-1"]) == "false\n").then_some(())
    });
    assert!(ended.is_some(), "it never ended");
    assert!(asked.elapsed() > Duration::from_secs(1), "it ended at once: nothing was tried");
}
