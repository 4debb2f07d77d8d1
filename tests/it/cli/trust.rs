//! `fairway trust`.

use std::fs;

use serde_json::{Value, json};

use crate::common::TestProject;
use crate::common::terminal::at_terminal;
use crate::common::test_project::CommandOutput;

const NAMES_A_PROGRAM: &str = "[providers.p]\ncommand = \"p\"\n";

fn trust_events(world: &TestProject) -> Vec<Value> {
    let events = world.run(["events", "--kind", "config.trusted", "--json"]).exits(0);
    events.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn person_at_a_terminal_is_asked() {
    let world = TestProject::new();
    fs::write(world.root().join(".fairway.toml"), NAMES_A_PROGRAM).unwrap();
    for answer in ["n\n", "\n", "maybe\n", "\u{4}"] {
        let run = at_terminal(world.fairway(["trust"]), &[("Trust this? [y/N]", answer)]);
        assert_eq!(run.code, Some(5), "{run:?}");
        assert!(run.screen.contains("providers.p.command") && run.screen.contains("not confirmed"), "{run:?}");
        assert_eq!(world.json(["config", "check"])["trust"], "untrusted");
    }
    assert_eq!(trust_events(&world), [] as [Value; 0]);
    let run = at_terminal(world.fairway(["trust"]), &[("Trust this? [y/N]", "y\n")]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(world.json(["config", "check"])["trust"], "trusted");
    let events = trust_events(&world);
    assert_eq!((events.len(), &events[0]["data"]["files"]), (1, &json!(".fairway.toml")), "{events:?}");
    // Nothing to ask.
    assert_eq!(at_terminal(world.fairway(["trust"]), &[]).code, Some(0));
    fs::write(world.root().join(".fairway.toml"), format!("{NAMES_A_PROGRAM}# more\n")).unwrap();
    assert_eq!(at_terminal(world.fairway(["trust", "--yes"]), &[]).code, Some(0));
    assert_eq!(trust_events(&world).len(), 2);
}

#[test]
fn restore_asks_a_person_at_a_terminal() {
    let world = TestProject::new();
    world.run(["backup", "../kept.db"]).exits(0);
    world.run(["task", "add", "T-1", "one"]).exits(0);
    let run = at_terminal(world.fairway(["restore", "../kept.db"]), &[("kept.db? [y/N]", "n\n")]);
    assert_eq!(run.code, Some(5), "{run:?}");
    world.run(["task", "show", "T-1"]).exits(0);
    let run = at_terminal(world.fairway(["restore", "../kept.db"]), &[("kept.db? [y/N]", "yes\n")]);
    assert_eq!(run.code, Some(0), "{run:?}");
    world.run(["task", "show", "T-1"]).exits(3);
    assert_eq!(at_terminal(world.fairway(["restore", "--yes", "../kept.db"]), &[]).code, Some(0));
    world.run(["restore", "../kept.db"]).exits(0);
}

/// The commands that are a person's, with arguments that would work.
const PERSONS: &[&[&str]] = &[
    &["trust"],
    &["trust", "--yes"],
    &["restore", "../kept.db"],
    &["restore", "../kept.db", "--yes"],
    &["hook", "install", "claude"],
    &["hook", "uninstall", "claude", "--user"],
    &["config", "edit"],
    &["release", "--dead"],
    &["approvals", "answer", "1", "allow"],
];

#[test]
fn persons_commands_are_refused_by_the_variables_of_a_session() {
    let world = TestProject::new();
    world.add_session("s1");
    world.add_session("s2");
    crate::common::fixtures::add_approval(&world, "s2", "Bash", true);
    world.run(["backup", "../kept.db"]).exits(0);
    for words in PERSONS {
        for (name, value) in [("FAIRWAY_SESSION_ID", "s1"), ("FAIRWAY_RUN_ID", "run-s1")] {
            let mut command = world.fairway(words.iter().chain(&["--json"]));
            CommandOutput::from(command.env(name, value).output().unwrap()).refuses(5, "inside_session");
        }
    }
    // To look is allowed.
    for words in [
        &["trust", "--show"][..],
        &["hook", "install", "claude", "--dry-run"],
        &["config", "check"],
        &["config", "show"],
    ] {
        let mut command = world.fairway(words);
        CommandOutput::from(command.env("FAIRWAY_SESSION_ID", "s1").output().unwrap()).exits(0);
    }
}

#[test]
fn persons_commands_are_refused_below_a_session_that_hides_it() {
    let world = crate::sessions::Sessions::new();
    world.run(["backup", "../kept.db"]).exits(0);
    let mut script = "#!/bin/sh\nunset FAIRWAY_SESSION_ID FAIRWAY_RUN_ID\n".to_owned();
    let bin = crate::common::test_project::FAIRWAY;
    for (at, words) in PERSONS.iter().enumerate().filter(|(_, words)| words[0] != "approvals") {
        script.push_str(&format!(
            "{bin} {} --json 2>../said-{at}.tmp; mv ../said-{at}.tmp ../said-{at}\n",
            words.join(" ")
        ));
    }
    script.push_str("sleep 60\n");
    let agent = world.script("agent.sh", &script);
    world.launch(&["--id", "s1", "--role", "r", "--", agent.to_str().unwrap()]);
    for (at, words) in PERSONS.iter().enumerate().filter(|(_, words)| words[0] != "approvals") {
        let said = crate::sessions::eventually("the answer", || {
            fs::read_to_string(world.dir().join(format!("said-{at}"))).ok()
        });
        assert!(said.contains("inside_session"), "{words:?}: {said}");
    }
    // A job of the session is a part of it, whatever its environment says.
    let told = world.dir().join("told");
    let line = format!("env -u FAIRWAY_SESSION_ID -u FAIRWAY_RUN_ID {bin} trust --json 2>{}", told.display());
    world.run(["--session", "s1", "exec", "spawn", "--shell", &line]);
    let said =
        crate::sessions::eventually("the answer", || fs::read_to_string(&told).ok().filter(|text| !text.is_empty()));
    assert!(said.contains("inside_session"), "{said}");
    world.run(["session", "stop", "s1"]).exits(0);
}

#[test]
fn trust_says_what_it_covers() {
    let world = TestProject::new();
    let mut shown = world.transcript(&["fairway trust --show"]);
    let config = world.root().join(".fairway.toml");
    fs::write(config, "[providers.p]\ncommand = \"p --fast\"\nenv = { P_TOKEN = \"x\", P_MODE = \"y\" }\n").unwrap();
    shown.push_str(&world.transcript(&[
        "fairway trust --show",
        "fairway session launch --role r --provider p",
        "fairway trust",
        "fairway trust --show --json",
    ]));
    insta::assert_snapshot!(shown, @r#"
    $ fairway trust --show
    [world]/project names no programs; no trust is needed
    $ fairway trust --show
    not trusted: [world]/project/.fairway.toml has changed since it was trusted
    providers.p.command             p --fast
    providers.p.env.P_MODE          y
    providers.p.env.P_TOKEN         •••
    $ fairway session launch --role r --provider p
    error: [world]/project/.fairway.toml has changed since it was trusted
    hint: a person looks at it, then runs: fairway trust
    [exit 9]
    $ fairway trust
    trusted [world]/project: .fairway.toml
    $ fairway trust --show --json
    {"root":"[world]/project","trust":"trusted","why":null,"files":{"[world]/project/.fairway.toml":"69e77fc4744a4c2213c7b3fdf648dc351aafa2c48060ce2c880ef24ed3ee4492"},"scripts":{},"names":[{"key":"providers.p.command","value":"p --fast"},{"key":"providers.p.env.P_MODE","value":"y"},{"key":"providers.p.env.P_TOKEN","value":"•••"}],"session_scripts":[]}
    "#);
}
