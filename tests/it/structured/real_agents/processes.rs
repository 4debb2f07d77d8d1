//! The processes of a session: agents that stop, switch to a terminal, die.

use std::process::Command;
use std::thread;

use fairway_core::os::process::ProcessKey;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::*;
use crate::common::soak;
use crate::sessions::{marked, text};

impl RealScene {
    /// The processes of the session but its supervisor.
    fn agent_processes(&self) -> Vec<ProcessKey> {
        let row = self.row();
        let all = marked(&row["run_id"]).unwrap();
        all.into_iter().filter(|key| key.pid.to_string() != row["pid"]).collect()
    }

    fn signal_agent(&self, signal: Signal) {
        for key in self.agent_processes() {
            // One of them may have ended meanwhile.
            let _ = kill(Pid::from_raw(key.pid), signal);
        }
    }

    pub(super) fn stalls(&self) {
        self.signal_agent(Signal::SIGSTOP);
        self.prompt("the words that it does not read");
        eventually("its turn", || (self.row()["activity"] == "busy").then_some(()));
        assert_eq!(self.shown()["mode"], self.mode, "the session is still shown");
        self.interrupt();
        self.signal_agent(Signal::SIGCONT);
        self.wait_until_idle();
        self.remembers("the words after the stall");
    }

    pub(super) fn is_quiet(&self) {
        let ticks = || {
            let stat = fs::read_to_string(format!("/proc/{}/stat", self.row()["pid"])).unwrap();
            let fields = stat.rsplit(')').next().unwrap().split_whitespace().skip(11).take(2);
            fields.map(|field| field.parse::<u64>().unwrap()).sum::<u64>()
        };
        // What a real agent still says after its turn may end in a tick.
        let quiet = || {
            let before = ticks();
            thread::sleep(Duration::from_secs(1));
            (ticks() == before).then_some(())
        };
        eventually("a second without a tick", quiet);
        let smaps = fs::read_to_string(format!("/proc/{}/smaps_rollup", self.row()["pid"])).unwrap();
        // Pages of the program are the kernel's to drop. This is of a build that is not optimised, after floods and long prompts.
        let own = smaps.lines().find(|line| line.starts_with("Private_Dirty:")).unwrap();
        let kib: u64 = own.split_whitespace().nth(1).unwrap().parse().unwrap();
        println!("memory of the supervisor's own: {kib} KiB");
        assert!(kib < 8 << 10, "{kib} KiB");
    }

    pub(super) fn switches(&self) {
        let listed = self.world.json(["provider", "list"]);
        let own = listed.as_array().unwrap().iter().find(|one| one["name"] == self.agent.provider()).unwrap();
        if own["switches"] == false {
            self.world.run(["session", "terminal", &self.id()]).exits(2);
        }
        // Nothing is known of those that were not tried in a terminal.
        if own["switches"] != true {
            return self.remembers("the words of the same turn");
        }
        let before = self.row()["external_session_id"].clone();
        let words: &[&str] = if self.agent.reports_in_a_terminal() { &[] } else { &["--cancel-turn"] };
        // There and back are two.
        for round in 0..soak::count("FAIRWAY_AGENT_SWITCHES", 100, 2).div_ceil(2) {
            self.world.run(["session", "terminal", &self.id()]).exits(0);
            assert_eq!(self.row()["backend"], "tmux");
            if round == 0 {
                let screen = || self.world.run(["session", "peek", &self.id()]).exits(0).stdout;
                let has_words = || screen().contains("stall").then_some(());
                let mut found = None;
                for rows in [51, 50].repeat(6) {
                    found = found.or_else(|| poll_until(Duration::from_secs(5), Duration::from_millis(100), has_words));
                    if found.is_none() {
                        self.resize_terminal(rows);
                    }
                }
                assert!(found.is_some(), "the terminal does not show the conversation: {}", screen());
            }
            // The way back needs its report that it waits.
            if self.agent.reports_in_a_terminal() {
                self.wait_until_idle();
            }
            self.world.run(["session", "structured", &self.id()].iter().chain(words)).exits(0);
            assert_eq!((&self.row()["backend"], &self.row()["external_session_id"]), (&"acp".into(), &before));
            self.remembers(&format!("the round {round}."));
            println!("switches without a lost turn: {}", 2 * (round + 1));
        }
    }

    /// Has the program lay out its screen anew. On a busy machine OpenCode may show nothing of a conversation until then.
    fn resize_terminal(&self, rows: u16) {
        let shown = self.world.json(["session", "show", &self.id()]);
        let (socket, pane, rows) = (text(&shown["socket"]), text(&shown["pane"]), rows.to_string());
        let resized =
            Command::new("tmux").args(["-S", &socket, "resize-window", "-t", &pane, "-y", &rows]).status().unwrap();
        assert!(resized.success(), "{shown}");
    }

    pub(super) fn is_killed(&self) {
        let run = self.row()["run_id"].clone();
        self.has_it_run("touch orphaned");
        self.asked("touch orphaned");
        self.signal_agent(Signal::SIGKILL);
        eventually("its end", || (self.row()["status"] == "failed").then_some(()));
        eventually("no process is left", || marked(&run).unwrap().is_empty().then_some(()));
        assert_eq!((self.has("orphaned"), self.approvals()), (false, Vec::new()));
        let next = self.world.run(["--json", "session", "relaunch", &self.id()]);
        if next.code != Some(0) && self.agent.may_lose_its_conversation() {
            assert!(next.stderr.contains("No previous sessions found"), "{next:?}");
            let next = self.world.json(["session", "relaunch", &self.id(), "--no-resume"]);
            self.id.replace(text(&next["id"]));
            return self.settles();
        }
        self.id.replace(text(&next.exits(0).json()["id"]));
        self.settles();
        self.remembers("the words of the relaunch");
    }

    /// Waits until it is idle. Some keep a prompt whose turn was killed, so that the model answers it now: its call is asked about
    /// again, and denied.
    fn settles(&self) {
        eventually("it is idle", || {
            self.approvals().iter().for_each(|asked| self.answer(asked, &["deny"]));
            (self.row()["activity"] == "idle").then_some(())
        });
        assert!(!self.has("orphaned"));
    }

    pub(super) fn ends_with_its_supervisor(&self) {
        let run = self.row()["run_id"].clone();
        kill(Pid::from_raw(self.row()["pid"].parse().unwrap()), Signal::SIGKILL).unwrap();
        eventually("no process is left", || marked(&run).unwrap().is_empty().then_some(()));
        assert_eq!(self.world.json(["session", "show", &self.id()])["alive"], false);
    }
}
