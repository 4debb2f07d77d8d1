//! The end of a turn of a session that has claimed a task in progress, and what it means.

use super::blocker::Blocker;
use super::{TaskId, secrets};
use crate::env::Timestamp;

/// How many unmet gates a sentence names.
const MAX_NAMED: usize = 2;
/// How much of a last message is kept, in characters.
const MAX_CHARS: usize = 400;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedTurn {
    /// The task that the session has claimed.
    pub task: TaskId,
    pub meaning: TurnEnd,
    /// When the turn ended, or the later start of the claim.
    pub since: Timestamp,
    /// The end of the last message, if the agent reported it.
    pub said: Option<String>,
    /// The epoch of the claim, and how often the session was told in it what its task still needs.
    pub epoch: i64,
    pub told: i64,
}

impl EndedTurn {
    /// The meaning as a sentence without its subject's name.
    pub fn sentence(&self) -> String {
        let task = &self.task;
        let told = match self.told {
            0 => String::new(),
            1 => "; it was reminded once".to_owned(),
            times => format!("; it was reminded {times} times"),
        };
        match &self.meaning {
            TurnEnd::Asks => format!("it ended its turn; it asks about {task} by a checkpoint"),
            TurnEnd::AsksInWords => "it ended its turn with a question".to_owned(),
            TurnEnd::Waits(what) => format!("it ended its turn; it waits for {what}"),
            TurnEnd::Stopped(blockers) => {
                let named: Vec<&str> = blockers.iter().take(MAX_NAMED).map(|one| one.message.as_str()).collect();
                let more = blockers.len().saturating_sub(MAX_NAMED);
                let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
                format!("it ended its turn; {task} still needs: {}{more}, then submit{told}", named.join("; "))
            }
            TurnEnd::Finished => {
                format!(
                    "it ended its turn; no unmet gate of {task} is known, and it is not submitted: submit or done{told}"
                )
            }
        }
    }
}

/// The meaning of the end of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    /// The session asks by a checkpoint.
    Asks,
    /// Its last message is a question, which nothing else records.
    AsksInWords,
    /// It waits for something of its own: what, as a noun.
    Waits(String),
    /// It has stopped: these gates, which the claimant clears, are unmet.
    Stopped(Vec<Blocker>),
    /// No gate that the claimant clears is known to be unmet, and the task is not submitted.
    Finished,
}

impl TurnEnd {
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Asks | Self::AsksInWords => "asks",
            Self::Waits(_) => "waits",
            Self::Stopped(_) => "stopped",
            Self::Finished => "finished",
        }
    }

    /// Whether the work has stopped: the session does not go on, and waits for nothing.
    pub const fn is_stop(&self) -> bool {
        matches!(self, Self::Stopped(_) | Self::Finished)
    }
}

/// The end of an agent's last message, without secrets; `None` for an empty one.
pub fn end_of_message(text: &str) -> Option<String> {
    let text = text.trim();
    let skipped = text.chars().count().saturating_sub(MAX_CHARS);
    let end: String = text.chars().skip(skipped).collect();
    (!end.is_empty()).then(|| secrets::mask(&if skipped > 0 { format!("…{end}") } else { end }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_of_a_long_message_is_kept() {
        assert_eq!(end_of_message(" \n"), None);
        assert_eq!(end_of_message(" done. \n").as_deref(), Some("done."));
        let long = format!("{}é", "a".repeat(MAX_CHARS));
        assert_eq!(end_of_message(&long), Some(format!("…{}é", "a".repeat(MAX_CHARS - 1))));
    }
}
