//! The worktrees of Claude Code's subagents are lanes, after `fairway setup --worktrees`.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::common::agent_programs::Agent;
use crate::common::mock_models::MockModels;
use crate::sessions::Sessions;

/// The call by which the model starts a subagent in a worktree of its own. Its prompt has a command, whose brackets the outer text
/// must not have.
fn subagent(command: &str) -> String {
    let prompt = format!("do RUN[[{command}]]");
    let call =
        json!({ "description": "work", "prompt": prompt, "subagent_type": "general-purpose", "isolation": "worktree" });
    format!("TOOL[[Agent {}]]", call.to_string().replace('[', "\\u005b").replace(']', "\\u005d"))
}

#[test]
fn worktrees_of_subagents_are_lanes_that_are_ready() {
    let Some(program) = Agent::Claude.program() else { return };
    let (models, mut world) = (MockModels::start(), Sessions::with_git());
    let vars = Agent::Claude.configure(&world, &models);
    let path = std::env::var_os("PATH").unwrap();
    let dirs = std::iter::once(program.parent().unwrap().to_owned()).chain(std::env::split_paths(&path));
    world.set("PATH", std::env::join_paths(dirs).unwrap());
    let root = world.root();
    for (key, value) in [("user.name", "Ann"), ("user.email", "ann@example.com")] {
        world.git(&root, &["config", key, value]);
    }
    fs::write(root.join(".git/info/exclude"), ".fairway/\n.env\nmade\n").unwrap();
    fs::write(root.join(".env"), "TOKEN=1\n").unwrap();
    fs::write(root.join(".worktreeinclude"), ".env\n").unwrap();
    fs::write(root.join(".fairway/local.toml"), "[lanes]\nsetup = ['cp .env made; sleep 0.1']\n").unwrap();
    world.run(["trust"]).exits(0);
    // A person who has the hooks is not asked again, and a repeat keeps those of worktrees.
    world.json(["setup", "--yes", "--provider", "claude"]);
    let settings = || -> Value {
        serde_json::from_str(&fs::read_to_string(root.join(".claude/settings.local.json")).unwrap()).unwrap()
    };
    assert_eq!(settings()["hooks"]["WorktreeCreate"], Value::Null);
    world.json(["setup", "--yes", "--provider", "claude", "--worktrees"]);
    world.run(["hook", "install", "claude", "--local"]).exits(0);
    assert_eq!(settings()["hooks"]["WorktreeCreate"][0]["hooks"][0]["args"][2], "WorktreeCreate");

    world.git(&root, &["add", "--all"]);
    world.git(&root, &["commit", "--quiet", "--message=setup"]);

    let work = "cat made >work && git add work && git commit -qm work && pwd >../where";
    let prompt = format!("do {} then {}", subagent(work), subagent("cat made"));
    let mut command = world.command(&program);
    command.args(Agent::Claude.headless_args(&prompt)).envs(vars).stdin(Stdio::null());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let place = fs::read_to_string(root.join(".fairway/worktrees/where"));
    let place = place.unwrap_or_else(|error| panic!("{error}: {output:?} {:#?}", models.requests()));
    let place = place.trim();
    let lanes = world.json(["lane", "list"]);
    let (with_work, without): (Vec<_>, Vec<_>) =
        lanes.as_array().unwrap().iter().partition(|one| one["worktree"] == place);
    assert_eq!((with_work.len(), without.len()), (1, 1), "{lanes}");
    assert_eq!((&with_work[0]["setup"]["state"], &without[0]["setup"]["state"]), (&json!("ready"), &json!("ready")));
    assert_eq!(fs::read_to_string(format!("{place}/work")).unwrap(), "TOKEN=1\n");
    let name = with_work[0]["name"].as_str().unwrap();
    assert_eq!(world.json(["lane", "show", name])["lane"]["git"]["ahead"], 1);

    // What is no lane's stays, and a setup that fails gives no worktree.
    let hook = |event: &str, field: &str, value: &str| {
        let payload = json!({ "hook_event_name": event, "session_id": "s", "cwd": root, field: value });
        world.run_with_stdin(["hook", "claude", event], payload.to_string().as_bytes())
    };
    assert_eq!(hook("WorktreeRemove", "worktree_path", "/tmp").exits(0).stdout, "");
    let kept = hook("WorktreeRemove", "worktree_path", place).exits(1);
    assert!(kept.stderr.contains("cannot remove the lane agent-"), "{kept:?}");
    hook("WorktreeRemove", "worktree_path", without[0]["worktree"].as_str().unwrap()).exits(0);
    assert_eq!(world.json(["lane", "list"]).as_array().unwrap().len(), 1);
    world.run(["land", name]).exits(0);
    assert_eq!(fs::read_to_string(root.join("work")).unwrap(), "TOKEN=1\n");
    fs::write(root.join(".fairway/local.toml"), "[lanes]\nsetup = ['exit 3']\n").unwrap();
    world.run(["trust"]).exits(0);
    let failed = hook("WorktreeCreate", "name", "odd name/1").exits(1);
    assert!(
        failed.stderr.contains("the setup of the lane odd-name-1 failed") && failed.stdout.is_empty(),
        "{failed:?}"
    );
}
