//! The way in which the question of a session is answered.

use crate::domain::session::{ANSWERED_IN_WINDOW, APPROVAL_SOURCE, Session};

/// The way of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerWay {
    /// A text to the session.
    Text,
    /// In the program's own window: a dialog of the provider, in which a typed text means something else.
    Window,
    /// By the permission request that the session waits for.
    Approval,
}

/// The way in which the question is answered that a session asks by its activity: by who reported it.
pub fn way(session: &Session) -> AnswerWay {
    match session.activity_source.as_deref() {
        Some(APPROVAL_SOURCE) => AnswerWay::Approval,
        Some(source) if ANSWERED_IN_WINDOW.contains(&source) => AnswerWay::Window,
        _ => AnswerWay::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::session::{Activity, SessionStatus, tests::session},
        env::Timestamp,
    };

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
            assert_eq!(way(&asks), expected, "{source}");
        }
    }
}
