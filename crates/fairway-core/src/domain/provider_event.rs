//! The state of a session in its provider's words, and the consequences of each word.

use super::checkpoint::CheckpointState;
use super::session::{Activity, SessionStatus};
use super::string_enum::string_enum;

/// The longest word that is accepted, in bytes.
const MAX_STATE_BYTES: usize = 64;

string_enum! {
    /// The state of a session as its provider reports it.
    ProviderState {
        Started => "started",
        Running => "running",
        WaitingOnApproval => "waiting_on_approval",
        WaitingOnInput => "waiting_on_input",
        Completed => "completed",
        Failed => "failed",
        NoProgress => "no_progress",
        Stale => "stale",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEffect {
    /// The session is alive; if it was stale, it is not any more.
    Running,
    /// The session may be dead.
    Stale,
    /// The session has ended, with this final status.
    Finished(SessionStatus),
}

/// The consequences of a state. Nothing here touches a task's status, claimant or gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effect {
    pub session: SessionEffect,
    /// The session's activity; `None` leaves it as it was.
    pub activity: Option<Activity>,
    /// The reason, in one word, why the session waits; `None` when it does not wait.
    pub waiting_for: Option<&'static str>,
    /// The checkpoint on the session's task; `None` for none.
    pub checkpoint: Option<CheckpointState>,
    /// The summary of the checkpoint when the provider gave none.
    pub default_summary: &'static str,
}

impl ProviderState {
    /// Parses a state as a provider spells it: in `snake_case`, `camelCase` or with hyphens, and under the names that providers
    /// give to one state (`active` and `in_progress` are `running`, `waiting_on_user_input` is `waiting_on_input`,
    /// `system_error` is `failed`). Returns `None` for any other word.
    pub fn from_provider(text: &str) -> Option<Self> {
        if text.len() > MAX_STATE_BYTES {
            return None;
        }
        let chars = text.chars().filter(|character| !matches!(character, '_' | '-'));
        let word: String = chars.map(|character| character.to_ascii_lowercase()).collect();
        Some(match word.as_str() {
            "started" => Self::Started,
            "running" | "active" | "inprogress" => Self::Running,
            "waitingonapproval" => Self::WaitingOnApproval,
            "waitingoninput" | "waitingonuserinput" => Self::WaitingOnInput,
            "completed" => Self::Completed,
            "failed" | "systemerror" => Self::Failed,
            "noprogress" => Self::NoProgress,
            "stale" => Self::Stale,
            _ => return None,
        })
    }

    pub const fn effect(self) -> Effect {
        let runs = Effect {
            session: SessionEffect::Running,
            activity: None,
            waiting_for: None,
            checkpoint: None,
            default_summary: "",
        };
        let waits = Effect {
            activity: Some(Activity::RequiresAction),
            checkpoint: Some(CheckpointState::AwaitingInput),
            ..runs
        };
        match self {
            Self::Started => Effect { checkpoint: Some(CheckpointState::Active), default_summary: "started", ..runs },
            Self::Running => Effect { activity: Some(Activity::Busy), ..runs },
            Self::WaitingOnApproval => {
                Effect { waiting_for: Some("approval"), default_summary: "waits for an approval", ..waits }
            }
            Self::WaitingOnInput => Effect { waiting_for: Some("input"), default_summary: "waits for input", ..waits },
            Self::Completed => Effect {
                session: SessionEffect::Finished(SessionStatus::Ended),
                checkpoint: Some(CheckpointState::Done),
                default_summary: "completed",
                ..runs
            },
            Self::Failed => Effect {
                session: SessionEffect::Finished(SessionStatus::Failed),
                checkpoint: Some(CheckpointState::Blocked),
                default_summary: "failed",
                ..runs
            },
            Self::NoProgress => Effect {
                session: SessionEffect::Stale,
                checkpoint: Some(CheckpointState::AwaitingInput),
                default_summary: "makes no progress",
                ..runs
            },
            Self::Stale => Effect {
                session: SessionEffect::Stale,
                checkpoint: Some(CheckpointState::AwaitingInput),
                default_summary: "gives no sign of life",
                ..runs
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_state_is_read() {
        for state in ProviderState::ALL {
            let snake = state.as_str();
            let mut camel = String::new();
            for part in snake.split('_') {
                let (first, rest) = part.split_at(1);
                let first = if camel.is_empty() { first.to_owned() } else { first.to_ascii_uppercase() };
                camel.push_str(&(first + rest));
            }
            for spelling in [snake, &camel, &snake.replace('_', "-")] {
                assert_eq!(ProviderState::from_provider(spelling), Some(*state), "{spelling}");
            }
        }
        for (alias, state) in [
            ("inProgress", ProviderState::Running),
            ("active", ProviderState::Running),
            ("waitingOnUserInput", ProviderState::WaitingOnInput),
            ("systemError", ProviderState::Failed),
        ] {
            assert_eq!(ProviderState::from_provider(alias), Some(state), "{alias}");
        }
    }

    #[test]
    fn unknown_provider_state_is_none() {
        for word in ["", "_", "idle", "done", "approved", "waiting", "merge_ready", &"_".repeat(65), "rünning"] {
            assert_eq!(ProviderState::from_provider(word), None, "{word}");
        }
    }

    #[test]
    fn provider_state_is_final_only_at_an_end() {
        for state in ProviderState::ALL {
            let effect = state.effect();
            let is_over = matches!(effect.session, SessionEffect::Finished(status) if status.is_final());
            assert_eq!(is_over, matches!(state, ProviderState::Completed | ProviderState::Failed), "{state}");
            assert_eq!(effect.checkpoint.is_none(), *state == ProviderState::Running, "{state}");
            assert_eq!(effect.default_summary.is_empty(), effect.checkpoint.is_none(), "{state}");
            assert_eq!(effect.waiting_for.is_some(), effect.activity == Some(Activity::RequiresAction), "{state}");
        }
    }
}
