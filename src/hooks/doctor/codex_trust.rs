//! What a vendor that runs only trusted hooks says about ours.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    env::{Env, vars},
    os::{capture::Call, executable, line_query},
};

/// How long the vendor is waited for.
const QUERY_TIMEOUT: Duration = Duration::from_secs(15);
/// The vendor's program.
const PROGRAM: &str = "codex";

/// How the hooks of one file stand with the vendor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HookTrust {
    /// It runs all of these commands.
    Trusted,
    /// It skips some of them; how it calls the first of those.
    Skipped(String),
    /// It does not know them; what it says about its files.
    NotLoaded(Option<String>),
    /// It cannot be asked, and why.
    Unavailable(String),
}

/// Asks the vendor about the hooks of `file` with these commands, for a project in `cwd`.
pub(super) fn query(env: &Env, cwd: &Path, file: &Path, commands: &[String]) -> HookTrust {
    match list_hooks(env, cwd) {
        Ok(Some(answer)) => trust_of(&answer, file, commands),
        Ok(None) => HookTrust::Unavailable(format!("{PROGRAM} did not answer in time")),
        Err(error) => HookTrust::Unavailable(format!("{PROGRAM} cannot be asked: {error}")),
    }
}

fn list_hooks(env: &Env, cwd: &Path) -> io::Result<Option<Value>> {
    let path = env.var_os(vars::PATH).map(std::ffi::OsString::as_os_str);
    let none = || io::Error::new(io::ErrorKind::NotFound, "it is not in PATH");
    let program: PathBuf = executable::find(PROGRAM, path, cwd).ok_or_else(none)?;
    let client = json!({ "name": "fairway", "title": Value::Null, "version": env!("CARGO_PKG_VERSION") });
    let asked: String = [
        json!({ "id": 1, "method": "initialize",
            "params": { "clientInfo": client, "capabilities": { "experimentalApi": true } } }),
        json!({ "method": "initialized" }),
        json!({ "id": 2, "method": "hooks/list", "params": { "cwds": [cwd.to_string_lossy()] } }),
    ]
    .iter()
    .map(|message| format!("{message}\n"))
    .collect();
    let call = Call {
        program: &program,
        args: &["app-server".into()],
        env: env.vars(),
        cwd,
        stdin: asked.as_bytes(),
        limit: QUERY_TIMEOUT,
        ends_group: true,
    };
    line_query::query(&call, |line| {
        let message: Value = serde_json::from_str(line).ok()?;
        (message["id"] == 2).then_some(message)
    })
}

/// Whether two paths mean one file; the vendor may name it by another link.
fn is_same_file(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

fn trust_of(answer: &Value, file: &Path, commands: &[String]) -> HookTrust {
    let Some(places) = answer["result"]["data"].as_array() else {
        return HookTrust::Unavailable(format!("{PROGRAM} does not know the question"));
    };
    let of_file = |hook: &&Value| {
        hook["sourcePath"].as_str().is_some_and(|path| is_same_file(Path::new(path), file))
            && hook["command"].as_str().is_some_and(|command| commands.iter().any(|known| known == command))
    };
    let hooks: Vec<&Value> =
        places.iter().filter_map(|place| place["hooks"].as_array()).flatten().filter(of_file).collect();
    if hooks.len() < commands.len() {
        let warnings = places.iter().filter_map(|place| place["warnings"].as_array()).flatten();
        let about = warnings.filter_map(Value::as_str).find(|text| text.contains(&*file.to_string_lossy()));
        return HookTrust::NotLoaded(about.map(str::to_owned));
    }
    let skipped = hooks
        .iter()
        .find(|hook| hook["enabled"] == false || !matches!(hook["trustStatus"].as_str(), Some("trusted" | "managed")));
    match skipped {
        None => HookTrust::Trusted,
        Some(hook) if hook["enabled"] == false => HookTrust::Skipped("switched off".to_owned()),
        Some(hook) => HookTrust::Skipped(hook["trustStatus"].as_str().unwrap_or("untrusted").to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hook_of_the_file_must_be_trusted() {
        let hook = |command: &str, trust: &str, enabled: bool| json!({ "sourcePath": "/h.json", "command": command, "trustStatus": trust, "enabled": enabled });
        let judge = |hooks: Vec<Value>, warnings: Vec<&str>| {
            let answer = json!({ "id": 2, "result": { "data": [{ "hooks": hooks, "warnings": warnings }] } });
            trust_of(&answer, Path::new("/h.json"), &["a".to_owned(), "b".to_owned()])
        };
        assert_eq!(judge(vec![hook("a", "trusted", true), hook("b", "managed", true)], vec![]), HookTrust::Trusted);
        let modified = judge(vec![hook("a", "trusted", true), hook("b", "modified", true)], vec![]);
        assert_eq!(modified, HookTrust::Skipped("modified".into()));
        let off = judge(vec![hook("a", "trusted", false), hook("b", "trusted", true)], vec![]);
        assert_eq!(off, HookTrust::Skipped("switched off".into()));
        assert_eq!(judge(vec![hook("a", "trusted", true)], vec!["else"]), HookTrust::NotLoaded(None));
        let warned = judge(vec![], vec!["failed to parse /h.json"]);
        assert_eq!(warned, HookTrust::NotLoaded(Some("failed to parse /h.json".into())));
        assert!(matches!(trust_of(&json!({ "error": {} }), Path::new("/h.json"), &[]), HookTrust::Unavailable(_)));
    }
}
