//! The ports and variables that the programs of a lane have.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use super::{Sessions, eventually};
use crate::common::concurrent_start::race;

/// The name of the project's directory.
const PROJECT: &str = "project";
/// A shell command that writes what the programs of a lane see.
const SEEN: &str = "echo \"$FAIRWAY_PORT $DATABASE_URL $COMPOSE_PROJECT_NAME\" >";

fn lane(world: &Sessions, name: &str) -> PathBuf {
    world.root().join(".fairway/worktrees").join(name)
}

fn port(world: &Sessions, name: &str) -> Value {
    world.json(["lane", "show", name])["lane"]["port"].clone()
}

#[test]
fn every_program_of_a_lane_has_its_ports_and_variables() {
    let mut world = Sessions::with_git();
    world.set("FAIRWAY_SESSIONS_DEFAULT_BACKEND", "shell");
    let checked = world.dir().join("seen-check");
    let settings = format!(
        "[lanes]\nsetup = ['{SEEN} seen-setup; echo {{port}} >seen-port']\nports = '22000-22030'\n\
         env = {{ DATABASE_URL = 'db:{{port}}/{{lane}}/{{project}}' }}\n[land]\nchecks = ['{SEEN} {}']\n",
        checked.display()
    );
    fs::write(world.root().join(".git/info/exclude"), ".fairway/\nseen-*\n").unwrap();
    fs::write(world.root().join(".fairway/local.toml"), settings).unwrap();
    fs::write(world.root().join("compose.yaml"), "services: {}\n").unwrap();
    for (key, value) in [("user.name", "Ann"), ("user.email", "ann@example.com")] {
        world.git(&world.root(), &["config", key, value]);
    }
    world.git(&world.root(), &["add", "compose.yaml"]);
    world.git(&world.root(), &["commit", "-qm", "compose"]);
    world.run(["task", "add", "work", "--path", "src/**"]).exits(0);
    world.run(["trust"]).exits(0);
    // A port that is in use is given to nobody.
    let taken = (0..10).find_map(|offset| TcpListener::bind(("127.0.0.1", 22_000 + offset)).ok());
    let first = if taken.is_some() { 22_010 } else { 22_000 };

    let agent = format!("{SEEN} seen-agent; exec sleep 600");
    world.run(["start", "T-1", "--json", "--", "sh", "-c", &agent]).exits(0);
    let (worktree, name) = (lane(&world, "T-1"), format!("{PROJECT}-t-1"));
    eventually("the agent", || worktree.join("seen-agent").exists().then_some(()));
    let port = port(&world, "T-1").as_u64().unwrap();
    assert!(port >= first && port.is_multiple_of(10), "{port}");
    let seen = format!("{port} db:{port}/T-1/{PROJECT} {name}\n");
    let read = |file: &str| fs::read_to_string(worktree.join(file)).unwrap();
    assert_eq!((read("seen-setup"), read("seen-port")), (seen.clone(), format!("{port}\n")));
    assert_eq!(read("seen-agent"), seen);
    let shown = world.run(["lane", "show", "T-1"]).exits(0).stdout;
    assert!(shown.contains(&format!("ports       {port} to {}\n", port + 9)), "{shown}");
    fs::write(worktree.join("new"), "x\n").unwrap();
    world.git(&worktree, &["add", "new"]);
    world.git(&worktree, &["commit", "-qm", "work"]);
    world.run(["evidence", "run", "T-1", "--", "sh", "-c", &format!("{SEEN} seen-evidence")]).exits(0);
    assert_eq!(read("seen-evidence"), seen);

    let job = ["exec", "spawn", "--foreground", "--", "sh", "-c", &format!("{SEEN} seen-job")];
    assert!(world.fairway(job).current_dir(&worktree).output().unwrap().status.success());
    assert_eq!(read("seen-job"), seen, "a person's job");

    // The tree of a landing is another place.
    world.run(["land", "T-1"]).exits(0);
    let landing = fs::read_to_string(&checked).unwrap();
    let (landing, rest) = landing.split_once(' ').unwrap();
    assert!(landing != port.to_string() && rest.starts_with(&format!("db:{landing}/landing/")), "{landing} {rest}");
}

