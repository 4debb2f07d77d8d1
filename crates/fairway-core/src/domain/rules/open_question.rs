//! The question about a task that is still to be answered, and the way in which the question of a session is answered.

use crate::domain::SessionId;
use crate::domain::checkpoint::{Checkpoint, CheckpointState};
use crate::domain::session::{ANSWERED_IN_WINDOW, APPROVAL_SOURCE, Activity, Session};
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpenQuestion {
    /// The newest written checkpoint awaits input.
    Checkpoint(Checkpoint),
    /// The claimant's session waits for a person.
    Session {
        id: SessionId,
        /// The question, as its provider reported it.
        waiting_for: Option<String>,
    },
}

/// The open question of a task: that of its newest written checkpoint, otherwise that of its claimant's live session. A question
/// of the session that runs this command (`actor`) does not count: the provider reports an answer that was given in the session's
/// own window only after the tool call.
pub fn find(
    newest_written: Option<&Checkpoint>,
    claimant: Option<&Session>,
    actor: Option<&SessionId>,
) -> Option<OpenQuestion> {
    if let Some(asks) = newest_written.filter(|newest| newest.state == CheckpointState::AwaitingInput) {
        return Some(OpenQuestion::Checkpoint(asks.clone()));
    }
    let waiting = claimant.filter(|session| {
        !session.status.is_final() && session.activity == Activity::RequiresAction && actor != Some(&session.id)
    })?;
    Some(OpenQuestion::Session { id: waiting.id.clone(), waiting_for: waiting.waiting_for.clone() })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerWay {
    /// By a text to the session.
    Text,
    /// In the program's own window: a dialog of the provider, in which a typed text means something else.
    Window,
    /// By the permission request that the session waits for.
    Approval,
}

/// How a question that a session asks by its activity is answered. This depends on the source that reported the activity.
pub fn answer_way(session: &Session) -> AnswerWay {
    match session.activity_source.as_deref() {
        Some(APPROVAL_SOURCE) => AnswerWay::Approval,
        Some(source) if ANSWERED_IN_WINDOW.contains(&source) => AnswerWay::Window,
        _ => AnswerWay::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::TaskId;
    use crate::domain::session::SessionStatus;
    use crate::domain::session::tests::session;
    use crate::env::Timestamp;

    fn checkpoint(state: CheckpointState) -> Checkpoint {
        Checkpoint {
            id: 3,
            task: TaskId::parse("T-1").unwrap(),
            session: None,
            state,
            owner: None,
            summary: "which one?".into(),
            artifact: None,
            due_at: None,
            origin: None,
            created_at: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn question_is_open_by_checkpoint_or_by_live_waiting_claimant() {
        let asks = checkpoint(CheckpointState::AwaitingInput);
        let works = checkpoint(CheckpointState::Active);
        let waits = |status| Session { activity: Activity::RequiresAction, ..session(status) };
        let (live, ended) = (waits(SessionStatus::Running), waits(SessionStatus::Ended));
        assert_eq!(find(Some(&asks), None, None), Some(OpenQuestion::Checkpoint(asks.clone())));
        assert!(matches!(find(Some(&works), Some(&live), None), Some(OpenQuestion::Session { .. })));
        assert!(matches!(find(None, Some(&live), None), Some(OpenQuestion::Session { .. })));
        assert_eq!(find(Some(&works), Some(&live), Some(&live.id)), None);
        assert_eq!(find(Some(&works), Some(&ended), None), None);
        assert_eq!(find(Some(&works), Some(&session(SessionStatus::Running)), None), None);
    }

    #[test]
    fn question_is_answered_where_it_was_asked() {
        for (source, expected) in [
            ("heartbeat", AnswerWay::Text),
            ("lifecycle", AnswerWay::Text),
            ("upsert", AnswerWay::Text),
            ("provider", AnswerWay::Text),
            ("hook", AnswerWay::Window),
            ("screen", AnswerWay::Window),
            ("approval", AnswerWay::Approval),
        ] {
            let at = Timestamp::from_millis(1);
            let asks = session(SessionStatus::Running).with_activity(Activity::RequiresAction, None, source, at);
            assert_eq!(answer_way(&asks), expected, "{source}");
        }
    }
}
