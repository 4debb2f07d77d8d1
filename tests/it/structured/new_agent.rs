//! The guide's section for a new agent is all that a new agent needs.

use std::{fs, path::Path};

use crate::sessions::{Sessions, eventually};

#[test]
fn section_of_the_guide_is_enough_for_an_agent_that_no_profile_knows() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/integration/agents.md");
    let guide = fs::read_to_string(guide).unwrap();
    let section = guide.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert!(section.lines().count() <= 15, "{section}");
    assert!(section.contains("[providers.mine.acp]") && section.contains("\"my-agent\""), "{section}");
    let world = Sessions::new();
    let agent = super::agent().display().to_string();
    world.configure(&section.replace("\"my-agent\", \"--acp\"", &format!("{agent:?}")));
    world.run(["trust"]).exits(0);
    world.run(["doctor", "agents", "mine"]).exits(0);
    world.launch(&["--role", "dev", "--structured", "--provider", "mine", "--id", "s", "--prompt", "hello"]);
    eventually("its answer", || {
        world.run(["session", "peek", "s"]).exits(0).stdout.contains("did: hello").then_some(())
    });
    assert_eq!(world.json(["session", "show", "s"])["protocol"]["guarded"], true);
}
