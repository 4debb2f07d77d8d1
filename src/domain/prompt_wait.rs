//! A prompt that waits, with the reason.

use super::string_enum::string_enum;

string_enum! {
    /// Why a prompt is not delivered yet.
    WaitReason {
        /// The session has not reported what it does.
        StateUnknown => "state_unknown",
        /// A turn is running.
        SessionBusy => "session_busy",
        /// The session waits for an answer.
        SessionAsks => "session_asks",
        /// The session is being stopped.
        SessionStopping => "session_stopping",
        /// The session is starting.
        SessionStarting => "session_starting",
        /// The session is stale.
        SessionStale => "session_stale",
        /// It was typed, and no report has confirmed it.
        Typed => "typed",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptWait {
    /// Why.
    pub reason: WaitReason,
    /// The reason as a clause about the session.
    pub text: String,
    /// A command that helps, after its purpose.
    pub hint: Option<String>,
}

impl PromptWait {
    /// The reason with the command, as one sentence.
    pub fn sentence(&self) -> String {
        let hint = self.hint.iter().map(|hint| format!("; {hint}"));
        std::iter::once(self.text.clone()).chain(hint).collect()
    }
}
