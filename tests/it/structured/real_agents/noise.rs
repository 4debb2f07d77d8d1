//! What an agent writes that misbehaves, between the frames of one that does not.

use super::*;

/// The most questions of an agent that are open at a time.
const MAX_OPEN: usize = fairway_core::acp::state_machine::MAX_OPEN_QUESTIONS;

impl RealScene {
    pub(super) fn survives_noise(&self) {
        for noise in ["GARBAGE", "HALF", "UNKNOWN", "TWICE", "FLOOD", "PLAN"] {
            self.noise(noise);
        }
        // The last one is read when all before it were.
        self.shows("plan:\n  [>] the first step\n");
        let shown = self.peek();
        assert!(shown.contains("\na whole word\n") && !shown.contains("no frame"), "{shown}");
        assert!(!shown.contains("a word of another session") && !shown.contains('\u{1b}'), "{shown}");
        let refused = eventually("an answer", || Some(self.answers_to_noise()).filter(|text| !text.is_empty()));
        assert!(refused.contains("\"id\":\"noise-unknown\"") && refused.contains("-32601"), "{refused}");
        self.remembers("the words after the noise");
        assert_eq!(self.row()["status"], "running");
    }

    pub(super) fn changes_its_mode(&self) {
        let guarded = |expected: bool| {
            let shown = self.shown();
            (shown["guarded"] == expected).then_some(shown)
        };
        self.noise("MODE careless");
        let shown = eventually("it is not guarded", || guarded(false));
        assert_eq!(shown["unguarded_reason"], format!("its mode is 'careless', not '{}'", self.mode));
        self.noise(&format!("MODE {}", self.mode));
        eventually("it is guarded again", || guarded(true));
    }

    pub(super) fn asks_without_end(&self) {
        let decided = self.decided().len();
        self.has_it_run("touch noisy");
        self.asked("touch noisy");
        self.noise("ASK touch withdrawn");
        self.asked("touch withdrawn");
        self.noise("WITHDRAW");
        eventually("it disappears", || (self.approvals().len() == 1).then_some(()));
        self.noise("RAN touch forbidden");
        self.shows("[it ran without asking, and the guard denies it: as a rule]");
        let refuted = eventually("it is not guarded", || Some(self.shown()).filter(|shown| shown["guarded"] == false));
        assert_eq!(refuted["unguarded_reason"], "it ran without asking: Bash: touch forbidden");
        self.noise(&format!("ASKS {}", MAX_OPEN + 10));
        eventually("the questions", || (self.approvals().len() == MAX_OPEN).then_some(()));
        self.interrupt();
        self.wait_until_idle();
        assert_eq!((self.has("noisy"), self.approvals()), (false, Vec::new()));
        let expected = (1, 11, MAX_OPEN - 1);
        eventually("every question has its answer", || {
            let answers = self.answers_to_noise();
            let count = |part: &str| answers.matches(part).count();
            let found = (count("-32800"), count("too many questions"), count("\"cancelled\""));
            (found == expected).then_some(())
        });
        // Each that was asked or ran has one decision: noisy, withdrawn, forbidden, and all that were open but the first.
        let calls = self.decided();
        assert_eq!(calls.len() - decided, 3 + MAX_OPEN - 1);
        assert_eq!(calls.iter().collect::<BTreeSet<_>>().len(), calls.len());
    }
}
