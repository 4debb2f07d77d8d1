//! The recovery of a job whose supervisor is gone, from the files that it left.

use crate::domain::job::{MAX_ATTEMPTS, RecoveryPolicy};

/// The known facts about a job without a supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct RecoveryFacts {
    /// Whether its end was recorded before its supervisor died.
    pub has_result: bool,
    /// Whether its directory has the file that is written before its first instruction. A power cut may lose that file.
    pub was_started: bool,
    /// Whether the store says that it is starting. Before its first instruction the store changes this for good.
    pub is_starting: bool,
    pub same_boot: bool,
    pub session_ended: bool,
    /// Whether the document with its start can still be read.
    pub is_startable: bool,
    /// The number of this start, from 1.
    pub attempt: i64,
    /// The policy of the job for this case.
    pub policy: RecoveryPolicy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryAction {
    /// Record the end that was noted.
    RecordResult,
    /// It never ran: queue it again as before.
    RequeueUnstarted,
    /// Run it once more, as this attempt.
    Requeue(i64),
    /// Never run it again, for this reason.
    MarkLost(&'static str),
}

pub const fn decide(facts: &RecoveryFacts) -> RecoveryAction {
    if facts.has_result {
        return RecoveryAction::RecordResult;
    }
    // A note that is not there proves something only as long as nothing written can be lost.
    if !facts.was_started && (facts.same_boot || facts.is_starting) {
        return if facts.is_startable {
            RecoveryAction::RequeueUnstarted
        } else {
            RecoveryAction::MarkLost("it was never started, and its start file is missing")
        };
    }
    match facts.policy {
        RecoveryPolicy::Lost => RecoveryAction::MarkLost("its supervisor died, and its recovery policy is lost"),
        RecoveryPolicy::Requeue if !facts.same_boot => {
            RecoveryAction::MarkLost("the machine was booted again while it ran")
        }
        RecoveryPolicy::Requeue if facts.session_ended => {
            RecoveryAction::MarkLost("its supervisor died, and its session has ended")
        }
        RecoveryPolicy::Requeue if facts.attempt >= MAX_ATTEMPTS => {
            RecoveryAction::MarkLost("its supervisor died on every attempt; it is not started again")
        }
        RecoveryPolicy::Requeue if !facts.is_startable => {
            RecoveryAction::MarkLost("its supervisor died, and its start file is missing")
        }
        RecoveryPolicy::Requeue => RecoveryAction::Requeue(facts.attempt + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every combination of facts.
    fn all() -> Vec<RecoveryFacts> {
        let mut all = Vec::new();
        for bits in 0..64_u32 {
            let is = |bit: u32| bits & (1 << bit) != 0;
            for attempt in 1..=MAX_ATTEMPTS + 1 {
                for policy in [RecoveryPolicy::Requeue, RecoveryPolicy::Lost] {
                    all.push(RecoveryFacts {
                        has_result: is(0),
                        was_started: is(1),
                        is_starting: is(2),
                        same_boot: is(3),
                        session_ended: is(4),
                        is_startable: is(5),
                        attempt,
                        policy,
                    });
                }
            }
        }
        all
    }

    #[test]
    fn recovery_follows_the_table() {
        let usual = RecoveryFacts {
            has_result: false,
            was_started: true,
            is_starting: false,
            same_boot: true,
            session_ended: false,
            is_startable: true,
            attempt: 1,
            policy: RecoveryPolicy::Requeue,
        };
        let is_lost = |facts: RecoveryFacts| matches!(decide(&facts), RecoveryAction::MarkLost(_));
        assert_eq!(decide(&usual), RecoveryAction::Requeue(2));
        assert_eq!(decide(&RecoveryFacts { attempt: 2, ..usual }), RecoveryAction::Requeue(3));
        assert!(is_lost(RecoveryFacts { attempt: 3, ..usual }));
        assert!(is_lost(RecoveryFacts { policy: RecoveryPolicy::Lost, ..usual }));
        assert!(is_lost(RecoveryFacts { same_boot: false, ..usual }));
        assert!(is_lost(RecoveryFacts { session_ended: true, ..usual }));
        assert!(is_lost(RecoveryFacts { is_startable: false, ..usual }));
        assert_eq!(
            decide(&RecoveryFacts { has_result: true, policy: RecoveryPolicy::Lost, ..usual }),
            RecoveryAction::RecordResult
        );
        let unbegun =
            RecoveryFacts { was_started: false, is_starting: true, policy: RecoveryPolicy::Lost, attempt: 3, ..usual };
        assert_eq!(decide(&unbegun), RecoveryAction::RequeueUnstarted);
        assert_eq!(decide(&RecoveryFacts { same_boot: false, ..unbegun }), RecoveryAction::RequeueUnstarted);
        // After a power cut a missing note says nothing about a run that the store knows as running.
        assert!(is_lost(RecoveryFacts {
            same_boot: false,
            is_starting: false,
            policy: RecoveryPolicy::Requeue,
            ..unbegun
        }));
        assert!(is_lost(RecoveryFacts { is_startable: false, ..unbegun }));
    }

    #[test]
    fn job_that_may_have_run_runs_again_only_on_request() {
        for facts in all() {
            let verdict = decide(&facts);
            let never_ran = !facts.was_started && (facts.same_boot || facts.is_starting);
            assert_eq!(verdict == RecoveryAction::RecordResult, facts.has_result, "{facts:?}");
            match verdict {
                RecoveryAction::RecordResult => {}
                RecoveryAction::RequeueUnstarted => assert!(never_ran && facts.is_startable, "{facts:?}"),
                RecoveryAction::Requeue(attempt) => assert!(
                    facts.policy == RecoveryPolicy::Requeue
                        && facts.same_boot
                        && facts.is_startable
                        && !facts.session_ended
                        && attempt == facts.attempt + 1
                        && attempt <= MAX_ATTEMPTS,
                    "{facts:?}"
                ),
                RecoveryAction::MarkLost(why) => {
                    assert!(!why.is_empty() && (!never_ran || !facts.is_startable), "{facts:?}");
                }
            }
        }
    }
}
