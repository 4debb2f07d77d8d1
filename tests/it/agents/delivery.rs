//! What is decided about an agent's work is read by its model: in a terminal and over the protocol, idle, busy, asking, and freshly
//! relaunched, on what `setup` writes, with the agent in a mode that asks.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs};

use fairway_core::os::poll_until::poll_until;
use serde_json::Value;

use crate::common::agent_programs::Agent;
use crate::common::mock_models::MockModels;
use crate::sessions::{EVENTUALLY_TIMEOUT, Sessions, text};
use crate::structured::real_agents::Structured;

/// A landing sends back what has a file of this name.
const RED: &str = "red";
/// Work is judged by hand, and landed after a check.
const CHECKS: &str = "[gates.done]\nrequire = []\n[gates.merge]\nrequire = []\n[land]\nchecks = [\"test ! -e red\"]\n";
/// How long the agent's command runs, so that a decision falls into its turn.
const TURN: &str = "touch turn && sleep 4";

/// In which a decision, or the answer to the question before it, is read. These tests run alone, in `just agents`.
const LIMIT: Duration = Duration::from_secs(10);

/// What its agent does when a decision is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Busy,
    Asking,
    Relaunched,
}

/// An agent with a claimed task, whose work is committed in its lane.
struct Author {
    world: Sessions,
    models: MockModels,
    agent: Structured,
    is_structured: bool,
    session: String,
    socket: Option<String>,
}

impl Author {
    /// `None` where the agent is not installed.
    fn of(agent: Structured, is_structured: bool) -> Option<Self> {
        let programs = agent.programs()?;
        let (models, mut world) = (MockModels::start(), Sessions::with_git());
        let vars = agent.configure(&world, &models);
        let terminals = programs.join("../../../npm/node_modules/.bin");
        let path = env::join_paths([programs, terminals].into_iter().chain(env::split_paths(&env::var_os("PATH")?)));
        world.set("PATH", path.unwrap());
        let name = agent.provider();
        let args = match agent {
            // Its "auto" mode asks a model of the vendor's, and a person trusts hooks once.
            Structured::Known(Agent::Claude) => vec!["--permission-mode".to_owned(), "default".to_owned()],
            Structured::Known(Agent::Codex) => Agent::Codex.unattended_args(),
            _ => Vec::new(),
        };
        let command = shell_words::join(std::iter::once(name.to_owned()).chain(args));
        let vars: String = vars.iter().map(|(name, value)| format!("{name} = {value:?}\n")).collect();
        let env = format!("[providers.{name}.env]\nTERM = \"xterm-256color\"\n{vars}");
        world.configure(&format!(
            "[sessions]\ndefault_backend = \"tmux\"\n[providers.{name}]\ncommand = {command:?}\n{env}{CHECKS}"
        ));
        world.run(["setup", "--yes"]).exits(0);
        if agent == Structured::Known(Agent::Gemini) {
            // As setup says.
            world.run(["hook", "install", "gemini", "--user"]).exits(0);
        }
        let root = world.root();
        for (key, value) in [("user.name", "Ann"), ("user.email", "ann@example.com")] {
            world.git(&root, &["config", key, value]);
        }
        world.git(&root, &["add", "--all"]);
        world.git(&root, &["commit", "--quiet", "--message=setup"]);
        if is_structured {
            let proven = world.json(["doctor", "agents", name, "--yes"]);
            assert_eq!(proven[0]["proof"]["proven"], true, "{proven}");
        }
        let mut words = vec!["start", "Fix the tax", "--provider", name, "--json", "--prompt", "the first words"];
        words.extend(is_structured.then_some("--structured"));
        let started = world.run(&words).exits(0).json();
        let socket = started["socket"].as_str().map(str::to_owned);
        let author = Self { world, models, agent, is_structured, session: text(&started["id"]), socket };
        let told = || author.models.requests().iter().any(|one| one.has_new("the first words")).then_some(());
        author.comes("its first prompt", told);
        author.is_idle();
        fs::write(author.lane().join("tax.txt"), "one\ntwo\n").unwrap();
        // A command that changes nothing leaves no uncommitted work.
        for name in [RED, "turn"] {
            fs::write(author.lane().join(name), "").unwrap();
        }
        author.world.git(&author.lane(), &["add", "--all"]);
        author.world.git(&author.lane(), &["commit", "--quiet", "--message=the tax"]);
        Some(author)
    }

    fn lane(&self) -> PathBuf {
        self.world.root().join(".fairway/worktrees/T-1")
    }

    fn screen(&self) -> String {
        self.world.run(["session", "peek", &self.session, "--lines", "0"]).stdout
    }

    #[track_caller]
    fn comes<T>(&self, what: &str, found: impl FnMut() -> Option<T>) -> T {
        poll_until(EVENTUALLY_TIMEOUT, Duration::from_millis(20), found).unwrap_or_else(|| {
            let (queue, status) = (self.world.run(["outbox"]).stdout, self.world.run(["status"]).stdout);
            panic!("{:?}: never: {what}\n{queue}\n{status}\n{}", self.agent, self.screen())
        })
    }

    #[track_caller]
    fn is_idle(&self) {
        self.comes("idle", || (self.world.session(&self.session)["activity"] == "idle").then_some(()));
    }

    /// As its own session.
    fn says(&self, words: &[&str]) -> Value {
        self.world.run([&["--session", &self.session, "--json"], words].concat()).exits(0).json()
    }

