//! The start of a structured session: what it is given, what it is shown as, and the ways in which it fails.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::Scene;
use crate::sessions::{eventually, text};

#[test]
fn first_prompt_comes_with_the_context_and_the_conversation_is_the_transcript() {
    let scene = Scene::new();
    let session = scene.launch(&["--role", "dev", "--structured", "--id", "s", "--prompt", "PLAN say hello"]);
    assert_eq!((&session["backend"], &session["first_prompt"]["state"]), (&"acp".into(), &"arrived".into()));
    let conversation = scene.shows("did: PLAN say hello");
    assert_eq!(conversation, "\n> PLAN say hello\nplan:\n  [>] the first step\ndid: PLAN say hello\n");
    let prompts = scene.prompts();
    assert_eq!((prompts.len(), prompts[0].len(), prompts[0][1].as_str()), (1, 2, "PLAN say hello"));
    assert!(prompts[0][0].contains("You are the session s, in the role dev."), "{prompts:?}");
    scene.wait_until_idle();
    let row = scene.session("s");
    assert_eq!((row["external_session_id"].as_str(), row["activity_source"].as_str()), ("conversation-1", "protocol"));
    let transcript = row["transcript"].clone();
    for file in [transcript.clone(), format!("{transcript}.frames")] {
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600, "{file}");
    }
    let frames = fs::read_to_string(format!("{transcript}.frames")).unwrap();
    assert!(frames.contains(" > {") && frames.contains("\"mcpServers\":[]") && frames.contains(" < {"), "{frames}");
    let shown = scene.json(["session", "show", "s"]);
    assert_eq!(shown["protocol"]["agent"], "Fake 1.2 (acp 1)");
    assert_eq!((&shown["protocol"]["mode"], &shown["protocol"]["guarded"]), (&"ask".into(), &true.into()));
    let shown = scene.run(["session", "show", "s"]).exits(0).stdout;
    assert!(
        shown.contains("guard       asks before tools, by its mode ask: proven today by fairway doctor agents\n"),
        "{shown}"
    );
    scene.run(["session", "stop", "s"]).exits(0);
    assert_eq!(scene.session("s")["status"], "ended");
    assert_eq!(scene.peek(), conversation + "[the agent has ended]\n", "also after its end");
}

#[test]
fn provider_may_be_structured_by_its_configuration_and_start_takes_the_flag() {
    let scene = Scene::with("", "[providers.fake]\nmode = \"structured\"\n");
    assert_eq!(scene.launch(&["--role", "dev", "--id", "a"])["backend"], "acp");
    scene.run(["session", "stop", "a"]).exits(0);
    let git = Scene(crate::sessions::Sessions::with_git());
    git.configure(&format!("[providers.fake.acp]\ncommand = [{:?}]\n", super::agent().display().to_string()));
    git.run(["trust"]).exits(0);
    let started = git.json(["start", "Fix the tax", "--structured", "--provider", "fake"]);
    assert_eq!((&started["backend"], &started["provider"]), (&"acp".into(), &"fake".into()), "{started}");
    let id = text(&started["id"]);
    let task = text(&started["task_id"]);
    let prompt = format!(
        "> Your task is {task}. Begin with `fairway prime`: it prints the task, its checks and the next commands."
    );
    eventually("the first prompt", || {
        git.run(["session", "peek", &id]).exits(0).stdout.lines().any(|line| line == prompt).then_some(())
    });
    git.run(["session", "stop", &id]).exits(0);
}

