//! Why a prompt waits, as a document.

use serde::Serialize;

use super::{CommandView, values::time};
use crate::domain::prompt_wait::PromptWait;

/// A prompt that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WaitView {
    /// Why.
    pub reason: &'static str,
    /// The time since which the session is in this state.
    pub since: Option<String>,
    /// The reason, as a clause.
    pub text: String,
    /// What a person can do now.
    pub next: Vec<CommandView>,
}

fn command_view(purpose: &str, command: &str) -> CommandView {
    CommandView { purpose: purpose.to_owned(), command: command.to_owned() }
}

impl From<&PromptWait> for WaitView {
    fn from(wait: &PromptWait) -> Self {
        Self {
            reason: wait.reason.as_str(),
            since: time(wait.since),
            text: wait.text.clone(),
            next: wait.next.iter().map(|(purpose, command)| command_view(purpose, command)).collect(),
        }
    }
}
