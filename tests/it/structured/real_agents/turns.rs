//! Turns: the start of the session, prompts and their receipts, usage, cancels.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::common::mock_models::SLOW;
use crate::common::soak;

/// The bytes of the long prompt.
const LONG: usize = 60_000;

impl RealScene {
    pub(super) fn is_open(&self) {
        let shown = self.shown();
        assert!(shown["agent"].as_str().unwrap().ends_with(" (acp 1)"), "{shown}");
        assert_eq!((&shown["mode"], &shown["guarded"]), (&json!(self.mode), &json!(true)), "{shown}");
        assert!(shown["proven_at"].is_string(), "{shown}");
        let transcript = &self.row()["transcript"];
        for file in [transcript.clone(), format!("{transcript}.frames")] {
            assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600, "{file}");
        }
    }

    pub(super) fn allows(&self) {
        let command = "touch allowed; mkdir of-$FAIRWAY_SESSION_ID; expr 4000 + 242";
        let message = self.has_it_run(command);
        let asked = self.asked(command);
        assert_eq!(asked["tool"], "Bash", "{asked}");
        assert!(asked["input"]["options"].as_array().unwrap().len() >= 2, "{asked}");
        assert!(!self.has("allowed"));
        self.answer(&asked, &["allow"]);
        eventually("the command ran", || (self.has("allowed") && self.has("of-s")).then_some(()));
        self.wait_until_idle();
        let status = format!("SELECT status FROM messages WHERE id = {message}");
        assert_eq!(self.world.rows(&status)[0]["status"], "acknowledged");
        let shown = self.peek();
        assert!(shown.contains("* Bash: touch allowed"), "{shown}");
        assert_eq!(shown.contains("4242"), self.agent.tells_results(), "{shown}");
        let first = self.models.requests().into_iter().find(|one| one.has_new("touch allowed")).unwrap();
        assert!(first.count("You are the session s, in the role dev.") > 0, "{first:?}");
    }

    pub(super) fn tells_usage(&self) {
        let total = self.world.json(["usage", "--by", "session", "--session", &self.id()])["total"].clone();
        let is_told = total["turns"] == 1 && total["output_tokens"].as_u64() > Some(0);
        assert_eq!(is_told, self.agent.tells_usage(), "{total}");
    }

    pub(super) fn cancels(&self) {
        self.prompt(&format!("{SLOW} with it"));
        self.is_told("with it");
        self.interrupt();
        self.wait_until_idle();
        let ended = "SELECT data FROM events WHERE kind = 'session.turn_ended' ORDER BY seq DESC LIMIT 1";
        assert!(self.world.rows(ended)[0]["data"].contains("cancelled"), "{}", self.peek());
        assert_eq!(self.interrupt(), format!("unchanged: {} is idle\n", self.id()));
        self.remembers("go on, at once");
    }

    pub(super) fn steers(&self) {
        let ended = || self.world.rows("SELECT seq FROM events WHERE kind = 'session.turn_ended'").len();
        let before = ended();
        self.prompt(&format!("{SLOW} with more"));
        self.is_told("with more");
        let sent = self.world.json(["prompt", &self.id(), "--priority", "urgent", "in between, at once"]);
        let message = &sent["message_id"];
        let row = || self.world.rows(&format!("SELECT * FROM messages WHERE id = {message}")).remove(0);
        if self.agent.can_be_steered() {
            eventually("it has the prompt", || (row()["status"] == "acknowledged").then_some(()));
        } else {
            assert_eq!(row()["status"], "queued");
        }
        self.interrupt();
        eventually("its answer", || (!row()["stop_reason"].is_empty()).then_some(()));
        self.wait_until_idle();
        assert_eq!(ended() - before, if self.agent.can_be_steered() { 1 } else { 2 }, "{}", self.peek());
        self.remembers("go on, at once, again");
    }

    pub(super) fn delivers(&self) {
        let count = soak::count("FAIRWAY_AGENT_PROMPTS", 1_000, 3);
        let open = || self.world.rows("SELECT id FROM messages WHERE status <> 'acknowledged'").len();
        for number in 0..count {
            self.prompt(&format!("word {number}."));
            // Mail to one session is bounded.
            eventually("fewer wait", || (number % 20 != 19 || open() < 20).then_some(()));
        }
        eventually("all are acknowledged", || (open() == 0).then_some(()));
        self.wait_until_idle();
        let heard: Vec<String> = self.models.requests().into_iter().flat_map(|one| one.new).collect();
        for number in 0..count {
            let word = format!("word {number}.");
            assert_eq!(heard.iter().map(|text| text.matches(&word).count()).sum::<usize>(), 1, "{word}");
        }
    }

    pub(super) fn takes_a_long_prompt(&self) {
        let long = format!("{}the end of it", "long ".repeat(LONG / 5));
        self.prompt(&long);
        self.is_told(&long);
        self.wait_until_idle();
    }
}
