//! Asks Codex, which runs only trusted hooks, for the state of installed hooks.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::hooks::Provider;
use crate::hooks::install::Target;
use fairway_core::env::{Env, vars};
use fairway_core::os::capture::Call;
use fairway_core::os::{executable, line_query};

/// How long Codex may take to answer.
const QUERY_TIMEOUT: Duration = Duration::from_secs(15);
const PROGRAM: &str = "codex";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::hooks) enum HookTrust {
    /// Codex runs all of the commands.
    Trusted,
    /// Codex skips some of the commands. The text is its status of the first of them.
    Skipped(String),
    /// Codex has not loaded the commands. The text is its warning about the file.
    NotLoaded(Option<String>),
    /// Codex cannot be asked, for this reason.
    Unavailable(String),
}

/// Asks Codex whether it runs the hooks of `file` with these commands, for a project in `cwd`.
pub(super) fn query(env: &Env, cwd: &Path, file: &Path, commands: &[String]) -> HookTrust {
    // The first start of Codex would create its home directory, and a check creates nothing. Without that directory it trusts
    // nothing.
    let home = Provider::parse(PROGRAM).and_then(|codex| Target::User.path(codex, env).ok());
    let path = env.var_os(vars::PATH).map(OsString::as_os_str);
    let Some(program) = executable::find(PROGRAM, path, cwd) else {
        return HookTrust::Unavailable(format!("cannot run {PROGRAM}: it is not in PATH"));
    };
    if home.as_deref().and_then(Path::parent).is_some_and(|home| !home.is_dir()) {
        return HookTrust::NotLoaded(Some(format!("{PROGRAM} was never started here, and trusts no project yet")));
    }
    let answer = list_hooks(&program, Vec::new(), env.vars(), cwd);
    judge(answer, |answer| trust_of(answer, &|hook| is_of_file(hook, file), &file.to_string_lossy(), commands))
}

/// Starts a Codex program with these arguments, and asks it whether it runs the hooks with these commands, from whatever
/// settings they come.
pub(in crate::hooks) fn query_program(
    program: &Path,
    args: &[String],
    env: &BTreeMap<OsString, OsString>,
    cwd: &Path,
    commands: &[String],
) -> HookTrust {
    let answer = list_hooks(program, args.iter().map(OsString::from).collect(), env, cwd);
    judge(answer, |answer| trust_of(answer, &|_| true, "", commands))
}

fn judge(answer: io::Result<Option<Value>>, trust_of: impl FnOnce(&Value) -> HookTrust) -> HookTrust {
    match answer {
        Ok(Some(answer)) => trust_of(&answer),
        Ok(None) => HookTrust::Unavailable(format!("{PROGRAM} did not answer in time")),
        Err(error) => HookTrust::Unavailable(format!("cannot run {PROGRAM}: {error}")),
    }
}

fn list_hooks(
    program: &Path,
    mut args: Vec<OsString>,
    env: &BTreeMap<OsString, OsString>,
    cwd: &Path,
) -> io::Result<Option<Value>> {
    args.push("app-server".into());
    let client = json!({ "name": "fairway", "title": Value::Null, "version": env!("CARGO_PKG_VERSION") });
    let requests: String = [
        json!({ "id": 1, "method": "initialize",
            "params": { "clientInfo": client, "capabilities": { "experimentalApi": true } } }),
        json!({ "method": "initialized" }),
        json!({ "id": 2, "method": "hooks/list", "params": { "cwds": [cwd.to_string_lossy()] } }),
    ]
    .iter()
    .map(|message| format!("{message}\n"))
    .collect();
    let call =
        Call { program, args: &args, env, cwd, stdin: requests.as_bytes(), limit: QUERY_TIMEOUT, ends_group: true };
    line_query::query(&call, |line| {
        let message: Value = serde_json::from_str(line).ok()?;
        (message["id"] == 2).then_some(message)
    })
}

/// Whether two paths name one file: Codex may report the path behind a symbolic link.
fn is_same_file(left: &Path, right: &Path) -> bool {
    left == right || left.canonicalize().is_ok_and(|left| right.canonicalize().is_ok_and(|right| left == right))
}

fn is_of_file(hook: &Value, file: &Path) -> bool {
    hook["sourcePath"].as_str().is_some_and(|path| is_same_file(Path::new(path), file))
}

/// Codex's trust in the hooks that `is_source` accepts. `name` is how Codex's warnings name their source.
fn trust_of(answer: &Value, is_source: &dyn Fn(&Value) -> bool, name: &str, commands: &[String]) -> HookTrust {
    let Some(directories) = answer["result"]["data"].as_array() else {
        return HookTrust::Unavailable(format!("{PROGRAM} does not support hooks/list"));
    };
    let of_file = |hook: &&Value| {
        is_source(hook) && hook["command"].as_str().is_some_and(|command| commands.iter().any(|known| known == command))
    };
    let hooks: Vec<&Value> =
        directories.iter().filter_map(|directory| directory["hooks"].as_array()).flatten().filter(of_file).collect();
    if hooks.len() < commands.len() {
        let warnings = directories.iter().filter_map(|directory| directory["warnings"].as_array()).flatten();
        let about = warnings.filter_map(Value::as_str).find(|text| text.contains(name));
        return HookTrust::NotLoaded(about.map(str::to_owned));
    }
    let skipped = hooks
        .iter()
        .find(|hook| hook["enabled"] == false || !matches!(hook["trustStatus"].as_str(), Some("trusted" | "managed")));
    match skipped {
        None => HookTrust::Trusted,
        Some(hook) if hook["enabled"] == false => HookTrust::Skipped("disabled".to_owned()),
        Some(hook) => HookTrust::Skipped(hook["trustStatus"].as_str().unwrap_or("untrusted").to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hook_of_the_file_must_be_trusted() {
        let hook = |command: &str, trust: &str, enabled: bool| json!({ "sourcePath": "/h.json", "command": command, "trustStatus": trust, "enabled": enabled });
        let of_file = |answer: &Value, commands: &[&str]| {
            let commands: Vec<String> = commands.iter().map(|command| (*command).to_owned()).collect();
            trust_of(answer, &|hook| is_of_file(hook, Path::new("/h.json")), "/h.json", &commands)
        };
        let judge = |hooks: Vec<Value>, warnings: Vec<&str>| {
            let answer = json!({ "id": 2, "result": { "data": [{ "hooks": hooks, "warnings": warnings }] } });
            of_file(&answer, &["a", "b"])
        };
        assert_eq!(judge(vec![hook("a", "trusted", true), hook("b", "managed", true)], vec![]), HookTrust::Trusted);
        let modified = judge(vec![hook("a", "trusted", true), hook("b", "modified", true)], vec![]);
        assert_eq!(modified, HookTrust::Skipped("modified".into()));
        let off = judge(vec![hook("a", "trusted", false), hook("b", "trusted", true)], vec![]);
        assert_eq!(off, HookTrust::Skipped("disabled".into()));
        assert_eq!(judge(vec![hook("a", "trusted", true)], vec!["else"]), HookTrust::NotLoaded(None));
        let warned = judge(vec![], vec!["failed to parse /h.json"]);
        assert_eq!(warned, HookTrust::NotLoaded(Some("failed to parse /h.json".into())));
        assert!(matches!(of_file(&json!({ "error": {} }), &[]), HookTrust::Unavailable(_)));
    }
}