#[test]
fn mode_is_set_and_a_session_without_it_is_shown_or_refused() {
    let scene = Scene::with("auto", "");
    scene.run(["doctor", "agents", "fake"]).exits(0);
    scene.begin();
    assert_eq!(scene.json(["session", "show", "s"])["protocol"]["guarded"], true);
    scene.prompt("MODE[[auto]]");
    let shown = eventually("the changed mode", || {
        let shown = scene.json(["session", "show", "s"])["protocol"].clone();
        (shown["guarded"] == false).then_some(shown)
    });
    assert_eq!(shown["unguarded_reason"], "its mode is 'auto', not 'ask'");
    assert!(scene.shows("[not guarded: its mode is 'auto', not 'ask']").contains("MODE"));
    // An agent that answers rightly, and sends no update.
    let quiet = Scene::with("quiet", "");
    quiet.run(["doctor", "agents", "fake"]).exits(0);
    quiet.begin();
    let shown = quiet.json(["session", "show", "s"])["protocol"].clone();
    assert_eq!((&shown["guarded"], &shown["mode"]), (&true.into(), &"ask".into()), "{shown}");
    for (start, why) in
        [("deaf", "its mode is 'auto', not 'ask'"), ("mute", "the agent does not report its mode; 'ask' was asked for")]
    {
        let scene = Scene::with(start, "");
        let launched = scene.run(["session", "launch", "--role", "dev", "--structured", "--id", "s"]).exits(0);
        assert!(launched.stderr.contains(&format!("s is not guarded: {why}")), "{}", launched.stderr);
        let shown = scene.run(["session", "show", "s"]).exits(0).stdout;
        assert!(shown.contains(&format!("guard       not guarded: {why}\n")), "{shown}");
        let strict = Scene::with(start, "[agents]\nunguarded = \"refuse\"\n");
        let refused = strict.run(["session", "launch", "--role", "dev", "--structured", "--id", "s"]);
        assert!(refused.exits(7).stderr.contains(&format!("it is not guarded: {why}")), "{start}");
        assert_eq!(strict.session("s")["status"], "failed");
    }
}

#[test]
fn start_that_fails_tells_the_agents_reason_and_leaves_nothing() {
    for (start, why) in [
        ("refuse", "it refused initialize: log in first"),
        ("die", "no key for the model"),
        ("old", "it speaks version 2 of the protocol, not 1"),
    ] {
        let scene = Scene::with(start, "");
        let failed = scene.run(["session", "launch", "--role", "dev", "--structured", "--id", "s"]).exits(7);
        assert!(failed.stderr.contains(why), "{start}: {}", failed.stderr);
        assert_eq!(scene.session("s")["status"], "failed");
        assert!(!scene.backend_dir("s").exists());
    }
}

#[test]
fn provider_that_speaks_no_protocol_is_refused_with_a_way_on() {
    let scene = Scene::new();
    let refused = ["session", "launch", "--role", "dev", "--structured", "--provider", "other"];
    insta::assert_snapshot!(scene.run(refused).exits(2).stderr, @r"
    error: the provider other cannot run structured: [providers.other.acp] has no command
    hint: see which agents can, and how one is added: fairway provider list
    ");
    let own = ["--role", "dev", "--structured", "--provider", "other", "--id", "o", "--"];
    let session = scene.launch(&[&own[..], &[super::agent().to_str().unwrap()]].concat());
    assert_eq!((&session["provider"], &session["backend"]), (&"other".into(), &"acp".into()));
    let shown = scene.json(["session", "show", "o"]);
    assert_eq!(shown["protocol"]["unguarded_reason"], "its profile names no mode in which it asks");
}

#[test]
fn provider_list_shows_what_is_there_and_what_was_tried() {
    let scene = Scene::new();
    let all = scene.json(["provider", "list"]);
    let of = |name: &str| all.as_array().unwrap().iter().find(|one| one["name"] == name).cloned().unwrap();
    for name in ["claude", "codex", "copilot", "droid", "gemini", "kilo", "kimi", "opencode", "qwen", "vibe"] {
        let one = of(name);
        assert_eq!(one["source"], "built_in");
        assert!(one["structured"]["proven_with"].is_string() && one["asking_mode"].is_string(), "{one}");
    }
    let fake = of("fake");
    assert_eq!((&fake["source"], &fake["structured"]["installed"]), (&"configured".into(), &true.into()));
    assert_eq!((&fake["structured"]["proven_with"], &fake["terminal"]["installed"]), (&().into(), &false.into()));
    let table = scene.run(["provider", "list"]).exits(0).stdout;
    assert!(table.contains("fake         configured  not installed (untried)"), "{table}");
}
