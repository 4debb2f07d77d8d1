//! A day of five structured agents, each of another maker, each in a lane of its own: from their claims to what has landed.

use std::env;
use std::path::PathBuf;
use std::process::Child;
use std::time::Duration;

use fairway_core::os::poll_until::poll_until;
use serde_json::{Value, json};

use super::real_agents::{RULE, Structured};
use crate::api::page_client;
use crate::cli::land::status;
use crate::common::agent_programs::Agent;
use crate::common::mock_models::MockModels;
use crate::common::test_project::FAIRWAY;
use crate::sessions::{EVENTUALLY_TIMEOUT, Sessions, eventually, text};

/// What the agents work on is one file each; it needs no review.
const NO_GATES: &str = "[gates.done]\nrequire = []\n[gates.merge]\nrequire = []\n";
/// The one that is killed.
const DIES: Structured = Structured::Known(Agent::Claude);

struct Day {
    world: Sessions,
    models: MockModels,
}

impl Day {
    /// `None` where one of the agents is not installed.
    fn begin() -> Option<Self> {
        let programs = Structured::ALL.iter().map(|agent| agent.programs()).collect::<Option<Vec<PathBuf>>>()?;
        let (models, mut world) = (MockModels::start(), Sessions::with_git());
        let path = env::var_os("PATH").unwrap();
        let path = env::join_paths(programs.into_iter().take(1).chain(env::split_paths(&path))).unwrap();
        world.set("PATH", path);
        let mut config = format!("{RULE}{NO_GATES}");
        for agent in Structured::ALL {
            let vars = agent.configure(&world, &models);
            let vars: String = vars.iter().map(|(name, value)| format!("{name} = {value:?}\n")).collect();
            config.push_str(&format!("[providers.{}.env]\n{vars}", agent.provider()));
        }
        world.configure(&config);
        let root = world.root();
        for words in [
            &["config", "user.name", "Ann"][..],
            &["config", "user.email", "ann@example.com"],
            &["add", "--all"],
            &["commit", "--quiet", "--message=configuration"],
        ] {
            world.git(&root, words);
        }
        world.run(["trust"]).exits(0);
        for agent in Structured::ALL {
            let name = agent.provider();
            world.run(["lane", "add", name, "--create-worktree"]).exits(0);
            world.run(["task", "add", "--id", &task(agent), &format!("Work of {name}"), "--lane", name]).exits(0);
        }
        Some(Self { world, models })
    }

    /// Begins a session in the agent's lane, whose first prompt has it claim its task.
    fn launch(&self, agent: Structured) -> Child {
        let name = agent.provider();
        let prompt = format!("first {}", agent.to_run(&format!("{FAIRWAY} claim {}", task(agent))));
        let place = ["--role", "dev", "--provider", name, "--lane", name, "--id", name];
        let words = ["session", "launch", "--structured", "--quiet", "--prompt", &prompt];
        self.world.fairway(words.iter().chain(&place)).spawn().unwrap()
    }

    fn claimant(&self, agent: Structured) -> Value {
        self.world.json(["task", "show", &task(agent)])["claim"]["session_id"].clone()
    }

    fn approvals(&self) -> Vec<Value> {
        self.world.json(["approvals", "list"]).as_array().unwrap().clone()
    }

    fn peek(&self, session: &str) -> String {
        self.world.run(["session", "peek", session, "--lines", "0"]).exits(0).stdout
    }

    /// Waits for a fact about a session, and until it is idle.
    #[track_caller]
    fn comes(&self, session: &str, what: impl Fn() -> bool) {
        let is_over = || (what() && self.world.session(session)["activity"] == "idle").then_some(());
        let found = poll_until(EVENTUALLY_TIMEOUT, Duration::from_millis(50), is_over);
        assert!(found.is_some(), "{session}: {:?} {}", self.approvals(), self.peek(session));
    }

