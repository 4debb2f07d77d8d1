//! The forge script protocol: a script that asks a forge, in six operations. What it answers is data: secrets are masked, and
//! characters that a terminal obeys are removed.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Adapter, BackendSource, Backends, builtin_scripts, resolve_backend, state_dir};
use crate::domain::pull_request::{ForgeFailure, ForgeWhy};
use crate::domain::{Refusal, secrets};
use crate::env::{Env, vars};
use crate::os::capture::Captured;
use crate::os::exit_reason::ExitReason;

/// The operations of the protocol. A script may lack `issues`.
pub const OPERATIONS: [&str; 6] = ["find", "open", "state", "log", "say", ISSUES];
pub const ISSUES: &str = "issues";
/// A script makes several calls of at most 20 s for one operation.
const LIMIT: Duration = Duration::from_mins(2);
const EXIT_UNKNOWN: i32 = 2;

/// A forge script, with the address of the remote that it is asked about.
#[derive(Debug)]
pub struct Forge {
    adapter: Adapter,
}

/// The answer of a script that did not do what it was asked.
#[derive(Debug, Deserialize)]
struct Failed {
    why: String,
    message: String,
    seconds: Option<u64>,
}

/// Finds a forge script: the name of a built-in one, a path, or a program in PATH.
///
/// # Errors
/// `not_found`, `untrusted`, `writable_by_others`; an I/O error when a built-in script cannot be unpacked.
pub fn resolve(env: &Env, place: BackendSource, root: &Path, word: &str) -> anyhow::Result<PathBuf> {
    if let Some(built_in) = builtin_scripts::FORGES.iter().find(|one| one.name == word) {
        return Ok(built_in.unpack(env)?);
    }
    let found = resolve_backend(&format!("exec:{word}"), place, env, root, &Backends::new());
    Ok(found
        .map_err(|refusal| match refusal {
            Refusal::NoBackendScript { script, reason, .. } => Refusal::NoForgeScript { script, reason },
            other => other,
        })?
        .script)
}

impl Forge {
    /// Prepares calls of a script in a directory. `remote` is the address of the git remote.
    pub fn new(script: &Path, cwd: &Path, env: &Env, remote: &str) -> io::Result<Self> {
        let none = || io::Error::other("there is no home directory to keep state in; set HOME or XDG_STATE_HOME");
        let state = state_dir(env).ok_or_else(none)?.join("forge");
        let adapter = Adapter::new(script, &state, cwd, env)?;
        Ok(Self { adapter: adapter.with_env([(vars::FAIRWAY_FORGE_REMOTE, remote)]) })
    }

    /// Calls the script once, without judging its answer.
    pub fn call(&self, args: &[&str], stdin: &[u8]) -> io::Result<Captured> {
        self.adapter.call_raw(args, stdin, LIMIT)
    }

    /// Asks for one operation. An empty answer is JSON `null`.
    pub fn ask<T: DeserializeOwned>(&self, args: &[&str], stdin: &Value) -> Result<T, ForgeFailure> {
        let operation = args.first().copied().unwrap_or_default();
        read(operation, self.call(args, stdin.to_string().as_bytes()))
    }
}

/// The answer of a call as a value, or why it did not succeed.
pub fn read<T: DeserializeOwned>(operation: &str, called: io::Result<Captured>) -> Result<T, ForgeFailure> {
    let failed =
        |why, message: String, seconds| ForgeFailure { operation: operation.to_owned(), why, message, seconds };
    let refused = |message: String| failed(ForgeWhy::Refused, message, None);
    let done = called.map_err(|error| refused(format!("the script cannot be run: {error}")))?;
    let parsed = parse(&done.stdout);
    match done.exit {
        ExitReason::Code(0) => {
            let value = parsed.map_err(|error| refused(format!("the answer is no JSON: {error}")))?;
            serde_json::from_value(value)
                .map_err(|error| refused(format!("the answer is not that of {operation}: {error}")))
        }
        ExitReason::Code(EXIT_UNKNOWN) => Err(refused("the script does not know it".to_owned())),
        ExitReason::TimedOut => Err(failed(ForgeWhy::Network, format!("no end after {} s", LIMIT.as_secs()), None)),
        exit => {
            let told: Option<Failed> = parsed.ok().and_then(|value| serde_json::from_value(value).ok());
            Err(match told {
                Some(Failed { why, message, seconds }) => {
                    failed(ForgeWhy::parse(&why).unwrap_or(ForgeWhy::Refused), message, seconds)
                }
                None => {
                    let said = clean(&String::from_utf8_lossy(&done.stderr));
                    let said = said.lines().next_back().unwrap_or_default();
                    refused(format!("the script ended with {exit:?} and no reason; {said}"))
                }
            })
        }
    }
}

fn parse(stdout: &[u8]) -> Result<Value, serde_json::Error> {
    let text = String::from_utf8_lossy(stdout);
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_str(&text).map(cleaned)
}

fn cleaned(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(clean(&text)),
        Value::Array(all) => Value::Array(all.into_iter().map(cleaned).collect()),
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(name, value)| (clean(&name), cleaned(value))).collect())
        }
        other => other,
    }
}

/// Foreign text with secrets masked, without control characters other than the ends of lines.
fn clean(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\t', " ");
    // First, since a control character could part a secret.
    secrets::mask(&text.replace(|one: char| one.is_control() && one != '\n', ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::pull_request::PullRequest;

    fn answer(code: i32, stdout: &str) -> Result<Option<PullRequest>, ForgeFailure> {
        let (stdout, stderr) = (stdout.as_bytes().to_vec(), b"first\nlast \x1b[2J".to_vec());
        read("find", Ok(Captured { exit: ExitReason::Code(code), stdout, stderr }))
    }

    #[test]
    fn answers_are_read_cleaned_and_told_apart_by_why() {
        assert_eq!(answer(0, "").unwrap(), None);
        let text = r#"{"number":1,"url":"u\u001b[2J gh\u0000p_0123456789abcdef0123","state":"open","draft":false,"head":"a","base":"m","more":1}"#;
        let found = answer(0, text).unwrap().unwrap();
        assert_eq!((found.number, found.url.contains('\u{1b}'), found.url.contains("ghp_")), (1, false, false));
        for (code, stdout, why, part) in [
            (1, r#"{"why":"busy","message":"wait","seconds":9}"#, ForgeWhy::Busy, "wait"),
            (1, r#"{"why":"new word","message":"m","seconds":null}"#, ForgeWhy::Refused, "m"),
            (1, "", ForgeWhy::Refused, "last [2J"),
            (0, "[", ForgeWhy::Refused, "no JSON"),
            (0, "[]", ForgeWhy::Refused, "not that of find"),
            (2, "", ForgeWhy::Refused, "does not know it"),
        ] {
            let failure = answer(code, stdout).unwrap_err();
            assert!(failure.why == why && failure.message.contains(part), "{stdout}: {failure}");
        }
    }
}
