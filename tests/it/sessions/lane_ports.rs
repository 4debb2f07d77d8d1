//! The ports and variables that the programs of a lane have.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

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
        "[lanes]\nsetup = ['{SEEN} seen-setup; echo {{port}} >seen-port']\nports = '20000-20030'\n\
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
    let taken = (0..10).find_map(|offset| TcpListener::bind(("127.0.0.1", 20_000 + offset)).ok());
    let first = if taken.is_some() { 20_010 } else { 20_000 };

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
fn no_two_worktrees_of_a_user_share_a_port_and_a_removed_one_frees_its_own() {
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
    let lanes = ["a", "b", "c", "d"];
    for root in [&world.root(), &other] {
        fs::write(root.join(".fairway/local.toml"), "[lanes]\nsetup = ['true']\nports = '21000-21070'\n").unwrap();
        run(root, &["trust", "--json"]);
        for name in lanes {
            run(root, &["lane", "add", name, "--create-worktree", "--json"]);
        }
    }
    let all = race(2 * lanes.len(), |number| {
        let mut call = world.fairway(["lane", "setup", lanes[number / 2], "--json"]);
        call.current_dir(if number % 2 == 0 { world.root() } else { other.clone() });
        call
    });
    assert!(all.iter().all(|output| output.status.success()), "{all:?}");
    let ports = |root: &Path| -> Vec<u64> {
        lanes
            .iter()
            .map(|name| run(root, &["lane", "show", name, "--json"])["lane"]["port"].as_u64().unwrap())
            .collect()
    };
    let (here, there) = (ports(&world.root()), ports(&other));
    let given: BTreeSet<u64> = here.iter().chain(&there).copied().collect();
    assert_eq!(given, (0..8).map(|block| 21_000 + 10 * block).collect(), "each block once");

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
