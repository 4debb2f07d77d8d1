//! The real command lines in sandboxes, with their default settings, in terminals and without one, in a project that `setup` made:
//! each claims a task in its lane, builds, commits, adds evidence and submits, and its work is landed.

use std::process::Command;
use std::time::Duration;
use std::{env, fs};

use fairway_core::os::poll_until::poll_until;
use serde_json::json;

use crate::common::agent_programs::Agent;
use crate::common::mock_models::{ESCALATED, MockModels};
use crate::common::require;
use crate::common::test_project::FAIRWAY;
use crate::sessions::{EVENTUALLY_TIMEOUT, Sessions, eventually, text};

/// An agent in the lane of its name.
struct Inmate {
    task: &'static str,
    lane: &'static str,
    provider: &'static str,
    is_structured: bool,
}

const INMATES: [Inmate; 4] = [
    Inmate { task: "T-1", lane: "a", provider: "claude", is_structured: false },
    Inmate { task: "T-2", lane: "b", provider: "codex", is_structured: false },
    Inmate { task: "T-3", lane: "c", provider: "claude", is_structured: true },
    Inmate { task: "T-4", lane: "d", provider: "codex", is_structured: true },
];

impl Inmate {
    /// What its model has it do.
    fn work(&self) -> String {
        let (task, lane) = (self.task, self.lane);
        // Codex keeps its own sandbox over the protocol, and asks to run outside of it what cannot start there.
        let mark = if self.is_structured && self.provider == "codex" { ESCALATED } else { "" };
        format!(
            "{FAIRWAY} claim {task} && printf 'int main(void) {{ return 0; }}\\n' >{lane}.c && cc -o /tmp/{lane} {lane}.c && \
             /tmp/{lane} && git add {lane}.c && git commit -q -m {lane} && \
             {FAIRWAY} evidence add {task} --result pass --summary built && {FAIRWAY} task submit {task}{mark}"
        )
    }
}

/// The programs of both agents, and of the one for the protocol; `None` where one is not installed.
fn programs() -> Option<std::ffi::OsString> {
    let claude = Agent::Claude.program()?;
    Agent::Codex.program()?;
    let terminals = claude.parent()?.to_path_buf();
    let structured = terminals.join("../../../npm-acp/node_modules/.bin").canonicalize().ok();
    let structured =
        structured.filter(|dir| ["claude-agent-acp", "codex-acp"].iter().all(|program| dir.join(program).is_file()));
    if !require::met(structured.is_some(), "claude-agent-acp or codex-acp is not installed; tests/run.sh installs them")
    {
        return None;
    }
    let path = env::var_os("PATH")?;
    env::join_paths([terminals].into_iter().chain(structured).chain(env::split_paths(&path))).ok()
}

