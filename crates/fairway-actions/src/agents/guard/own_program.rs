//! An agent's own commands of Fairway, which a hook allows without a person.

use std::path::Path;

use serde_json::Value;

use super::call::ToolCall;
use fairway_core::env::{Env, vars};
use fairway_core::guard::{own_tool, own_verb_programs};
use fairway_core::os::executable;

/// The providers' tools that run shell text in a new shell.
const SHELL_TOOLS: &[&str] = &["Bash", "run_shell_command", "shell_command"];
/// The fields of such a tool's input that do not change which program runs.
const HARMLESS_FIELDS: &[&str] = &["description", "is_background", "run_in_background", "timeout", "timeout_ms"];

/// Whether a call runs only commands of Fairway that are meant for agents, and runs them with the executable of this process.
/// Another program named `fairway`, which the shell would find first, does not count.
pub fn is_own_verb(env: &Env, call: &ToolCall) -> bool {
    own_programs(call).is_some_and(|programs| {
        let Some(own) = executable::current_executable().ok().and_then(|own| own.canonicalize().ok()) else {
            return false;
        };
        programs.iter().all(|program| runs(env, program, &own))
    })
}

/// The programs of a call that runs only commands of Fairway that are meant for agents; `None` for any other call. Empty for a
/// call of Fairway's own tools.
pub(super) fn own_programs(call: &ToolCall) -> Option<Vec<String>> {
    if let Some(tool) = own_tool(&call.tool) {
        return is_own_tool_call(tool, &call.input).then(Vec::new);
    }
    // A name with another spelling is another tool, perhaps of an MCP server.
    let is_shell = std::iter::once(&call.tool).chain(&call.aliases).any(|name| SHELL_TOOLS.contains(&name.as_str()));
    if !is_shell {
        return None;
    }
    own_verb_programs(only_command(call)?)
}

/// Whether a call of a tool of Fairway's MCP server runs no command that the agent has written.
fn is_own_tool_call(tool: &str, input: &Value) -> bool {
    let runs_check = || input.get("check").is_some_and(Value::is_string) && input.get("command").is_none();
    match tool {
        "run" => false,
        "verify" => runs_check(),
        _ => true,
    }
}

fn only_command(call: &ToolCall) -> Option<&str> {
    let input = call.input.as_object()?;
    let is_harmless = |(name, value): (&String, &Value)| match name.as_str() {
        "command" => true,
        // The directory in which the call would run without it.
        "cwd" => call.cwd.as_deref().is_some_and(|cwd| value.as_str().map(Path::new) == Some(cwd)),
        name => HARMLESS_FIELDS.contains(&name),
    };
    input.iter().all(is_harmless).then(|| input.get("command")?.as_str()).flatten()
}

/// Whether a shell that looks for `program` finds the executable `own`.
fn runs(env: &Env, program: &str, own: &Path) -> bool {
    if program.starts_with('/') {
        return Path::new(program) == own;
    }
    let Some(path) = env.var_os(vars::PATH) else { return false };
    for dir in std::env::split_paths(path) {
        // A relative directory depends on where the command runs, so it cannot be searched here.
        if !dir.is_absolute() {
            return false;
        }
        let file = dir.join(program);
        if executable::is_executable(&file) {
            return file.canonicalize().is_ok_and(|found| found == own);
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn own_command_in_another_directory_is_an_ordinary_one() {
        let programs =
            |input: Value| own_programs(&ToolCall { cwd: Some("/w".into()), ..ToolCall::new("Bash", input) });
        let fairway = Some(vec!["fairway".to_owned()]);
        assert_eq!(programs(json!({ "command": "fairway claim", "description": "x" })), fairway);
        assert_eq!(programs(json!({ "command": "fairway claim", "cwd": "/w" })), fairway);
        assert_eq!(programs(json!({ "command": "fairway claim", "cwd": "/x" })), None);
        assert_eq!(programs(json!({ "command": "fairway claim", "cwd": 7 })), None);
        assert_eq!(programs(json!({ "command": "fairway claim", "directory": "/w" })), None);
    }
}
