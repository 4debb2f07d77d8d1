//! A prompt that waits, with the reason.

use super::string_enum::string_enum;
use crate::env::Timestamp;

string_enum! {
    /// Why a prompt waits.
    WaitReason {
        Busy => "busy",
        RequiresAction => "requires_action",
        Stopping => "stopping",
        StateUnknown => "state_unknown",
        Starting => "starting",
        Stale => "stale",
        Typed => "typed",
    }
}

/// A prompt that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptWait {
    /// Why.
    pub reason: WaitReason,
    /// The time since which the session is in this state.
    pub since: Option<Timestamp>,
    /// The reason as a clause about the session.
    pub text: String,
    /// What a person can do now: the purpose of each command, and the command.
    pub next: Vec<(&'static str, String)>,
}

impl PromptWait {
    /// The reason with the commands, as one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let next = self.next.iter().map(|(purpose, command)| format!("; {purpose}: {command}"));
        std::iter::once(self.text.clone()).chain(next).collect()
    }
}
