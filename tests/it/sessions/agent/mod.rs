//! A real agent's command line in tmux, on a model that runs in the test.

mod model;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use fairway::os::process::Presence;
use nix::sys::signal::Signal;
use serde_json::json;

use self::model::Model;
use super::{Sessions, eventually, marked, text};

/// The agent's program, which `tests/agents.sh` installs. Where it is not, the test says so and passes; under CI it must be
/// there wherever npm is.
fn claude() -> Option<PathBuf> {
    let home = env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or(home)?;
    let program = cache.join("fairway-tests/npm/node_modules/.bin/claude");
    if program.is_file() {
        return Some(program);
    }
    let npm = Command::new("npm").arg("--version").output().is_ok();
    assert!(!npm || env::var_os("CI").is_none(), "{} is missing; tests/run.sh installs it", program.display());
    println!(
        "skipped: Claude Code is not installed{}",
        if npm { "; tests/agents.sh does it" } else { ", and there is no npm" }
    );
    None
}

/// Its first questions are answered before it asks.
fn settle_in(world: &Sessions, key: &str) {
    let root = world.root().canonicalize().unwrap().display().to_string();
    let answers = json!({
        "hasCompletedOnboarding": true,
        "customApiKeyResponses": { "approved": [&key[key.len() - 20..]], "rejected": [] },
        "projects": { root: { "hasTrustDialogAccepted": true } },
    });
    fs::write(world.dir().join("home/.claude.json"), answers.to_string()).unwrap();
}

#[test]
fn claude_code_is_launched_prompted_nudged_and_its_death_is_found() {
    let Some(claude) = claude() else { return };
    let (model, key) = (Model::start(), "mock-key-000000000000000000000000");
    let world = Sessions::new();
    settle_in(&world, key);
    world.configure(&format!(
        "[roles.dev]\nprovider = \"claude\"\nbackend = \"tmux\"\n[providers.claude]\ncommand = \"{}\"\n\
         process_names = [\"claude\"]\nready_prompt_prefix = \"❯\"\n[providers.claude.env]\nTERM = \"xterm-256color\"\n\
         ANTHROPIC_BASE_URL = \"{}\"\nANTHROPIC_API_KEY = \"{key}\"\nDISABLE_AUTOUPDATER = \"1\"\n\
         CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = \"1\"\n",
        claude.display(),
        model.address()
    ));
    world.run(["trust"]).exits(0);
    world.run(["task", "add", "T-1", "one"]).exits(0);
    let before = world.queue();

    let prompt =
        format!("Read this, then wait.\n{}\nIt ends with a quote \" and $HOME `id`;", "line of text\n".repeat(60));
    let launch =
        ["session", "launch", "--json", "--role", "dev", "--task-id", "T-1", "--name", "agent", "--prompt-file", "-"];
    let launched = world.run_with(launch, prompt.as_bytes()).exits(0);
    assert_eq!(launched.stderr, "");
    let session = launched.json();
    assert_eq!((&session["status"], &session["backend"]), (&"running".into(), &"tmux".into()));
    assert!(session["pane"].is_string() && session["socket"].is_string(), "{session}");
    let heard = |number: usize, what: &str| {
        eventually("the model hears it", || {
            let heard = model.heard();
            let found = heard.iter().position(|text| text.contains(what.trim()));
            found.map(|at| assert!(at + 1 >= number, "{heard:?}"))
        });
    };
    heard(1, &prompt);
    let shows = |what: &str| {
        eventually(what, || {
            world.run(["session", "peek", "agent", "--lines", "0"]).exits(0).stdout.contains(what).then_some(())
        });
    };
    shows(&Model::answer(model.heard().len()));
    let nudge = "and now \"this\"; with $HOME and `id`";
    world.run(["session", "nudge", "agent", nudge]).exits(0);
    heard(2, nudge);
    let answer = Model::answer(model.heard().len());
    shows(&answer);
    assert_eq!(model.heard().iter().filter(|text| text.contains(nudge)).count(), 1, "{:?}", model.heard());
    assert_eq!(model.heard().iter().filter(|text| text.contains("line of text")).count(), 1);

    // Everything of it at once, so that nobody is left to record its end.
    let run = text(&session["run_id"]);
    for key in marked(&run).unwrap() {
        key.signal(Signal::SIGKILL).unwrap();
    }
    eventually("it is gone", || {
        marked(&run).unwrap().iter().all(|key| matches!(key.presence(), Presence::Gone(_))).then_some(())
    });
    assert_eq!(world.session("agent")["status"], "running");
    let report = world.json(["session", "reconcile"]);
    assert_eq!(report["stale"][0]["session_id"], "agent", "{report}");
    assert_eq!(report["unattended"], json!([]));
    assert_eq!(world.session("agent")["status"], "stale");
    assert_eq!(world.queue(), before);
    // Its transcript is kept, and found.
    let kept = world.run(["session", "peek", "agent", "--lines", "0"]).exits(0).stdout;
    assert!(kept.contains("the mock has heard text"), "{kept}");
    world.run(["session", "stop", "agent"]).exits(0);
    let socket = text(&session["socket"]);
    let _ = Command::new("tmux").args(["-S", &socket, "kill-server"]).output();
}
