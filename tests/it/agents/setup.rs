//! The entries of `fairway setup` hold in the real command lines: a forbidden call is denied, another one runs.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::common::agent_programs::Agent;
use crate::common::mock_models::MockModels;
use crate::sessions::Sessions;

fn setup_guards(agent: Agent, switch: Option<(&str, Value)>) {
    let Some(program) = agent.program() else { return };
    let (models, mut world) = (MockModels::start(), Sessions::with_git());
    let vars = agent.configure(&world, &models);
    let path = std::env::var_os("PATH").unwrap();
    let dirs = std::iter::once(program.parent().unwrap().to_owned()).chain(std::env::split_paths(&path));
    world.set("PATH", std::env::join_paths(dirs).unwrap());
    let done = world.json(["setup", "--yes", "--provider", agent.name()]);
    let findings = done["doctor"]["findings"].as_array().unwrap();
    let says = |code: &str| findings.iter().any(|one| one["code"] == code);
    // Codex skips the hooks until a person trusts them there; the run below trusts them by its arguments.
    let is_skipped = agent == Agent::Codex;
    assert_eq!((says("blocking"), says("untrusted")), (!is_skipped, is_skipped), "{done:#}");
    world.run(["session", "upsert", "--id", "s", "--role", "dev", "--provider", agent.name()]).exits(0);
    let is_denied = |allowed: &str| {
        let mut command = world.command(&program);
        let prompt = format!("do RUN[[rm -rf /etc/fairway-no-such-file]] then RUN[[touch {allowed}]]");
        command.args(agent.headless_args(&prompt)).envs(vars.clone()).env("FAIRWAY_SESSION_ID", "s");
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(world.root().join(allowed).exists(), "{output:?}");
        let denied = world.rows("SELECT rule FROM guard_decisions WHERE allowed = 0");
        denied.iter().map(|row| row["rule"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(is_denied("allowed"), ["no-rm-outside"]);
    let heard = models.requests();
    assert!(heard.iter().any(|heard| heard.has_new("not yours to remove")), "{heard:#?}");
    if let Some((file, switch)) = switch {
        // Another file turns the hooks off, and `doctor` says so: no second call is denied.
        let file = world.dir().join("home").join(file);
        let mut settings: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap_or("{}".to_owned())).unwrap();
        settings.as_object_mut().unwrap().extend(switch.as_object().unwrap().clone());
        fs::write(&file, settings.to_string()).unwrap();
        let told = world.run(["doctor", "hooks", agent.name()]);
        assert!(told.stdout.contains(&format!("{} sets ", file.display())), "{told:?}");
        assert_eq!(is_denied("unguarded").len(), 1);
    }
    world.run(["setup", "--undo", "--yes"]).exits(0);
}

#[test]
fn setup_guards_claude_code() {
    setup_guards(Agent::Claude, Some((".claude/settings.json", json!({ "disableAllHooks": true }))));
}

#[test]
fn setup_guards_codex() {
    setup_guards(Agent::Codex, None);
}

#[test]
fn setup_guards_gemini_cli() {
    setup_guards(Agent::Gemini, Some((".gemini/settings.json", json!({ "hooksConfig": { "enabled": false } }))));
}
