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
const LIMIT: Duration = Duration::from_secs(15);
/// The vendor's program.
const PROGRAM: &str = "codex";

/// How the hooks of one file stand with the vendor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    /// It runs all of these commands.
    Trusted,
    /// It skips some of them; how it calls the first of those.
    Skipped(String),
    /// It does not know them; what it says about its files.
    Unknown(Option<String>),
    /// It cannot be asked, and why.
    Silent(String),
}

/// Asks the vendor about the hooks of `file` with these commands, for a project in `cwd`.
pub(super) fn ask(env: &Env, cwd: &Path, file: &Path, commands: &[String]) -> Standing {
    match list(env, cwd) {
        Ok(Some(answer)) => judged(&answer, file, commands),
        Ok(None) => Standing::Silent(format!("{PROGRAM} did not answer in time")),
        Err(error) => Standing::Silent(format!("{PROGRAM} cannot be asked: {error}")),
    }
}

fn list(env: &Env, cwd: &Path) -> io::Result<Option<Value>> {
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
        limit: LIMIT,
        ends_group: true,
    };
    line_query::query(&call, |line| {
        let message: Value = serde_json::from_str(line).ok()?;
        (message["id"] == 2).then_some(message)
    })
}

/// Whether two paths mean one file; the vendor may name it by another link.
fn is_same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

fn judged(answer: &Value, file: &Path, commands: &[String]) -> Standing {
    let Some(places) = answer["result"]["data"].as_array() else {
        return Standing::Silent(format!("{PROGRAM} does not know the question"));
    };
    let of_file = |hook: &&Value| {
        hook["sourcePath"].as_str().is_some_and(|path| is_same(Path::new(path), file))
            && hook["command"].as_str().is_some_and(|command| commands.iter().any(|known| known == command))
    };
    let hooks: Vec<&Value> =
        places.iter().filter_map(|place| place["hooks"].as_array()).flatten().filter(of_file).collect();
    if hooks.len() < commands.len() {
        let warnings = places.iter().filter_map(|place| place["warnings"].as_array()).flatten();
        let about = warnings.filter_map(Value::as_str).find(|text| text.contains(&*file.to_string_lossy()));
        return Standing::Unknown(about.map(str::to_owned));
    }
    let skipped = hooks
        .iter()
        .find(|hook| hook["enabled"] == false || !matches!(hook["trustStatus"].as_str(), Some("trusted" | "managed")));
    match skipped {
        None => Standing::Trusted,
        Some(hook) if hook["enabled"] == false => Standing::Skipped("switched off".to_owned()),
        Some(hook) => Standing::Skipped(hook["trustStatus"].as_str().unwrap_or("untrusted").to_owned()),
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
            judged(&answer, Path::new("/h.json"), &["a".to_owned(), "b".to_owned()])
        };
        assert_eq!(judge(vec![hook("a", "trusted", true), hook("b", "managed", true)], vec![]), Standing::Trusted);
        let modified = judge(vec![hook("a", "trusted", true), hook("b", "modified", true)], vec![]);
        assert_eq!(modified, Standing::Skipped("modified".into()));
        let off = judge(vec![hook("a", "trusted", false), hook("b", "trusted", true)], vec![]);
        assert_eq!(off, Standing::Skipped("switched off".into()));
        assert_eq!(judge(vec![hook("a", "trusted", true)], vec!["else"]), Standing::Unknown(None));
        let warned = judge(vec![], vec!["failed to parse /h.json"]);
        assert_eq!(warned, Standing::Unknown(Some("failed to parse /h.json".into())));
        assert!(matches!(judged(&json!({ "error": {} }), Path::new("/h.json"), &[]), Standing::Silent(_)));
    }
}
