//! The two documents of `start`: the configuration on stdin, the report on stdout.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use serde::{Deserialize, Serialize};

use crate::domain::secrets;
use crate::env::vars;

/// The start configuration. Every field is optional, `{}` and `null` are legal, unknown fields are ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StartConfig {
    /// Where the program starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_dir: Option<String>,
    /// The program as shell text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The program and its arguments, exactly; it takes precedence over `command`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// The environment; an empty value means unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// Exact base names of programs; the session is up once one of them runs in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process_names: Option<Vec<String>>,
    /// The text to type once the session is ready. Nothing else types it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nudge: Option<String>,
    /// The beginning of the line on the screen in which the program takes input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_prompt_prefix: Option<String>,
    /// How long to wait, in milliseconds, when nothing else shows that the session is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_delay_ms: Option<u64>,
    /// Shell commands to run before the session is created; a failure is a warning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pre_start: Option<Vec<String>>,
    /// Shell commands to run once the session is ready; a failure is a warning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_setup: Option<Vec<String>>,
    /// A script file to run after `session_setup`; a failure is a warning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_setup_script: Option<String>,
    /// Shell commands that may be run again while the session lives; a failure is a warning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_live: Option<Vec<String>>,
    /// Files and directories to copy below `work_dir` before the session is created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_files: Option<Vec<CopyFile>>,
    /// A directory whose content is copied over `work_dir`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlay_dir: Option<String>,
    /// Directories whose content is copied over `work_dir` before that of `overlay_dir`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pack_overlay_dirs: Option<Vec<String>>,
    /// `one_shot`: the program is expected to end by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<serde_json::Value>,
    /// The terminal's size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal: Option<Terminal>,
    /// The transcript's file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    /// The session's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The id of the session run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// How a structured session begins. Only the backend `acp` reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured: Option<StructuredStart>,
}

/// The beginning of a structured session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StructuredStart {
    /// The agent's mode in which it asks before it runs a tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The agent's id of the conversation to continue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    /// The name and version of the agent that was proven to ask in that mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proven_agent: Option<String>,
    /// Whether a session that is not guarded is ended.
    pub refuse_unguarded: bool,
    /// Whether a question of the agent is about all calls that are pending.
    pub asks_for_all: bool,
    /// What the agent counts in its answers, a word of [`UsageScope`](crate::domain::usage::UsageScope).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<String>,
}

/// The prefixes of the variables that identify a session: Fairway's, and those of other callers of the protocol.
const KEPT_PREFIXES: &[&str] = &["FAIRWAY_", "GC_"];
/// Variables with such a prefix that only the start needs.
const START_VARS: &[&str] = &[vars::FAIRWAY_INITIAL_PROMPT, vars::FAIRWAY_PROVIDER_COMMAND];

/// A file or directory to copy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CopyFile {
    /// The source path.
    pub src: String,
    /// The destination below `work_dir`, which is the default. A file that is copied into an existing directory keeps its name; a
    /// directory's content is copied over the destination.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub rel_dst: String,
}

/// A terminal's size, in cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Terminal {
    pub rows: u16,
    pub cols: u16,
}

impl Default for Terminal {
    fn default() -> Self {
        Self { rows: 50, cols: 200 }
    }
}

impl StartConfig {
    /// Parses a start configuration, which must be a JSON object.
    pub fn read(text: &[u8]) -> Result<Self, serde_json::Error> {
        // A derived reader would accept a list for an object, by position.
        let object: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(text)?;
        serde_json::from_value(object.into())
    }

    /// Applies the variables of this configuration to the environment `around`; an empty value removes the variable.
    pub fn apply_env(&self, around: &mut BTreeMap<OsString, OsString>) {
        for (name, value) in self.env.iter().flatten() {
            if value.is_empty() {
                around.remove(OsStr::new(name));
            } else {
                around.insert(name.into(), value.into());
            }
        }
    }

    /// Returns only the part of the configuration that is needed as long as the session lives: its identity, and where its output
    /// goes. The prompt, the program, the commands and all other variables are needed only for the start, and may be secret.
    #[must_use]
    pub fn without_start(&self) -> Self {
        let is_kept =
            |name: &str| KEPT_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) && !START_VARS.contains(&name);
        let env = self.env.iter().flatten().filter(|(name, _)| is_kept(name));
        Self {
            env: self.env.is_some().then(|| env.map(|(name, value)| (name.clone(), value.clone())).collect()),
            terminal: self.terminal,
            transcript: self.transcript.clone(),
            session_id: self.session_id.clone(),
            run_id: self.run_id.clone(),
            ..Self::default()
        }
    }

    /// Masks in `text` the value of every variable of this configuration whose name marks it as secret, whatever the value looks
    /// like.
    pub fn redacted(&self, text: &str) -> String {
        let given = self.env.iter().flatten();
        let secret = given.filter(|(name, value)| secrets::is_secret_name(name) && !value.is_empty());
        secret.fold(text.to_owned(), |text, (_, value)| text.replace(value.as_str(), secrets::MASK))
    }

    /// The value of a variable in the environment of this configuration; `None` when it is unset or empty.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.env.as_ref()?.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// A script's answer to `start`, in one line. Every field may be missing: the caller asks `is-running` anyway.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StartReport {
    pub session_name: Option<String>,
    pub pid: Option<i32>,
    pub pane: Option<String>,
    pub socket: Option<String>,
    pub transcript: Option<String>,
    pub started_at: Option<String>,
    pub status: Option<String>,
}

impl StartReport {
    /// Parses the report that `start` prints on stdout; `None` unless stdout is exactly one such JSON document.
    pub fn read(stdout: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(stdout).ok()?.trim();
        text.starts_with('{').then(|| serde_json::from_str(text).ok())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_optional_and_unknown_ones_are_ignored() {
        for text in ["{}", r#"{"env":null,"argv":null}"#, r#"{"unknown":{"x":1},"nudge":null}"#] {
            assert_eq!(StartConfig::read(text.as_bytes()).unwrap(), StartConfig::default(), "{text}");
        }
        for text in ["[]", "null", "", "7", "{\"env\":7}"] {
            assert!(StartConfig::read(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn garbage_is_no_report() {
        assert_eq!(StartReport::read(b"{\"pid\":7,\"x\":[]}\n").unwrap().pid, Some(7));
        for garbage in [&b""[..], b"started\n", b"{\"pid\":\"seven\"}", b"\xff", b"{}{}"] {
            assert_eq!(StartReport::read(garbage), None);
        }
    }
}
