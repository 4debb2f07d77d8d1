//! The plan of a launch, and the backends, as documents.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::SessionView;

/// `session launch`: the session, and what there is to say about the launch.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LaunchedView {
    /// The session.
    #[serde(flatten)]
    pub session: SessionView,
    /// The id that was asked for, where the session has another one.
    pub requested_id: Option<String>,
    /// The notes, as on stderr.
    pub notes: Vec<String>,
    /// The delivery of the first prompt; null without one, and where the launch did not wait for it.
    pub first_prompt: Option<FirstPromptView>,
}

/// The delivery of a launch's first prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct FirstPromptView {
    /// `arrived`, `waiting_for_person`, `not_seen`, or `unconfirmed` of a program that reports nothing.
    pub state: String,
    /// The question on the screen, while the program waits for a person.
    pub question: Option<String>,
    /// The message with the prompt, where it is one.
    pub message_id: Option<i64>,
}

/// `start`: the launch, and what it added.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StartedView {
    /// The launch.
    #[serde(flatten)]
    pub launched: LaunchedView,
    /// The title of the session's task.
    pub title: String,
    /// Whether the task was added.
    pub added_task: bool,
    /// Whether the lane was added, with a worktree.
    pub added_lane: bool,
    /// Whether the task was claimed for the session.
    pub claimed: bool,
}

/// `start --dry-run`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StartPlanView {
    /// Always true: nothing was done.
    pub dry_run: bool,
    /// The task; of a new one, the id that it would get now.
    pub task_id: String,
    /// The id that the session would get.
    pub session_id: String,
    /// The lane.
    pub lane: String,
    /// The commands that do the same.
    pub commands: Vec<String>,
    /// The notes, as on stderr.
    pub notes: Vec<String>,
}

/// `session relaunch`: the launch, and what is resumed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RelaunchedView {
    /// The launch.
    #[serde(flatten)]
    pub launched: LaunchedView,
    /// The provider's id of the conversation that is resumed; `null` when a new one begins.
    pub conversation: Option<String>,
    /// The tasks whose claims the session continues.
    pub continued: Vec<String>,
}

/// `session launch --dry-run`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LaunchView {
    /// Always true: nothing was done.
    pub dry_run: bool,
    /// The session as it would be recorded.
    pub session: SessionView,
    /// The id that was asked for, where the session would have another one.
    pub requested_id: Option<String>,
    /// The notes, as on stderr.
    pub notes: Vec<String>,
    /// The backend.
    pub adapter: String,
    /// The program as shell text.
    pub command: String,
    /// The environment that would be set; what looks like a secret is masked.
    pub environment: BTreeMap<String, String>,
    /// The script's document on stdin, likewise.
    pub start: Value,
}

/// A backend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BackendView {
    /// Its name.
    pub name: String,
    /// `built_in` or `configured`.
    pub source: &'static str,
    /// Its script.
    pub script: String,
    /// Its needs and its purpose.
    pub about: Option<String>,
}
