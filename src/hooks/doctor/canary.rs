//! Runs an installed hook as its provider would, with the canary: a tool call that must be denied.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::hooks::provider::HookOutput;
use crate::hooks::{CANARY, Provider};
use fairway_core::env::{Env, vars};
use fairway_core::os::capture::{Call, capture};
use fairway_core::os::executable;

/// The maximum time for a hook, even when its entry allows more.
const MAX_TIMEOUT: Duration = Duration::from_secs(30);
/// The time for a hook whose entry has no timeout.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

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
    let output = capture(&call)?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(HookOutput { end: output.exit, stdout: text(output.stdout), stderr: text(output.stderr) })
}

/// Program and arguments by which the provider starts the hook: through a shell or directly.
fn command_line(provider: Provider, hook: &Value, env: &Env, cwd: &Path) -> io::Result<(PathBuf, Vec<OsString>)> {
    let command = hook["command"].as_str().unwrap_or_default();
    let path = env.var_os(vars::PATH).map(OsString::as_os_str);
    let find = |name: &str| {
        executable::find(name, path, cwd).ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, format!("program not found: {}", name.escape_debug()))
        })
    };
    if let Some(args) = hook["args"].as_array().filter(|_| provider.entries_have_arguments) {
        let args = args.iter().filter_map(Value::as_str).map(OsString::from).collect();
        return Ok((find(command)?, args));
    }
    let shell = (provider.shell)(env.var(vars::SHELL));
    Ok((find(shell)?, vec!["-c".into(), command.into()]))
}

fn hook_timeout(provider: Provider, hook: &Value) -> Duration {
    let stated = hook["timeout"].as_f64().filter(|stated| stated.is_finite() && *stated > 0.0);
    let seconds = stated.map(|stated| stated * provider.timeout_unit.as_secs_f64());
    seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).unwrap_or(DEFAULT_TIMEOUT).min(MAX_TIMEOUT)
}

/// The environment that the provider gives its hooks, without the variables of a Fairway session.
fn hook_env(provider: Provider, env: &Env, cwd: &Path) -> BTreeMap<OsString, OsString> {
    let mut environment = env.vars().clone();
    for name in vars::SESSION_IDENTITY {
        environment.remove(&OsString::from(name));
    }
    environment.extend((provider.canary_env)(cwd).into_iter().map(|(name, value)| (name.into(), value.into())));
    environment
}

/// The provider's payload before a tool call, with every field that it always sends.
fn payload(provider: Provider, env: &Env, cwd: &Path) -> Value {
    let mut payload = json!({
        "session_id": CANARY,
        "transcript_path": Value::Null,
        "cwd": cwd.to_string_lossy(),
        "hook_event_name": provider.tool_event(),
        "tool_name": CANARY,
        "tool_input": { "command": "true" },
    });
    if let (Some(payload), Value::Object(more)) = (payload.as_object_mut(), (provider.canary_fields)(env)) {
        payload.extend(more);
    }
    payload
}
