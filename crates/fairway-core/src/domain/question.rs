//! The id of a question on the board. An answer names it, so that it reaches no other question.

use std::fmt;

use super::SessionId;
use super::excerpt::excerpt;
use super::id::InvalidValue;

/// The kind of value, as messages name it.
const WHAT: &str = "question";

/// The id of a question: `question:SESSION:N`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionId {
    /// The session that waits for the answer.
    pub session: SessionId,
    pub number: QuestionNumber,
}

/// The number of a question of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionNumber {
    /// `N`: the Nth question that the session asked by its activity.
    Activity(i64),
    /// `cN`: the question of checkpoint N.
    Checkpoint(i64),
}

impl QuestionId {
    /// The id of the question by which a session's activity became `requires_action` for the `count`th time.
    pub const fn activity(session: SessionId, count: i64) -> Self {
        Self { session, number: QuestionNumber::Activity(count) }
    }

    pub const fn checkpoint(session: SessionId, checkpoint: i64) -> Self {
        Self { session, number: QuestionNumber::Checkpoint(checkpoint) }
    }

    /// Parses a question's id. The error for a permission request names the command that answers it.
    pub fn parse(text: &str) -> Result<Self, InvalidValue> {
        let invalid = |why: String| InvalidValue { what: WHAT, why: format!("'{}' {why}", excerpt(text)) };
        if let Some(approval) = text.strip_prefix("approval:").and_then(|number| number.parse::<i64>().ok()) {
            let why = format!("is a permission request; answer it so: fairway approvals answer {approval} allow");
            return Err(invalid(why));
        }
        let unknown = || invalid("must be question:SESSION:N, as fairway status --json names it".to_owned());
        let (session, number) =
            text.strip_prefix("question:").and_then(|rest| rest.rsplit_once(':')).ok_or_else(unknown)?;
        let session = SessionId::parse(session)?;
        let (is_checkpoint, digits) = match number.strip_prefix('c') {
            Some(digits) => (true, digits),
            None => (false, number),
        };
        // One spelling for each question.
        let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
        let number = digits.parse().ok().filter(|_| is_plain).ok_or_else(unknown)?;
        Ok(if is_checkpoint { Self::checkpoint(session, number) } else { Self::activity(session, number) })
    }

    /// The id without the prefix `question:`.
    pub fn key(&self) -> String {
        match self.number {
            QuestionNumber::Activity(count) => format!("{}:{count}", self.session),
            QuestionNumber::Checkpoint(id) => format!("{}:c{id}", self.session),
        }
    }
}

impl fmt::Display for QuestionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("question:{}", self.key()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_of_a_question_is_read_as_it_is_written() {
        let session = || SessionId::parse("s-1").unwrap();
        for (text, id) in [
            ("question:s-1:7", QuestionId::activity(session(), 7)),
            // Of a session that asked before its questions were counted.
            ("question:s-1:0", QuestionId::activity(session(), 0)),
            ("question:s-1:c12", QuestionId::checkpoint(session(), 12)),
        ] {
            assert_eq!(QuestionId::parse(text), Ok(id.clone()));
            assert_eq!(id.to_string(), text);
        }
    }

    #[test]
    fn other_ids_are_no_questions() {
        for text in ["", "s-1", "question:s-1", "question:s-1:", "question:s-1:x", "question:s-1:-1", "question:s-1:07"]
        {
            assert!(QuestionId::parse(text).is_err(), "{text}");
        }
        for text in ["question:s-1:+1", "question:s-1:c", "question:s-1:99999999999999999999", "dead:s-1:1"] {
            assert!(QuestionId::parse(text).is_err(), "{text}");
        }
        let why = QuestionId::parse("approval:3").unwrap_err().why;
        assert!(why.contains("fairway approvals answer 3 allow"), "{why}");
    }
}
