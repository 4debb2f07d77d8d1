//! The hook after a tool call looks at its own lane, and a new overlap is told once.

use std::fs;

use serde_json::{Value, json};

use super::{lines, tree, with_lanes, write};
use crate::common::TestProject;

fn after(world: &TestProject, lane: &str, tool: &str) -> String {
    let payload = json!({
        "session_id": format!("conversation-{lane}"), "hook_event_name": "PostToolUse", "tool_name": tool,
        "tool_input": {}, "tool_response": {}, "cwd": tree(world, lane),
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

#[test]
fn nothing_is_looked_at_when_it_is_switched_off_or_nothing_could_be_written() {
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
