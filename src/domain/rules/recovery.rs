//! What becomes of a run whose supervisor is gone, from what it left.

use crate::domain::job::{MAX_ATTEMPTS, Recovery};

/// What is known of a run that nobody looks after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Facts {
    /// Its end was noted before its supervisor died.
    pub ended: bool,
    /// Its folder has the note that is made before the first instruction. A power cut may lose that.
    pub begun: bool,
    /// The store says that it is starting. It says otherwise, for good, before the first instruction.
    pub starting: bool,
    /// It was begun in this boot.
    pub same_boot: bool,
    /// Its session is over.
    pub session_over: bool,
    /// What it is started with can still be read.
    pub startable: bool,
    /// Which beginning this was, from 1.
    pub attempt: i64,
    /// What was asked for in this case.
    pub policy: Recovery,
}

/// What becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It ended as it was noted.
    Complete,
    /// It never ran: it is queued as before.
    Again,
    /// It is run once more, as this attempt.
    Requeue(i64),
    /// It is never run again, and why.
    Lost(&'static str),
}

/// Judges a run.
#[must_use]
pub const fn judge(facts: &Facts) -> Verdict {
    if facts.ended {
        return Verdict::Complete;
    }
    // A note that is not there proves something only as long as nothing written can be lost.
    if !facts.begun && (facts.same_boot || facts.starting) {
        return if facts.startable {
            Verdict::Again
        } else {
            Verdict::Lost("it was never begun, and what it was to be started with is gone")
        };
    }
    match facts.policy {
        Recovery::Lost => Verdict::Lost("its supervisor died, and it must not run twice"),
        Recovery::Requeue if !facts.same_boot => Verdict::Lost("the machine was booted again while it ran"),
        Recovery::Requeue if facts.session_over => Verdict::Lost("its supervisor died, and its session is over"),
        Recovery::Requeue if facts.attempt >= MAX_ATTEMPTS => {
            Verdict::Lost("its supervisor died, as it did each time before: it is not begun again")
        }
        Recovery::Requeue if !facts.startable => {
            Verdict::Lost("its supervisor died, and what it was started with is gone")
        }
        Recovery::Requeue => Verdict::Requeue(facts.attempt + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every combination of facts.
    fn all() -> Vec<Facts> {
        let mut all = Vec::new();
        for bits in 0..64_u32 {
            let is = |bit: u32| bits & (1 << bit) != 0;
            for attempt in 1..=MAX_ATTEMPTS + 1 {
                for policy in [Recovery::Requeue, Recovery::Lost] {
                    all.push(Facts {
                        ended: is(0),
                        begun: is(1),
                        starting: is(2),
                        same_boot: is(3),
                        session_over: is(4),
                        startable: is(5),
                        attempt,
                        policy,
                    });
                }
            }
        }
        all
    }

    #[test]
    fn each_case_of_the_table() {
        let usual = Facts {
            ended: false,
            begun: true,
            starting: false,
            same_boot: true,
            session_over: false,
            startable: true,
            attempt: 1,
            policy: Recovery::Requeue,
        };
        let is_lost = |facts: Facts| matches!(judge(&facts), Verdict::Lost(_));
        assert_eq!(judge(&usual), Verdict::Requeue(2));
        assert_eq!(judge(&Facts { attempt: 2, ..usual }), Verdict::Requeue(3));
        assert!(is_lost(Facts { attempt: 3, ..usual }));
        assert!(is_lost(Facts { policy: Recovery::Lost, ..usual }));
        assert!(is_lost(Facts { same_boot: false, ..usual }));
        assert!(is_lost(Facts { session_over: true, ..usual }));
        assert!(is_lost(Facts { startable: false, ..usual }));
        assert_eq!(judge(&Facts { ended: true, policy: Recovery::Lost, ..usual }), Verdict::Complete);
        let unbegun = Facts { begun: false, starting: true, policy: Recovery::Lost, attempt: 3, ..usual };
        assert_eq!(judge(&unbegun), Verdict::Again);
        assert_eq!(judge(&Facts { same_boot: false, ..unbegun }), Verdict::Again);
        // After a power cut a missing note says nothing about a run that the store knows as running.
        assert!(is_lost(Facts { same_boot: false, starting: false, policy: Recovery::Requeue, ..unbegun }));
        assert!(is_lost(Facts { startable: false, ..unbegun }));
    }

    #[test]
    fn nothing_that_may_have_run_runs_again_unless_that_was_asked_for() {
        for facts in all() {
            let verdict = judge(&facts);
            let never_ran = !facts.begun && (facts.same_boot || facts.starting);
            assert_eq!(verdict == Verdict::Complete, facts.ended, "{facts:?}");
            match verdict {
                Verdict::Complete => {}
                Verdict::Again => assert!(never_ran && facts.startable, "{facts:?}"),
                Verdict::Requeue(attempt) => assert!(
                    facts.policy == Recovery::Requeue
                        && facts.same_boot
                        && facts.startable
                        && !facts.session_over
                        && attempt == facts.attempt + 1
                        && attempt <= MAX_ATTEMPTS,
                    "{facts:?}"
                ),
                Verdict::Lost(why) => assert!(!why.is_empty() && (!never_ran || !facts.startable), "{facts:?}"),
            }
        }
    }
}
