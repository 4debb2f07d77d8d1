//! The canary: a call that must be denied, through an installed hook as its vendor would run it.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Value, json};

use super::block_semantics::HookOutput;
use crate::{
    env::{Env, vars},
    hooks::{CANARY, Provider},
    os::{
        capture::{Call, capture},
        executable,
    },
};

/// How long a hook is waited for at most, whatever its entry says.
const MAX_TIMEOUT: Duration = Duration::from_secs(30);
/// How long one may take whose entry says nothing.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// The event before a tool is used, by its vendor's name.
pub(super) const fn tool_event(provider: Provider) -> &'static str {
    match provider {
        Provider::Claude | Provider::Codex => "PreToolUse",
        Provider::Gemini => "BeforeTool",
    }
}

/// Runs a hook on the canary, in `cwd`.
///
/// # Errors
/// When it cannot be started.
pub(super) fn run(provider: Provider, hook: &Value, env: &Env, cwd: &Path) -> io::Result<HookOutput> {
    let (program, args) = command_line(provider, hook, env, cwd)?;
    let environment = hook_env(provider, env, cwd);
    let stdin = payload(provider, env, cwd).to_string();
    let call = Call {
        program: &program,
        args: &args,
        env: &environment,
        cwd,
        stdin: stdin.as_bytes(),
        limit: hook_timeout(provider, hook),
        ends_group: true,
    };
    let said = capture(&call)?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(HookOutput { end: said.exit, stdout: text(said.stdout), stderr: text(said.stderr) })
}

/// How the vendor starts it: through a shell, or itself.
fn command_line(provider: Provider, hook: &Value, env: &Env, cwd: &Path) -> io::Result<(PathBuf, Vec<OsString>)> {
    let command = hook["command"].as_str().unwrap_or_default();
    let path = env.var_os(vars::PATH).map(OsString::as_os_str);
    let find = |word: &str| {
        executable::find(word, path, cwd).ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, format!("there is no program {}", word.escape_debug()))
        })
    };
    if let Some(args) = hook["args"].as_array().filter(|_| provider == Provider::Claude) {
        let args = args.iter().filter_map(Value::as_str).map(OsString::from).collect();
        return Ok((find(command)?, args));
    }
    let own_shell = env.var(vars::SHELL);
    let shell = match provider {
        Provider::Gemini => "bash",
        Provider::Claude => {
            own_shell.filter(|shell| ["bash", "zsh", "sh"].iter().any(|name| shell.ends_with(name))).unwrap_or("bash")
        }
        Provider::Codex => own_shell.unwrap_or("/bin/sh"),
    };
    Ok((find(shell)?, vec!["-c".into(), command.into()]))
}

/// How long the vendor waits for it.
fn hook_timeout(provider: Provider, hook: &Value) -> Duration {
    let stated = hook["timeout"].as_f64().filter(|stated| stated.is_finite() && *stated > 0.0);
    let seconds = stated.map(|stated| if provider == Provider::Gemini { stated / 1000.0 } else { stated });
    seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).unwrap_or(DEFAULT_TIMEOUT).min(MAX_TIMEOUT)
}

/// What the vendor gives its hooks, beside its own environment. Who calls here is nobody's session.
fn hook_env(provider: Provider, env: &Env, cwd: &Path) -> BTreeMap<OsString, OsString> {
    let mut environment = env.vars().clone();
    for name in vars::SESSION_IDENTITY {
        environment.remove(&OsString::from(name));
    }
    let mut set = |name: &str, value: &Path| environment.insert(name.into(), value.into());
    match provider {
        Provider::Claude => {
            set("CLAUDECODE", Path::new("1"));
            set("CLAUDE_CODE_SESSION_ID", Path::new(CANARY));
            set("CLAUDE_PROJECT_DIR", cwd);
        }
        Provider::Gemini => {
            set("GEMINI_SESSION_ID", Path::new(CANARY));
            set("GEMINI_PROJECT_DIR", cwd);
            set("GEMINI_CWD", cwd);
            set("CLAUDE_PROJECT_DIR", cwd);
        }
        Provider::Codex => {}
    }
    environment
}

/// What the vendor would say before a tool is used, with every field that it always has.
fn payload(provider: Provider, env: &Env, cwd: &Path) -> Value {
    let mut payload = json!({
        "session_id": CANARY,
        "transcript_path": Value::Null,
        "cwd": cwd.to_string_lossy(),
        "hook_event_name": tool_event(provider),
        "tool_name": CANARY,
        "tool_input": { "command": "true" },
    });
    let more = match provider {
        Provider::Claude => json!({ "transcript_path": "", "permission_mode": "default", "tool_use_id": CANARY }),
        Provider::Codex => {
            json!({ "model": CANARY, "permission_mode": "default", "turn_id": CANARY, "tool_use_id": CANARY })
        }
        Provider::Gemini => json!({ "transcript_path": "", "timestamp": env.now().to_string() }),
    };
    if let (Some(payload), Value::Object(more)) = (payload.as_object_mut(), more) {
        payload.extend(more);
    }
    payload
}
