//! A real agent's command line in tmux, on a model that runs in the test.

use std::process::Command;

use serde_json::json;

use super::{Sessions, eventually, text};
use crate::common::agent_programs::Agent;
use crate::common::mock_models::MockModels;

#[test]
fn claude_code_is_launched_prompted_and_nudged() {
    let Some(claude) = Agent::Claude.program() else { return };
    let (model, world) = (MockModels::start(), Sessions::new());
    let vars = Agent::Claude.configure(&world, &model);
    let vars: String = vars.iter().map(|(name, value)| format!("{name} = \"{value}\"\n")).collect();
    world.configure(&format!(
        "[roles.dev]\nprovider = \"claude\"\nbackend = \"tmux\"\n[providers.claude]\ncommand = \"{}\"\n\
         process_names = [\"claude\"]\nprompt = \"nudge\"\nready_prompt_prefix = \"❯\"\n[providers.claude.env]\nTERM = \"xterm-256color\"\n{vars}",
        claude.display()
    ));
    world.run(["trust"]).exits(0);
    world.run(["hook", "install", "claude"]).exits(0);
    world.run(["task", "add", "T-1", "one"]).exits(0);
    let before = world.queue();

    let prompt =
        format!("Read this, then wait.\n{}\nIt ends with a quote \" and $HOME `id`;", "line of text\n".repeat(60));
    let launch =
        ["session", "launch", "--json", "--role", "dev", "--task-id", "T-1", "--name", "agent", "--prompt-file", "-"];
    let launched = world.run_with_stdin(launch, prompt.as_bytes()).exits(0);
    assert_eq!(launched.stderr, "");
    let session = launched.json();
    assert_eq!((&session["status"], &session["backend"]), (&"running".into(), &"tmux".into()));
    assert!(session["pane"].is_string() && session["socket"].is_string(), "{session}");
    let heard = |number: usize, what: &str| {
        eventually("the model hears it", || {
            let heard = model.requests();
            let found = heard.iter().position(|heard| heard.has_new(what.trim()));
            found.map(|at| assert!(at + 1 >= number, "{heard:?}"))
        });
    };
    heard(1, &prompt);
    let shows = |what: &str| {
        eventually(what, || {
            world.run(["session", "peek", "agent", "--lines", "0"]).exits(0).stdout.contains(what).then_some(())
        });
    };
    shows(&MockModels::answer(model.requests().len()));
    let nudge = "and now \"this\"; with $HOME and `id`";
    world.run(["session", "nudge", "agent", nudge]).exits(0);
    heard(2, nudge);
    let answer = MockModels::answer(model.requests().len());
    shows(&answer);
    assert_eq!(model.requests().iter().filter(|heard| heard.has_new(nudge)).count(), 1, "{:?}", model.requests());
    assert_eq!(model.requests().iter().filter(|heard| heard.has_new("line of text")).count(), 1);

    world.kill("agent");
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
