//! The meaning of the end of a turn, for a session that has claimed a task in progress.

use crate::domain::blocker::Blocker;
use crate::domain::ended_turn::{EndedTurn, TurnEnd};
use crate::domain::job::JobId;

/// The facts about a session when its turn has ended.
#[derive(Debug, Clone, Default)]
pub struct TurnFacts<'a> {
    /// Whether the newest checkpoint of one of its tasks awaits input.
    pub has_asked: bool,
    /// A message to the session that is on its way.
    pub message: Option<i64>,
    /// The end of its last message.
    pub said: Option<&'a str>,
    /// Until when and why it is parked.
    pub parking_end: Option<String>,
    /// A running job that the session has started.
    pub job: Option<&'a JobId>,
    /// An open handoff of its task.
    pub handoff: Option<i64>,
    /// The unmet gates of its task.
    pub blockers: &'a [Blocker],
}

/// The meaning of the end of a turn. A question comes first, then whatever the session waits for, then its unmet gates.
pub fn judge(facts: &TurnFacts<'_>) -> TurnEnd {
    if facts.has_asked {
        return TurnEnd::Asks;
    }
    if let Some(end) = &facts.parking_end {
        return TurnEnd::Waits(end.clone());
    }
    if let Some(id) = facts.message {
        return TurnEnd::Waits(format!("message {id}"));
    }
    if facts.said.is_some_and(is_question) {
        return TurnEnd::AsksInWords;
    }
    if let Some(job) = facts.job {
        return TurnEnd::Waits(format!("job {}", job.short()));
    }
    if let Some(id) = facts.handoff {
        return TurnEnd::Waits(format!("an answer to handoff {id}"));
    }
    let own: Vec<Blocker> = facts.blockers.iter().filter(|one| !one.is_for_reviewer()).cloned().collect();
    if own.is_empty() { TurnEnd::Finished } else { TurnEnd::Stopped(own) }
}

/// Whether a session may be reminded: it has stopped, was reminded fewer than `most` times in this claim, and has made progress
/// since the last reminder.
pub const fn may_remind(ended: &EndedTurn, most: i64, has_progress: bool) -> bool {
    ended.meaning.is_stop() && ended.told < most && (ended.told == 0 || has_progress)
}

/// Whether a message ends in a question; marks of quotation and emphasis may follow it.
fn is_question(said: &str) -> bool {
    let end = said.trim_end_matches(|one: char| one.is_whitespace() || "*_`~\"'”’»)]".contains(one));
    end.ends_with(['?', '？', '؟'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::TaskId;
    use crate::env::Timestamp;

    fn blocker(code: &'static str) -> Blocker {
        Blocker { code, message: "no evidence".into(), fix: "fairway evidence add".into() }
    }

    #[test]
    fn each_fact_alone_decides_and_a_question_comes_first() {
        let job = JobId::parse("0193b0c0-7e6a-7a5b-8c3d-aabbccddeeff").unwrap();
        let gates = [blocker("evidence_missing"), blocker("review_missing")];
        let none = TurnFacts::default();
        let stopped = TurnFacts { blockers: &gates, said: Some("The parser is done."), ..none.clone() };
        assert_eq!(judge(&none), TurnEnd::Finished);
        assert_eq!(judge(&stopped), TurnEnd::Stopped(vec![blocker("evidence_missing")]));
        // A reviewer clears the other gate, after the task is submitted.
        assert_eq!(judge(&TurnFacts { blockers: &gates[1..], ..none.clone() }), TurnEnd::Finished);
        let waits = |facts: TurnFacts<'_>| match judge(&facts) {
            TurnEnd::Waits(what) => what,
            other => panic!("{other:?}"),
        };
        assert_eq!(waits(TurnFacts { job: Some(&job), ..stopped.clone() }), "job ccddeeff");
        assert_eq!(waits(TurnFacts { handoff: Some(3), ..stopped.clone() }), "an answer to handoff 3");
        assert_eq!(waits(TurnFacts { message: Some(4), said: Some("Go on?"), ..stopped.clone() }), "message 4");
        let asks = TurnFacts { said: Some("Go on?"), job: Some(&job), ..stopped.clone() };
        assert_eq!(judge(&asks), TurnEnd::AsksInWords);
        assert_eq!(judge(&TurnFacts { has_asked: true, message: Some(4), ..stopped }), TurnEnd::Asks);
    }

    #[test]
    fn session_is_reminded_only_when_it_has_stopped_and_moved_on_since() {
        let ended = |meaning, told| EndedTurn {
            task: TaskId::parse("T-1").unwrap(),
            meaning,
            since: Timestamp::from_millis(1),
            said: None,
            epoch: 1,
            told,
        };
        let may = |meaning: &TurnEnd, told, has_progress| may_remind(&ended(meaning.clone(), told), 2, has_progress);
        for stopped in [TurnEnd::Finished, TurnEnd::Stopped(vec![blocker("evidence_missing")])] {
            assert!(may(&stopped, 0, false) && may(&stopped, 1, true));
            assert!(!may(&stopped, 1, false) && !may(&stopped, 2, true));
        }
        for other in [TurnEnd::Asks, TurnEnd::AsksInWords, TurnEnd::Waits("job 1".into())] {
            assert!(!may(&other, 0, true), "{other:?}");
        }
    }

    #[test]
    fn question_is_a_message_that_ends_in_one() {
        for asks in ["Shall I?", "**Shall I go on?**\n", "(which one?)", "続けますか？"] {
            assert!(is_question(asks), "{asks}");
        }
        for tells in ["", "Done.", "Why? Because.", "see https://x.y/?q=1"] {
            assert!(!is_question(tells), "{tells}");
        }
    }
}
