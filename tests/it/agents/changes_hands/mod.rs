//! A task changes hands between two real agents in their default sandboxes: the successor goes on with claim, note and branch.

mod dead;
mod handed_over;
mod relaunched;
mod stolen;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use fairway_core::os::poll_until::poll_until;
use serde_json::Value;

use super::RULES;
use crate::common::agent_programs::Agent;
use crate::common::mock_models::MockModels;
use crate::common::test_project::FAIRWAY;
use crate::sessions::{EVENTUALLY_TIMEOUT, Sessions, eventually, text};

/// What the predecessor notes, and its successor must hear of.
const NOTE: &str = "the tax is per line";

/// A repository with a lane, in which the session `s1` has claimed T-1, written a note and committed.
struct Hands {
    world: Sessions,
    models: MockModels,
    first: Value,
}

impl Hands {
    /// `None` where the agent is not installed. `more`: what the predecessor does at the end.
    fn of(agent: Agent, more: &str) -> Option<Self> {
        let program = agent.program()?;
        let (models, world) = (MockModels::start(), Sessions::with_git());
        let vars = agent.configure(&world, &models);
        let words: String = vars.iter().map(|(name, value)| format!("{name} = \"{value}\"\n")).collect();
        let (name, command) = (agent.name(), [vec![program.display().to_string()], agent.unattended_args()].concat());
        let role = |role: &str| format!("[roles.{role}]\nprovider = \"{name}\"\nbackend = \"tmux\"\n");
        world.configure(&format!(
            "{RULES}{}{}[providers.{name}]\ncommand = {:?}\n[providers.{name}.env]\nTERM = \"xterm-256color\"\n{words}",
            role("dev"),
            role("qa"),
            command.join(" "),
        ));
        world.run(["trust"]).exits(0);
        world.run(["task", "add", "T-1", "Fix the tax"]).exits(0);
        let mut hands = Self { world, models, first: Value::Null };
        let work = format!("{FAIRWAY} claim T-1; {FAIRWAY} note '{NOTE}'; {}; {more}", commit("first"));
        hands.first = hands.launch("s1", "a", "dev", &work);
        eventually("the first one is idle", || {
            (hands.has_noted("s1") && hands.world.session("s1")["activity"] == "idle").then_some(())
        });
        Some(hands)
    }

    /// Launches an agent in a lane, which runs these commands at once.
    fn launch(&self, id: &str, lane: &str, role: &str, commands: &str) -> Value {
        if !self.lane(lane).exists() {
            self.world.run(["lane", "add", lane, "--create-worktree"]).exits(0);
        }
        let prompt = format!("RUN[[{commands}]]");
        let words = ["session", "launch", "--json", "--role", role, "--lane", lane, "--id", id, "--prompt", &prompt];
        self.world.run(words).exits(0).json()
    }

    fn lane(&self, lane: &str) -> PathBuf {
        self.world.root().join(".fairway/worktrees").join(lane)
    }

    fn has_noted(&self, session: &str) -> bool {
        !self.world.rows(&format!("SELECT id FROM checkpoints WHERE session_id = '{session}'")).is_empty()
    }

    /// Kills the agent with all that it runs, and waits until this host has seen it.
    fn kill_first(&self) {
        self.world.kill("s1");
        let offer = "fairway session relaunch s1";
        eventually("status says so", || self.world.run(["status"]).exits(0).stdout.contains(offer).then_some(()));
    }

    /// The successor has the claim and has written under it, its branch has the commits of both, and its model was told the note.
    #[track_caller]
    fn continues(&self, successor: &str, lane: &str, takeover: &str) {
        let screen = || self.world.run(["session", "peek", successor, "--lines", "0"]).stdout;
        let goes_on = || (self.has_noted(successor) && self.lane(lane).join("second").exists()).then_some(());
        let found = poll_until(EVENTUALLY_TIMEOUT, Duration::from_millis(20), goes_on);
        assert!(found.is_some(), "{successor} never went on: {}", screen());
        let task = self.world.json(["task", "show", "T-1"]);
        let place = (&task["claim"]["session_id"], &task["claim"]["epoch"], &task["lane"]);
        assert_eq!(place, (&successor.into(), &2.into(), &lane.into()), "{}", screen());
        let claimed = "SELECT data FROM events WHERE kind = 'task.claimed' ORDER BY seq DESC LIMIT 1";
        let claimed = self.world.rows(claimed).remove(0)["data"].clone();
        assert!(claimed.contains(&format!("\"takeover\":\"{takeover}\"")), "{claimed}");
        eventually("its commit", || {
            let log = self.world.git(&self.lane(lane), &["log", "--format=%s"]);
            ["first", "second"].iter().all(|name| log.lines().any(|line| line == *name)).then_some(())
        });
        let branch = self.world.git(&self.lane(lane), &["branch", "--show-current"]);
        assert_eq!(branch.trim(), format!("lane/{lane}"));
        eventually("its model is told the note", || {
            self.models.requests().into_iter().find(|one| one.count("it goes on") > 0 && one.count(NOTE) > 0)
        });
        self.end(successor);
    }

    fn end(&self, successor: &str) {
        for session in ["s1", successor] {
            let _ = self.world.run(["session", "stop", session]);
        }
        let _ = Command::new("tmux").args(["-S", &text(&self.first["socket"]), "kill-server"]).output();
    }
}

/// The shell commands of a commit with one file of this name.
fn commit(name: &str) -> String {
    let who = "GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b";
    format!("export {who}; touch {name}; git add {name}; git commit -q -m {name}")
}

/// What a successor does: it takes the claim by these commands, reads its context, goes on and says so.
fn go_on(takes: &str) -> String {
    format!("{takes}; {FAIRWAY} prime; {}; {FAIRWAY} note 'it goes on'", commit("second"))
}
