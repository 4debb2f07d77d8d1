//! `fairway demo`

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use fairway_core::os::process_tree;

use crate::common::terminal::at_terminal;
use crate::common::{TestProject, tree_snapshot};
use crate::sessions::eventually;

fn files(dir: &Path) -> Vec<std::path::PathBuf> {
    tree_snapshot::capture(dir).into_keys().collect()
}

#[test]
fn demo_is_a_day_on_one_screen_and_leaves_nothing_behind() {
    let mut world = TestProject::uninitialized();
    world.real_time();
    // Neither an agent's command line nor tmux.
    let bin = world.dir().join("bin");
    fs::create_dir(&bin).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    for name in ["git", "sh", "awk", "sed", "mv", "sleep", "cat", "env"] {
        let mut found = std::env::split_paths(&path).map(|dir| dir.join(name));
        std::os::unix::fs::symlink(found.find(|path| path.is_file()).unwrap(), bin.join(name)).unwrap();
    }
    world.set("PATH", &bin);
    // A project around it is not the demo's.
    world.set("FAIRWAY_ROOT", world.dir().join("nowhere"));
    let before = files(world.dir());
    let start = Instant::now();
    let run = world.run(["demo"]).exits(0);
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
    let told = &run.stdout;
    assert!(told.lines().count() <= 60, "{} lines: {told}", told.lines().count());
    // The day of docs/getting-started.md: an approval, a denial, a rework and a landing.
    let order = [
        "$ fairway start T-1 --provider claude --quiet\nT-1-claude\n",
        "$ fairway start 'Cart: name the currency' --provider codex --quiet\n",
        "! approval  T-1-claude T-1",
        "which currency: EUR or USD?",
        "allowed Bash of T-1-claude\n",
        "answered question:T-2-codex:c3",
        "denied   no-force-push",
        "recorded review 1 of T-1: changes",
        "recorded review 2 of T-1: approve",
        "landed T-1 (lane T-1) in main as ",
        "told lane T-2: it conflicts in cart.awk",
        "next, in your own repository: fairway setup\n",
    ];
    let mut at = 0;
    for text in order {
        let found = told[at..].find(text).unwrap_or_else(|| panic!("{text} after byte {at} of {told}"));
        at += found;
    }
    assert_eq!(files(world.dir()), before, "nothing stays");
    world.set("FAIRWAY_SESSION_ID", "outer").run(["demo", "--json"]).refuses(5, "inside_session");
}

#[test]
fn demo_at_a_terminal_ends_in_top() {
    let world = TestProject::uninitialized();
    world.real_time();
    let run = at_terminal(world.fairway(["demo"]), &[("$ fairway top", ""), ("q quit", "q")]);
    assert_eq!(run.code, Some(0), "{}", run.screen);
    let end = run.screen.rsplit("\u{1b}[?1049l").next().unwrap();
    assert!(end.contains("next, in your own repository: fairway setup"), "{end}");
}

#[test]
fn kept_demo_is_a_project_to_look_at() {
    let world = TestProject::uninitialized();
    world.real_time();
    let run = world.run(["demo", "--keep", "--dir", "../demo", "--json"]).exits(0).json();
    assert_eq!(run["kept"], true);
    assert!(run["commands"].as_array().unwrap().len() > 10, "{run}");
    let dir = world.dir().join("demo");
    assert_eq!(run["dir"], dir.canonicalize().unwrap().display().to_string());
    let mut status = world.fairway(["task", "list"]);
    let status = status.current_dir(dir.join("shop")).output().unwrap();
    assert!(String::from_utf8(status.stdout).unwrap().contains("Cart: name the currency"));
    insta::assert_snapshot!(world.transcript(&["fairway demo --dir ../demo"]), @"
    $ fairway demo --dir ../demo
    error: --dir [world]/demo has files in it
    [exit 2]
    ");
    assert!(dir.join("shop").is_dir(), "a refused demo removes nothing");
}

/// A step that fails ends the demo, with its command, and everything is cleaned up all the same.
#[test]
fn failed_step_names_its_command_and_leaves_nothing() {
    let mut world = TestProject::uninitialized();
    world.real_time();
    let bin = world.dir().join("bin");
    fs::create_dir(&bin).unwrap();
    fs::write(bin.join("git"), "#!/bin/sh\n[ \"$1\" != commit ] || exit 3\nexec /usr/bin/git \"$@\"\n").unwrap();
    fs::set_permissions(bin.join("git"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    world.set("PATH", path);
    let before = files(world.dir());
    let run = world.run(["demo", "--json"]).refuses(7, "demo_failed");
    assert!(run.error()["message"].as_str().unwrap().contains("git commit"), "{run:?}");
    assert_eq!(files(world.dir()), before);
}

/// Killed, it cannot end its agents: they end by themselves.
#[test]
fn killed_demo_leaves_no_agent() {
    let world = TestProject::uninitialized();
    world.real_time();
    let dir = world.dir().join("demo");
    let home = format!("HOME={}", dir.join("home").display());
    let mut command = world.fairway(["demo", "--quiet", "--dir", dir.to_str().unwrap()]);
    let mut demo = command.stdout(Stdio::null()).spawn().unwrap();
    let agents = || {
        let processes = process_tree::with_env_entry(&home).unwrap();
        let is_agent = |pid: i32| {
            fs::read_to_string(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|line| line.contains("/bin/claude\0--settings"))
        };
        processes.into_iter().filter(|key| is_agent(key.pid)).count()
    };
    eventually("an agent", || (agents() > 0).then_some(()));
    demo.kill().unwrap();
    demo.wait().unwrap();
    let left = || process_tree::with_env_entry(&home).unwrap();
    eventually("nothing is left", || left().is_empty().then_some(()));
}
