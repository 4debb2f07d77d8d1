//! Questions of the agent about its tool calls, and how each is decided.

use super::*;
use crate::sessions::text;

impl RealScene {
    pub(super) fn denies(&self) {
        self.has_it_run("touch denied");
        let asked = self.asked("touch denied");
        let waiting = self.prompt("the words that wait");
        let status = format!("SELECT status FROM messages WHERE id = {waiting}");
        assert_ne!(self.world.rows(&status)[0]["status"], "acknowledged");
        assert!(!self.models.requests().iter().any(|one| one.has_new("the words that wait")));
        self.answer(&asked, &["deny", "--reason", "not this"]);
        self.is_told("the words that wait");
        self.wait_until_idle();
        assert!(!self.has("denied") && self.peek().contains("[denied: not this]"), "{}", self.peek());
        assert_eq!(self.world.rows(&status)[0]["status"], "acknowledged");
    }

    /// Some agents ask one after the other, in either order, some at once, and some once for both.
    pub(super) fn decides_each(&self) {
        self.prompt(&format!("do {} {}", self.agent.to_run("touch one"), self.agent.to_run("touch two")));
        if self.agent.asks_for_all() {
            let both = eventually("its question", || self.approvals().into_iter().next());
            assert_eq!(both["input"]["calls"], json!(["Bash: touch one", "Bash: touch two"]), "{both}");
            self.answer(&both, &["deny"]);
            self.wait_until_idle();
            return assert!(!self.has("one") && !self.has("two"), "{}", self.peek());
        }
        let first = self.asked("touch ");
        let is_one = text(&first["input"]["command"]).contains("touch one");
        let (allowed, denied) = if is_one { ("one", "two") } else { ("two", "one") };
        self.answer(&first, &["allow"]);
        self.answer(&self.asked(&format!("touch {denied}")), &["deny"]);
        self.wait_until_idle();
        assert!(self.has(allowed) && !self.has(denied), "{}", self.peek());
    }

    pub(super) fn guards(&self) {
        self.has_it_run("touch forbidden");
        self.shows("[denied: no-canary: as a rule]");
        self.wait_until_idle();
        assert_eq!((self.has("forbidden"), self.approvals()), (false, Vec::new()));
    }

    pub(super) fn cancels_with_a_question(&self) {
        self.has_it_run("touch cancelled");
        let asked = self.asked("touch cancelled");
        self.interrupt();
        self.wait_until_idle();
        assert_eq!((self.has("cancelled"), self.approvals()), (false, Vec::new()));
        let late = self.world.run(["approvals", "answer", &asked["id"].to_string(), "allow", "--json"]);
        late.refuses(4, "approval_lapsed");
        self.prompt("the word after");
        self.is_told("the word after");
        self.wait_until_idle();
    }

    pub(super) fn has_decisions(&self) {
        let calls = self.decided();
        let distinct: BTreeSet<&String> = calls.iter().collect();
        // Allowed, denied, one, two, forbidden and cancelled.
        assert_eq!((calls.len(), distinct.len()), (6, 6), "{calls:?}");
    }

    pub(super) fn allows_always(&self) {
        self.has_it_run("touch always");
        self.answer(&self.asked("touch always"), &["allow", "--always"]);
        eventually("the command ran", || self.has("always").then_some(()));
        self.wait_until_idle();
        let frames = fs::read_to_string(format!("{}.frames", self.row()["transcript"])).unwrap();
        let sent = frames.lines().rfind(|line| line.contains("\"optionId\":") && line.contains(" > ")).unwrap();
        let sent: Value = serde_json::from_str(sent.split_once(" > ").unwrap().1).unwrap();
        let asked = frames.lines().rfind(|line| line.contains("session/request_permission")).unwrap();
        let asked: Value = serde_json::from_str(asked.split_once(" < ").unwrap().1).unwrap();
        let offered = asked["params"]["options"].as_array().unwrap();
        let taken = offered.iter().find(|one| one["optionId"] == sent["result"]["outcome"]["optionId"]).unwrap();
        // Some offer it for some commands only.
        let is_offered = offered.iter().any(|one| one["kind"] == "allow_always");
        assert_eq!(taken["kind"], if is_offered { "allow_always" } else { "allow_once" }, "{asked}");
    }
}
