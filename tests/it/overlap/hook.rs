//! The hook after a tool call looks at its own lane, and a new overlap is told once.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use fairway_core::os::poll_until::poll_until;
use serde_json::{Value, json};

use super::{lines, tree, with_lanes, write};
use crate::common::TestProject;

fn after(world: &TestProject, lane: &str, tool: &str) -> String {
    after_input(world, lane, tool, &json!({}))
}

fn after_edit(world: &TestProject, lane: &str, file: &str) -> String {
    after_input(world, lane, "Edit", &json!({ "file_path": tree(world, lane).join(file), "new_string": "x" }))
}

fn after_input(world: &TestProject, lane: &str, tool: &str, input: &Value) -> String {
    let payload = json!({
        "session_id": format!("conversation-{lane}"), "hook_event_name": "PostToolUse", "tool_name": tool,
        "tool_input": input, "tool_response": {}, "cwd": tree(world, lane),
    });
    let run = world.hook_inside(&format!("s-{lane}"), "claude", &payload).exits(0);
    if run.stdout.is_empty() {
        return String::new();
    }
    run.json()["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned()
}

fn with_sessions() -> TestProject {
    let world = with_lanes(&["f", "g"], &["api", "web"]);
    for lane in ["api", "web"] {
        let id = format!("s-{lane}");
        world.run(["session", "upsert", "--id", &id, "--role", "dev", "--lane", lane]).exits(0);
    }
    world
}

fn inbox(world: &TestProject, session: &str) -> Vec<Value> {
    world.json(["--session", session, "inbox"]).as_array().unwrap().clone()
}

#[test]
fn new_overlap_is_told_once_to_both_sessions() {
    let world = with_sessions();
    write(&world, "api", "f", &lines(&[(5, "api")]));
    assert_eq!(after(&world, "api", "Edit"), "");
    write(&world, "web", "f", &lines(&[(5, "web")]));
    // A tool that cannot write is no reason to look.
    assert_eq!(after(&world, "web", "Read"), "");
    let told = after(&world, "web", "Edit");
    assert!(told.contains("Lane api changes the same places as your lane web"), "{told}");
    assert!(told.contains("conflicts in f (line 5)") && told.contains("fairway lane diff api"), "{told}");
    let told = inbox(&world, "s-api");
    assert_eq!((told.len(), &told[0]["source"], &told[0]["priority"]), (1, &json!("overlap"), &json!("urgent")));
    // The same files again, also by another change of them, are not told again; a further file is.
    write(&world, "web", "f", &lines(&[(5, "web"), (6, "web")]));
    assert_eq!(after(&world, "web", "Bash"), "");
    assert_eq!(after(&world, "api", "Write"), "");
    write(&world, "api", "g", &lines(&[(5, "api")]));
    write(&world, "web", "g", &lines(&[(5, "web")]));
    assert_eq!(after(&world, "api", "Write"), "");
    let told = after(&world, "web", "Edit");
    assert!(told.contains("conflicts in g (line 5)") && !told.contains("f (line"), "{told}");
    let found = world.run(["events", "--kind", "overlap.found"]).exits(0).stdout;
    assert_eq!(found.lines().count(), 2, "{found}");
}

/// The agent of the other lane is idle in its terminal, and would have no next call.
#[test]
fn new_overlap_is_typed_into_an_idle_terminal() {
    let world = with_lanes(&["f"], &["api", "web"]);
    world.real_time();
    let got = world.dir().join("got");
    let script = format!("while IFS= read -r line; do echo \"$line\" >>'{}'; done", got.display());
    let launch = ["session", "launch", "--role", "dev", "--name", "s-api", "--lane", "api", "--", "sh", "-c", &script];
    world.run(launch).exits(0);
    world.run(["session", "heartbeat", "s-api", "--activity", "idle"]).exits(0);
    world.run(["session", "upsert", "--id", "s-web", "--role", "dev", "--lane", "web"]).exits(0);
    write(&world, "api", "f", &lines(&[(5, "api")]));
    world.run(["overlap"]).exits(0);
    write(&world, "web", "f", &lines(&[(5, "web")]));
    after(&world, "web", "Edit");
    let typed = || fs::read_to_string(&got).ok().filter(|text| text.contains("Lane web changes the same places"));
    let found = poll_until(Duration::from_secs(20), Duration::from_millis(10), typed);
    assert!(found.is_some(), "{:?}", world.run(["outbox"]));
    world.run(["session", "stop", "s-api"]).exits(0);
}

/// Puts a git first in PATH that writes the subcommand of each call into the file that this returns.
fn with_counted_git(world: &mut TestProject) -> PathBuf {
    let (calls, bin) = (world.dir().join("calls"), world.dir().join("bin"));
    fs::create_dir(&bin).unwrap();
    let path = std::env::var("PATH").unwrap();
    // The words are `-c … -c … SUBCOMMAND …`.
    let script = format!(
        "#!/bin/sh\nfor word; do case $word in -c | *=*) ;; *) break ;; esac; done\n\
         echo \"$word\" >>'{}'\nPATH='{path}' exec git \"$@\"\n",
        calls.display()
    );
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    for file in [bin.join("git"), world.root().join(".git/config")] {
        // A file that was written just now is not relied on.
        let old = fs::metadata(&file).unwrap().modified().unwrap() - Duration::from_secs(60);
        fs::File::options().append(true).open(file).unwrap().set_modified(old).unwrap();
    }
    world.set("PATH", format!("{}:{path}", bin.display()));
    calls
}

/// Each git costs the agent milliseconds after each of its writes.
#[test]
fn look_after_a_tool_asks_git_few_times() {
    let mut world = with_sessions();
    let calls = with_counted_git(&mut world);
    let asked = |world: &TestProject, lane: &str, text: &str| {
        write(world, lane, "f", &lines(&[(5, text)]));
        let _ = fs::remove_file(&calls);
        after(world, lane, "Edit");
        fs::read_to_string(&calls).unwrap().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    asked(&world, "api", "first");
    asked(&world, "web", "other");
    let again = asked(&world, "api", "second");
    assert_eq!(
        again,
        ["rev-parse", "ls-files", "update-index", "write-tree", "commit-tree", "diff-tree", "merge-tree"],
        "{again:?}"
    );
    assert!(world.root().join(".fairway/overlap.facts").exists());
}

/// The hook reads the file that the tool's input names, also a new and a deleted one. What a program changed meanwhile is found
/// after a tool that names no file.
#[test]
fn edit_of_a_named_file_reads_only_that_file() {
    let mut world = with_sessions();
    write(&world, "api", "g", &lines(&[(5, "api")]));
    assert_eq!(after_edit(&world, "api", "g"), "");
    write(&world, "web", "f", &lines(&[(5, "web")]));
    write(&world, "web", "g", &lines(&[(5, "web")]));
    assert_eq!(after_edit(&world, "web", "f"), "");
    let told = after(&world, "web", "Bash");
    assert!(told.contains("conflicts in g (line 5)"), "{told}");
    assert_eq!(inbox(&world, "s-api").len(), 1);
    // The first write after a collision is told.
    write(&world, "api", "f", &lines(&[(5, "api")]));
    let told = after_edit(&world, "api", "f");
    assert!(told.contains("conflicts in f (line 5)"), "{told}");

    let calls = with_counted_git(&mut world);
    after_edit(&world, "web", "f");
    let _ = fs::remove_file(&calls);
    write(&world, "web", "d/new", "new\n");
    assert_eq!(after_edit(&world, "web", "d/new"), "");
    let asked = fs::read_to_string(&calls).unwrap();
    let asked: Vec<&str> = asked.lines().collect();
    assert!((6..=8).contains(&asked.len()), "{asked:?}");
    fs::remove_file(tree(&world, "web").join("g")).unwrap();
    after_edit(&world, "web", "g");
    assert_eq!(after_edit(&world, "web", "../api/f"), "");
    let lanes = world.json(["overlap"])["lanes"].as_array().unwrap().clone();
    let web = lanes.iter().find(|lane| lane["lane"] == "web").unwrap();
    assert_eq!(web["files"], 3, "{web}");
}

#[test]
fn overlap_is_not_computed_when_off_or_unwritable() {
    let world = with_sessions();
    write(&world, "api", "f", &lines(&[(5, "api")]));
    let looked = || world.root().join(".fairway/overlap").exists();
    assert_eq!((after(&world, "api", "Read"), looked()), (String::new(), false));
    fs::write(world.root().join(".fairway/local.toml"), "[overlap]\naction = \"off\"\n").unwrap();
    assert_eq!((after(&world, "api", "Edit"), looked()), (String::new(), false));
    // The command looks all the same, and tells no session.
    write(&world, "web", "f", &lines(&[(5, "web")]));
    assert_eq!(super::said(&world, &[]), ["conflict api:web f"]);
    assert_eq!((inbox(&world, "s-api").len(), inbox(&world, "s-web").len()), (0, 0));
}

/// An agent is told to make branches. The board says on which one the lane works, though no commit tells.
#[test]
fn board_says_on_which_branch_a_lane_works() {
    let world = with_sessions();
    let dir = tree(&world, "api");
    let lane = |world: &TestProject| {
        let board = world.json(["status"]);
        board["lanes"].as_array().unwrap().iter().find(|lane| lane["name"] == "api").unwrap().clone()
    };
    after(&world, "api", "Bash");
    assert_eq!(lane(&world)["work"], Value::Null);
    for (args, work) in [
        (&["switch", "--quiet", "--create", "feature/x"][..], json!("works on feature/x")),
        (&["switch", "--quiet", "--detach"], json!("works on no branch")),
        (&["branch", "--quiet", "-D", "lane/api"], json!("works without its branch, which is gone")),
        (&["switch", "--quiet", "--create", "lane/api"], Value::Null),
    ] {
        world.git(&dir, args);
        after(&world, "api", "Bash");
        assert_eq!(lane(&world)["work"], work);
        let text = world.run(["status"]).exits(0).stdout;
        let line = work.as_str().map(|work| format!("lane api {work}\n"));
        assert_eq!(line.as_ref().map(|line| text.contains(line)), line.as_ref().map(|_| true), "{text}");
        assert!(line.is_some() || !text.contains("lane api works"), "{text}");
    }
}
