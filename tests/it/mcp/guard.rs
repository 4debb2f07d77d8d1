//! Commands of the tools are judged by the rules for shells.

use std::fs;

use serde_json::json;

use super::{Client, at_work};

const RULES: &str = "[guard]\ndefault = \"allow\"\n[[guard.rules]]\nname = \"no-canary\"\ntools = [\"Bash\"]\n\
     command = [\"touch\", \"denied\"]\naction = \"deny\"\nreason = \"canaries are for people\"\n";

#[test]
fn command_of_run_and_verify_is_denied_as_that_of_a_shell() {
    let world = at_work();
    fs::write(world.root().join(".fairway.toml"), RULES).unwrap();
    world.run(["trust"]).exits(0);
    let mut client = Client::of_session(&world, "s1");
    for (tool, arguments) in [
        ("verify", json!({ "command": ["touch", "denied"] })),
        ("verify", json!({ "command": ["env", "sh", "-c", "touch denied"] })),
        ("run", json!({ "command": "true; touch denied" })),
        ("run", json!({ "argv": ["touch", "denied"] })),
        ("run", json!({ "action": "spawn", "command": "touch denied" })),
        ("run", json!({ "action": "spawn", "argv": ["sh"], "stdin": "touch denied\n" })),
        ("run", json!({ "action": "send_keys", "run_id": "x", "keys": "touch denied\n" })),
    ] {
        let refused = client.call(tool, arguments.clone()).refuses("guard_denied");
        assert!(refused.text.starts_with("error: no-canary: canaries are for people"), "{arguments}: {}", refused.text);
    }
    assert!(!world.root().join("denied").exists());
    client.call("verify", json!({ "command": ["touch", "allowed"] })).succeeds();
    client.call("run", json!({ "command": "touch allowed-too" })).succeeds();
    assert!(world.root().join("allowed").exists() && world.root().join("allowed-too").exists());
    let log = world.json(["guard", "log"]);
    let denied: Vec<_> = log.as_array().unwrap().iter().filter(|one| one["allowed"] == false).collect();
    assert_eq!(denied.len(), 7, "{log}");
    assert!(denied.iter().all(|one| one["tool"] == "Bash" && one["session_id"] == "s1"), "{log}");
}
