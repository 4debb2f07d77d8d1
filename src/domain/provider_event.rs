//! What a provider's runtime says about a session of its own, in one word, and what follows from that word.

use super::{
    checkpoint::CheckpointState,
    session::{Activity, SessionStatus},
    string_enum::closed_set,
};

/// The longest word that is looked at, in bytes.
const LONGEST: usize = 64;

closed_set! {
    /// How a provider says that a session stands.
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

/// What becomes of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// It lives: a suspicion is lifted.
    Runs,
    /// It is suspected to be gone.
    Suspected,
    /// It is over, with this final status.
    Over(SessionStatus),
}

/// What follows from a state. Nothing here touches a task's status, claimant or gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effect {
    /// What becomes of the session.
    pub life: Life,
    /// What the session does now; `None` leaves it as it was.
    pub activity: Option<Activity>,
    /// What it waits for, in one word, when it waits.
    pub waits_for: Option<&'static str>,
    /// The checkpoint on the session's task; `None` for none.
    pub checkpoint: Option<CheckpointState>,
    /// The words of the checkpoint when the provider gave none.
    pub words: &'static str,
}

impl ProviderState {
    /// The state that a provider means: in `snake_case`, `camelCase` or with dashes, and under the names that providers give
    /// to the same thing (`active` and `in_progress` are `running`, `waiting_on_user_input` is `waiting_on_input`,
    /// `system_error` is `failed`).
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let letters = text.chars().filter(|letter| !matches!(letter, '_' | '-'));
        let word: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
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

    /// What follows from it.
    #[must_use]
    pub const fn effect(self) -> Effect {
        let runs = Effect { life: Life::Runs, activity: None, waits_for: None, checkpoint: None, words: "" };
        let waits = Effect {
            activity: Some(Activity::RequiresAction),
            checkpoint: Some(CheckpointState::AwaitingInput),
            ..runs
        };
        match self {
            Self::Started => Effect { checkpoint: Some(CheckpointState::Active), words: "started", ..runs },
            Self::Running => Effect { activity: Some(Activity::Busy), ..runs },
            Self::WaitingOnApproval => Effect { waits_for: Some("approval"), words: "waits for an approval", ..waits },
            Self::WaitingOnInput => Effect { waits_for: Some("input"), words: "waits for input", ..waits },
            Self::Completed => Effect {
                life: Life::Over(SessionStatus::Ended),
                checkpoint: Some(CheckpointState::Done),
                words: "completed",
                ..runs
            },
            Self::Failed => Effect {
                life: Life::Over(SessionStatus::Failed),
                checkpoint: Some(CheckpointState::Blocked),
                words: "failed",
                ..runs
            },
            Self::NoProgress => Effect {
                life: Life::Suspected,
                checkpoint: Some(CheckpointState::AwaitingInput),
                words: "makes no progress",
                ..runs
            },
            Self::Stale => Effect {
                life: Life::Suspected,
                checkpoint: Some(CheckpointState::AwaitingInput),
                words: "gives no sign of life",
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
                assert_eq!(ProviderState::read(spelling), Some(*state), "{spelling}");
            }
        }
        for (alias, state) in [
            ("inProgress", ProviderState::Running),
            ("active", ProviderState::Running),
            ("waitingOnUserInput", ProviderState::WaitingOnInput),
            ("systemError", ProviderState::Failed),
        ] {
            assert_eq!(ProviderState::read(alias), Some(state), "{alias}");
        }
    }

    #[test]
    fn what_is_no_state_is_none() {
        for word in ["", "_", "idle", "done", "approved", "waiting", "merge_ready", &"_".repeat(65), "rünning"] {
            assert_eq!(ProviderState::read(word), None, "{word}");
        }
    }

    #[test]
    fn only_an_end_is_final_and_only_running_says_nothing() {
        for state in ProviderState::ALL {
            let effect = state.effect();
            let is_over = matches!(effect.life, Life::Over(status) if status.is_final());
            assert_eq!(is_over, matches!(state, ProviderState::Completed | ProviderState::Failed), "{state}");
            assert_eq!(effect.checkpoint.is_none(), *state == ProviderState::Running, "{state}");
            assert_eq!(effect.words.is_empty(), effect.checkpoint.is_none(), "{state}");
            assert_eq!(effect.waits_for.is_some(), effect.activity == Some(Activity::RequiresAction), "{state}");
        }
    }
}
