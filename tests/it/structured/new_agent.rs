//! The guide's section for a new agent is all that a new agent needs.

use std::fs;
use std::path::Path;

use crate::sessions::{Sessions, eventually};

/// The first block of this language behind `start`.
fn block<'a>(guide: &'a str, start: &str, language: &str) -> &'a str {
    let section = guide.split_once(start).unwrap().1;
    section.split_once(&format!("```{language}\n")).unwrap().1.split_once("```").unwrap().0
}

#[test]
fn section_of_the_guide_is_enough_for_an_agent_that_no_profile_knows() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/integration/agents.md");
    let guide = fs::read_to_string(guide).unwrap();
    let start = "## Add an agent of your own";
    let section = block(&guide, start, "toml");
    assert!(section.lines().count() <= 15, "{section}");
    let world = Sessions::new();
    let agent = super::agent().display().to_string();
    assert!(section.contains("[\"my-agent\", \"--acp\"]"), "{section}");
    world.configure(&section.replace("my-agent", &agent));
    for line in block(&guide, start, "sh no-run").lines() {
        let words = shell_words::split(line).unwrap();
        world.run(&words[1..]).exits(0);
    }
    let peek = || world.run(["session", "peek", "s"]).exits(0).stdout;
    eventually("its answer", || peek().contains("did: hello").then_some(()));
    let shown = world.json(["session", "show", "s"])["protocol"].clone();
    assert_eq!((&shown["guarded"], &shown["mode"]), (&true.into(), &"ask".into()), "{shown}");
    for (command, answer) in [("touch allowed", "allow"), ("touch denied", "deny")] {
        world.json(["prompt", "s", &format!("RUN[[{command}]]")]);
        let asked = eventually("its question", || world.json(["approvals", "list"]).as_array()?.first().cloned());
        assert_eq!(asked["input"]["command"], command, "{asked}");
        world.run(["approvals", "answer", &asked["id"].to_string(), answer]).exits(0);
        eventually("the end of its turn", || (world.session("s")["activity"] == "idle").then_some(()));
    }
    let ran = ["allowed", "denied"].map(|name| world.root().join(name).exists());
    assert_eq!(ran, [true, false], "{}", peek());
}