#[test]
fn twenty_lanes_of_two_projects_share_no_port_and_are_set_up_once_whatever_is_killed() {
    let world = Sessions::with_git();
    let other = world.dir().join("other");
    fs::create_dir(&other).unwrap();
    world.git(&other, &["clone", "-q", world.root().to_str().unwrap(), "."]);
    let run = |root: &Path, words: &[&str]| {
        let output = world.fairway(words).current_dir(root).output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    run(&other, &["init", "--json"]);
    let lanes = ["a", "b", "c", "d", "f", "g", "h", "i", "j", "k"];
    let settings = "[lanes]\nsetup = ['echo begun >>ran; sleep 0.1; echo done >>ran']\nports = '21000-21190'\n";
    for root in [&world.root(), &other] {
        fs::write(root.join(".fairway/local.toml"), settings).unwrap();
        fs::write(root.join(".git/info/exclude"), ".fairway/\nran\n").unwrap();
        run(root, &["trust", "--json"]);
        for name in lanes {
            run(root, &["lane", "add", name, "--create-worktree", "--json"]);
        }
    }
    let count = 2 * lanes.len();
    let root = |number: usize| if number.is_multiple_of(2) { world.root() } else { other.clone() };
    let setup = |number: usize| {
        let mut call = world.fairway(["lane", "setup", lanes[number / 2 % lanes.len()], "--json"]);
        call.current_dir(root(number)).stdout(Stdio::null()).stderr(Stdio::null());
        call
    };
    let ran = |number: usize| {
        let file = root(number).join(".fairway/worktrees").join(lanes[number / 2]).join("ran");
        fs::read_to_string(file).unwrap_or_default()
    };
    // Killed before, while and after its command runs; that command ends by itself.
    let mut killed = 0;
    while killed < 50 {
        let before: Vec<usize> = (0..count).map(|number| ran(number).len()).collect();
        let mut running: Vec<_> = (0..count).map(|number| setup(number).spawn().unwrap()).collect();
        for (number, child) in running.iter_mut().enumerate() {
            if number % 3 > 0 {
                eventually("its end or its command", || {
                    (child.try_wait().unwrap().is_some() || ran(number).len() > before[number]).then_some(())
                });
            }
            child.kill().unwrap();
            killed += usize::from(child.wait().unwrap().signal() == Some(9));
        }
        for number in 0..2 {
            let listed = run(&root(number), &["lane", "list", "--json"]);
            for (index, lane) in listed.as_array().unwrap().iter().enumerate() {
                let ran = ran(2 * index + number);
                assert!(lane["setup"]["state"] != "ready" || ran.ends_with("begun\ndone\n"), "{lane}: {ran}");
            }
        }
    }
    let before: Vec<String> = (0..count).map(ran).collect();
    let all = race(2 * count, setup);
    assert!(all.iter().all(|output| output.status.success()), "{all:?}");
    for (number, before) in before.iter().enumerate() {
        let after = ran(number);
        let new = after.strip_prefix(before.as_str()).unwrap();
        assert!(after.ends_with("begun\ndone\n") && new.matches("begun").count() <= 1, "{before} {new}");
    }
    let ports = |root: &Path| -> Vec<u64> {
        lanes
            .iter()
            .map(|name| run(root, &["lane", "show", name, "--json"])["lane"]["port"].as_u64().unwrap())
            .collect()
    };
    let (here, there) = (ports(&world.root()), ports(&other));
    let given: BTreeSet<u64> = here.iter().chain(&there).copied().collect();
    assert_eq!(given, (0..20).map(|block| 21_000 + 10 * block).collect(), "each block once");

    world.run(["lane", "add", "e", "--create-worktree"]).exits(0);
    let full = world.run(["lane", "setup", "e", "--json"]).refuses(2, "usage");
    assert!(full.error()["message"].as_str().unwrap().contains("no free block of ten ports"), "{full:?}");
    run(&other, &["lane", "rm", "b", "--json"]);
    // What cannot be read is not written over: other worktrees may have these ports.
    let file = world.dir().join("home/.local/state/fairway/ports.json");
    let kept = fs::read_to_string(&file).unwrap();
    fs::write(&file, &kept[..kept.len() / 2]).unwrap();
    let unread = world.run(["lane", "setup", "e", "--json"]).refuses(2, "invalid_value");
    assert!(unread.error()["message"].as_str().unwrap().contains("remove it"), "{unread:?}");
    fs::write(&file, kept).unwrap();
    world.run(["lane", "setup", "e"]).exits(0);
    assert_eq!(port(&world, "e"), json!(there[1]), "that of the removed lane");
    assert_eq!(run(&other, &["lane", "show", "a", "--json"])["lane"]["port"], json!(there[0]));
}