    fn asks(&self) -> String {
        self.comes("its question", || {
            let asked = self.world.json(["approvals", "list"]);
            asked
                .as_array()
                .unwrap()
                .iter()
                .find(|one| one["session_id"] == self.session)
                .map(|one| one["id"].to_string())
        })
    }

    fn allows(&self, id: &str) {
        // A dialog may still be drawn.
        self.comes("its answer", || {
            (self.world.run(["approvals", "answer", id, "allow"]).code == Some(0)).then_some(())
        });
    }

    /// Brings the agent into a state, has something decided and waits until the model has read these words.
    #[track_caller]
    fn reads(&mut self, state: State, what: &str, words: &[&str], decide: impl FnOnce(&Self)) {
        let mut asked = None;
        if matches!(state, State::Busy | State::Asking) {
            self.is_idle();
            self.world.run(["send", &self.session, &format!("do {}", self.agent.to_run(TURN))]).exits(0);
            let id = self.asks();
            if state == State::Busy {
                self.allows(&id);
            } else {
                asked = Some(id);
            }
        } else if state == State::Relaunched {
            self.world.kill(&self.session);
            self.world.run(["session", "reconcile"]).exits(0);
            // A conversation may be gone with its process.
            let is_kept = self.agent != Structured::Known(Agent::Gemini);
            let new = (!is_kept).then_some("--no-resume");
            let next = self.world.json(["session", "relaunch", &self.session].into_iter().chain(new));
            self.session = text(&next["id"]);
        } else {
            self.is_idle();
        }
        let before = self.models.requests().len();
        let mut since = Instant::now();
        decide(self);
        if let Some(id) = asked {
            self.allows(&id);
            since = Instant::now();
        }
        let is_read = || {
            let heard = self.models.requests();
            words.iter().all(|word| heard[before..].iter().any(|one| one.has_new(word))).then_some(())
        };
        self.comes(what, is_read);
        println!("{:?} {} {state:?} {what}: {:.1} s", self.agent, self.is_structured, since.elapsed().as_secs_f64());
        assert!(since.elapsed() < LIMIT, "{what}: {:?}", since.elapsed());
    }

    fn submit(&self) {
        self.says(&["task", "submit", "T-1"]);
    }

    fn reads_all(&mut self, state: State) {
        let (note, line, answer) =
            (format!("write-c-{state:?}"), format!("why-two-{state:?}"), format!("euro-{state:?}"));
        self.submit();
        let changes = ["review", "record", "T-1", "--verdict", "changes", "--json", "--notes", &note];
        // A person's words.
        let marked = [format!("| {note}"), "| tax.txt:2 (comment".to_owned()];
        self.reads(state, "changes", &[&marked[0], &marked[1], &line], |author| {
            author.world.run(["review", "comment", "T-1", "tax.txt:2", &line]).exits(0);
            drop(author.world.run(changes).exits(0).json());
        });
        let reviews = self.world.json(["review", "list", "T-1"]);
        let last = reviews.as_array().unwrap().last().unwrap()["id"].to_string();
        self.reads(state, "withdrawal", &["takes back"], |author| {
            author.world.run(["review", "withdraw", &last]).exits(0);
        });
        // While it asks for a permission, that comes first.
        if state != State::Asking {
            self.is_idle();
            self.says(&["checkpoint", "record", "T-1", "--state", "awaiting_input", "--summary", "which currency?"]);
            self.reads(state, "answer", &[&answer], |author| {
                let question = author.comes("its question", || {
                    let needs = author.world.json(["status"])["needs_you"].clone();
                    let asked = needs.as_array().unwrap().iter().find(|need| need["line"] == "which currency?");
                    asked.map(|need| text(&need["id"]))
                });
                author.world.run(["answer", &question, &answer]).exits(0);
            });
        }
        self.submit();
        self.reads(state, "sent back", &["was sent back"], |author| {
            author.world.run(["land", "T-1"]).exits(5);
        });
    }

    fn ends(self) {
        let _ = self.world.run(["session", "stop", &self.session]);
        if let Some(socket) = &self.socket {
            let _ = Command::new("tmux").args(["-S", socket, "kill-server"]).output();
        }
    }
}

fn each_decision_is_read(agent: Structured, is_structured: bool) {
    let Some(mut author) = Author::of(agent, is_structured) else { return };
    for state in [State::Idle, State::Busy, State::Asking, State::Relaunched] {
        author.reads_all(state);
    }
    author.ends();
}

macro_rules! delivers {
    ($($test:ident: $agent:expr, $is_structured:expr;)*) => {$(
        #[test]
        #[ignore = "minutes; in `just agents`"]
        fn $test() {
            each_decision_is_read($agent, $is_structured);
        }
    )*};
}

delivers! {
    claude_in_a_terminal_reads_each_decision: Structured::Known(Agent::Claude), false;
    codex_in_a_terminal_reads_each_decision: Structured::Known(Agent::Codex), false;
    gemini_in_a_terminal_reads_each_decision: Structured::Known(Agent::Gemini), false;
    claude_over_the_protocol_reads_each_decision: Structured::Known(Agent::Claude), true;
    codex_over_the_protocol_reads_each_decision: Structured::Known(Agent::Codex), true;
    gemini_over_the_protocol_reads_each_decision: Structured::Known(Agent::Gemini), true;
    opencode_reads_each_decision: Structured::OpenCode, true;
    qwen_reads_each_decision: Structured::Qwen, true;
}
