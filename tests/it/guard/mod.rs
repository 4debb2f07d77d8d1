//! The guard: denied and allowed calls, and that every fault denies.

mod bypass_lists;
mod check;
mod differential;
mod error_rates;
mod faults;
mod fuzz;
mod push_hook;
mod rules;
pub mod sample_rules;
mod shell_fuzz;
mod slow_texts;
mod trust;
mod write_paths;

use std::fs;

use serde_json::{Value, json};

pub use self::sample_rules::{judged, no_force_push};
use crate::common::TestProject;
use crate::common::test_project::CommandOutput;

/// The rules of the design.
pub const GUARD: &str = r#"
[guard]
default = "allow"

[guard.roles.witness]
allow = ["Read", "Grep", "Glob", "mcp__docs__*"]

[[guard.rules]]
name = "no-force-push"
tools = ["Bash"]
command = ["git", "push"]
flags = ["--force", "-f", "--force-with-lease"]
action = "deny"
reason = "force push is for people"

[[guard.rules]]
name = "stay-in-lane"
tools = ["Write", "Edit"]
outside = "worktree"
action = "deny"
reason = "writes stay in this lane's worktree"
"#;

/// The cases of a list: one in each line, with signs for what a line cannot hold.
pub fn cases(list: &str) -> Vec<String> {
    let read = |line: &str| line.replace('⏎', "\n").replace('␍', "\r").replace('␀', "\0");
    list.lines().filter(|line| !line.trim().is_empty()).map(read).collect()
}

/// A trusted world with this text behind its configuration, and a running session `s1` in the role `worker`.
pub fn world_with(guard: &str) -> TestProject {
    let world = TestProject::new();
    world.add_session("s1");
    let config = world.root().join(".fairway.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{text}\n{guard}")).unwrap();
    world.run(["trust"]).exits(0);
    world
}

/// Asks the command line about a call of `s1`.
pub fn check(world: &TestProject, tool: &str, input: &Value) -> CommandOutput {
    world.run(["guard", "check", "--json", "--session", "s1", "--tool", tool, "--input", &input.to_string()])
}

/// Asks the command line about shell text of `s1`.
pub fn check_text(world: &TestProject, text: &str) -> CommandOutput {
    check(world, "Bash", &json!({ "command": text }))
}