#[test]
fn real_agents_do_their_work_in_sandboxes_and_it_is_landed() {
    if !require::sandbox() {
        return;
    }
    let Some(path) = programs() else { return };
    let (models, mut world) = (MockModels::start(), Sessions::with_git());
    world.set("PATH", path);
    let root = world.root();
    world.git(&root, &["config", "user.name", "Ann"]);
    world.git(&root, &["config", "user.email", "ann@example.invalid"]);
    // The address of the mock models is all that is configured of the sandbox.
    let models_at = models.address().trim_start_matches("http://");
    let mut sections = format!("[sandbox]\nhosts = [\"{models_at}\"]\n");
    for agent in [Agent::Claude, Agent::Codex] {
        let mut vars = agent.configure(&world, &models);
        vars.extend((agent == Agent::Claude).then(|| ("IS_SANDBOX", "1".to_owned())));
        let vars: String = vars.iter().map(|(name, value)| format!("{name} = {value:?}\n")).collect();
        let words = [vec![agent.name().to_owned()], agent.unattended_args()].concat().join(" ");
        let name = agent.name();
        sections += &format!(
            "[providers.{name}]\ncommand = {words:?}\n[providers.{name}.env]\nTERM = \"xterm-256color\"\n{vars}"
        );
    }
    world.run(["setup", "--yes"]).exits(0);
    let of_setup = fs::read_to_string(root.join(".fairway.toml")).unwrap();
    assert!(of_setup.contains("effect = \"force-push\""), "{of_setup}");
    world.configure(&format!("{of_setup}{sections}"));
    world.git(&root, &["add", "--all"]);
    world.git(&root, &["commit", "--quiet", "--message=settings"]);
    world.run(["trust"]).exits(0);
    let mut sockets = Vec::new();
    for one in &INMATES {
        world.run(["lane", "add", one.lane, "--create-worktree"]).exits(0);
        world.run(["task", "add", "--id", one.task, "build it", "--lane", one.lane]).exits(0);
        let prompt = format!("do RUN[[{}]]", one.work());
        let way: &[&str] = if one.is_structured { &["--structured"] } else { &["--backend", "tmux"] };
        let words = [
            "--id", one.lane, "--role", "dev", "--lane", one.lane, "--provider", one.provider, "--sandbox", "namespace",
        ];
        let launched = world.launch(&[&words, way, &["--prompt", &prompt]].concat());
        let is_off = launched["notes"].to_string().contains("the own sandbox of codex is off");
        assert_eq!(is_off, one.provider == "codex" && !one.is_structured, "{launched}");
        sockets.push(text(&launched["socket"]));
    }
    let screen = |one: &Inmate| world.run(["session", "peek", one.lane, "--lines", "0"]).stdout;
    for one in &INMATES {
        let is_submitted = || {
            // The structured one asks, as its mode has it.
            for asked in world.json(["approvals", "list"]).as_array().unwrap() {
                world.run(["approvals", "answer", &asked["id"].to_string(), "allow"]);
            }
            (world.json(["task", "show", one.task])["status"] == "review").then_some(())
        };
        let done = poll_until(EVENTUALLY_TIMEOUT, Duration::from_millis(100), is_submitted);
        assert!(done.is_some(), "{}: {}\n{:#?}", one.lane, screen(one), models.requests().last());
    }
    for one in &INMATES {
        let shown = world.json(["session", "show", one.lane]);
        assert_eq!(shown["sandbox"], "namespace", "{shown}");
        world.run(["session", "stop", one.lane]).exits(0);
        // What was committed is taken over although the session was ended by a signal.
        let own = root.join(".fairway/sandbox").join(one.lane);
        eventually("its sandbox is closed", || (own.is_dir() && !own.join("start").exists()).then_some(()));
        world.run(["land", one.task]).exits(0);
        let evidence = world.json(["evidence", "list", one.task]);
        assert_eq!(evidence[0]["summary"], json!("built"), "{evidence}");
    }
    let log = world.git(&root, &["log", "--format=%an %s", "main"]);
    for one in &INMATES {
        assert!(log.lines().any(|line| line == format!("Ann {}", one.lane)), "{log}");
    }
    // The program outside reads nothing of what a program inside writes into its settings.
    let (home, canary) = (world.dir().join("home"), world.dir().join("canary"));
    let settings = json!({ "mcpServers": { "x": { "command": "/usr/bin/touch", "args": [canary] } } }).to_string();
    world.run(["lane", "add", "z", "--create-worktree"]).exits(0);
    let plant = format!("mkdir -p ~/.claude && printf '%s' '{settings}' | tee ~/.claude/.mcp.json >~/.claude.json");
    world.run(["sandbox", "run", "--lane", "z", "--provider", "claude", "--", "sh", "-c", &plant]).exits(0);
    let list = || {
        let mut claude = Command::new(Agent::Claude.program().unwrap());
        claude.args(["mcp", "list"]).env("HOME", &home).env_remove("CLAUDE_CONFIG_DIR").current_dir(&home);
        claude.env("DISABLE_AUTOUPDATER", "1").output().unwrap()
    };
    assert!(list().status.success() && !canary.exists());
    fs::write(home.join(".claude.json"), settings).unwrap();
    list();
    assert!(canary.exists(), "the control fails: it does not read its settings");
    for socket in sockets.iter().filter(|socket| !socket.is_empty()) {
        let _ = Command::new("tmux").args(["-S", socket, "kill-server"]).output();
    }
}
