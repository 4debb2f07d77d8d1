//! A real agent's command line in tmux, on a model that runs in the test.

use std::process::Command;

use fairway::os::process::Presence;
use nix::sys::signal::Signal;
use serde_json::json;

use super::{Sessions, eventually, marked, text};
use crate::common::{models::Models, npm::Agent};

#[test]
fn claude_code_is_launched_prompted_and_nudged() {
    let Some(claude) = Agent::Claude.program() else { return };
    let (model, world) = (Models::start(), Sessions::new());
    let vars = Agent::Claude.settle_in(&world, &model);
    let vars: String = vars.iter().map(|(name, value)| format!("{name} = \"{value}\"\n")).collect();
    world.configure(&format!(
        "[roles.dev]\nprovider = \"claude\"\nbackend = \"tmux\"\n[providers.claude]\ncommand = \"{}\"\n\
         process_names = [\"claude\"]\nready_prompt_prefix = \"❯\"\n[providers.claude.env]\nTERM = \"xterm-256color\"\n{vars}",
        claude.display()
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
            let found = heard.iter().position(|heard| heard.tells(what.trim()));
            found.map(|at| assert!(at + 1 >= number, "{heard:?}"))
        });
    };
    heard(1, &prompt);
    let shows = |what: &str| {
        eventually(what, || {
            world.run(["session", "peek", "agent", "--lines", "0"]).exits(0).stdout.contains(what).then_some(())
        });
    };
    shows(&Models::answer(model.heard().len()));
    let nudge = "and now \"this\"; with $HOME and `id`";
    world.run(["session", "nudge", "agent", nudge]).exits(0);
    heard(2, nudge);
    let answer = Models::answer(model.heard().len());
    shows(&answer);
    assert_eq!(model.heard().iter().filter(|heard| heard.tells(nudge)).count(), 1, "{:?}", model.heard());
    assert_eq!(model.heard().iter().filter(|heard| heard.tells("line of text")).count(), 1);

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
