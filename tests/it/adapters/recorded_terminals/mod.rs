//! Backends whose programs have a recorded terminal of their own, `screen.sh` and `zellij.sh`: one set of tests for both, with
//! the real multiplexer each.

macro_rules! with_each {
    ($($test:ident)*) => {
        mod screen {
            $(#[test]
            fn $test() {
                super::super::with("screen", super::$test);
            })*
        }
        mod zellij {
            $(#[test]
            fn $test() {
                super::super::with("zellij", super::$test);
            })*
        }
    };
}

mod input;
mod lifecycle;
mod screen_view;
mod server;
mod socket_paths;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fairway_core::os::process::{ProcessKey, ProcessStatus};
use fairway_core::os::process_tree;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::shared_checks::{assert_missing_sessions_are_reported, payload, reader, readers, with_enter};
use super::{Caller, eventually, given, holds, naming};
use crate::common::concurrent_start::race;
use crate::common::require;
use crate::common::test_project::{CommandOutput, FAIRWAY};

fn with(backend: &str, test: impl FnOnce(&Caller)) {
    if require::program(backend) {
        test(&Caller::of(backend));
    }
}

fn backend(caller: &Caller) -> String {
    caller.script.file_stem().unwrap().to_string_lossy().into_owned()
}

fn pid(report: &Value) -> i32 {
    i32::try_from(report["pid"].as_i64().unwrap()).unwrap()
}

/// The server of a session: its root's ancestor that runs the multiplexer.
fn server(caller: &Caller, report: &Value) -> ProcessKey {
    let mut at = pid(report);
    loop {
        at = fairway_core::os::process::stat(at).unwrap().expect("an ancestor").parent;
        let name = fs::read_to_string(format!("/proc/{at}/comm")).unwrap();
        if name.trim() == backend(caller) {
            return ProcessKey::of(at).unwrap();
        }
    }
}

fn sockets(caller: &Caller) -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let Ok(data) = fs::symlink_metadata(&path) else { continue };
            if data.is_dir() {
                walk(&path, found);
            } else if !data.is_file() {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&caller.state, &mut found);
    found
}

/// Nothing of any session runs or lies about.
#[track_caller]
fn nothing_is_left(caller: &Caller) {
    eventually("nothing runs", || naming(&caller.state).is_empty().then_some(()));
    // A program that ended by itself is told as gone before its server has put its socket away.
    eventually("no socket lies about", || sockets(caller).is_empty().then_some(()));
}

fn called(command: Command, stdin: &[u8]) -> CommandOutput {
    given(command, stdin).wait_with_output().unwrap().into()
}