    /// Answers the only request that waits by its form on the page, as a browser sends it.
    fn answer_on_the_page(&self) {
        let asked = eventually("the request", || self.approvals().first().cloned());
        let (server, client) = page_client::open(&self.world, &[]);
        let (item, allow) =
            (format!("approval:{}", asked["id"]), format!("fairway approvals answer {} allow", asked["id"]));
        let page = client.get("/").body;
        assert!(page.contains(&allow) && page.contains("claim"), "{page}");
        let done = client.act(&[("item", &item), ("command", &allow)]);
        assert_eq!((done.status, &done.json()["line"]), (200, &json!("allowed Bash of codex")), "{}", done.body);
        drop(server);
    }
}

fn task(agent: Structured) -> String {
    format!("T-{}", agent.provider())
}

/// The work: a commit of one file, which is submitted.
fn work(agent: Structured) -> String {
    let who = "GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b";
    let name = agent.provider();
    let commit = format!("touch {name}; git add {name}; git commit -q -m 'work of {name}'");
    format!("export {who}; {commit}; {FAIRWAY} task submit {}", task(agent))
}

#[test]
fn five_agents_claim_ask_are_denied_die_go_on_and_land() {
    let Some(day) = Day::begin() else { return };
    let world = &day.world;
    // Claims: an agent's own commands need no person, where the agent asks for them alone.
    let launches: Vec<Child> = Structured::ALL.map(|agent| day.launch(agent)).into();
    for mut launch in launches {
        assert!(launch.wait().unwrap().success());
    }
    day.answer_on_the_page();
    for agent in Structured::ALL {
        day.comes(agent.provider(), || day.claimant(agent) == agent.provider());
    }
    // A rule denies without a person.
    world.run(["prompt", "opencode", &format!("do {}", Structured::OpenCode.to_run("touch forbidden"))]).exits(0);
    day.comes("opencode", || day.peek("opencode").contains("[denied: no-canary: as a rule]"));
    assert_eq!(day.approvals(), [] as [Value; 0]);
    // One dies with all its processes, and goes on under its claim with its conversation.
    world.kill(DIES.provider());
    world.run(["session", "reconcile"]).exits(0);
    let next = world.json(["session", "relaunch", DIES.provider()]);
    assert_eq!(next["continued"], json!([task(DIES)]), "{next}");
    let relaunched = text(&next["id"]);
    // All work at once, and a person allows all of it at once.
    let session = |agent: Structured| if agent == DIES { relaunched.as_str() } else { agent.provider() };
    for agent in Structured::ALL {
        world.run(["prompt", session(agent), &format!("now {}", agent.to_run(&work(agent)))]).exits(0);
    }
    let asked = eventually("five requests", || Some(day.approvals()).filter(|asked| asked.len() == 5));
    let ids: Vec<String> = asked.iter().map(|one| one["id"].to_string()).collect();
    world.run(["approvals", "answer"].into_iter().chain(ids.iter().map(String::as_str)).chain(["allow"])).exits(0);
    for agent in Structured::ALL {
        day.comes(session(agent), || status(world, &task(agent)) == "review");
    }
    let words = day.models.requests().into_iter().find(|one| one.has_new(&format!("touch {}", DIES.provider())));
    assert!(words.unwrap().count(&format!("claim {}", task(DIES))) > 0, "it has forgotten its conversation");
    // What they have made lands.
    for agent in Structured::ALL {
        world.run(["session", "stop", session(agent)]).exits(0);
    }
    let landed = world.json(["land", "--all"]);
    for agent in Structured::ALL {
        assert_eq!(status(world, &task(agent)), "done", "{landed}");
        assert!(world.root().join(agent.provider()).is_file(), "{landed}");
    }
    // Each tool call was decided once, and the only denial is the rule's.
    let decisions = world.rows("SELECT context, allowed FROM guard_decisions ORDER BY id");
    let mut calls: Vec<String> = decisions
        .iter()
        .map(|row| serde_json::from_str::<Value>(&row["context"]).unwrap()["call_id"].to_string())
        .collect();
    calls.sort();
    calls.dedup();
    assert_eq!(calls.len(), decisions.len());
    assert_eq!(decisions.iter().filter(|row| row["allowed"] == "0").count(), 1);
    // Five claims, five commits, and one that was denied.
    assert_eq!(decisions.len(), 11, "{decisions:?}");
}
