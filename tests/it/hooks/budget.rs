//! Budgets: a session is told of one that is nearly used, and paused at the end of its turn when all is used.

use std::fs;

use serde_json::{Value, json};

use super::turn_end::{needs, working};
use super::{denied, event, silent};
use crate::common::TestProject;

#[test]
fn session_is_told_at_four_fifths_and_paused_at_the_end_of_its_turn_until_a_person_raises_the_budget() {
    for guard in ["[guard]\ndefault = \"allow\"\n", ""] {
        let world = TestProject::new();
        let config = format!("[budgets]\ntask = \"100 tokens\"\n[gates.done]\nrequire = [\"evidence\"]\n{guard}");
        fs::write(world.root().join(".fairway/local.toml"), config).unwrap();
        world.run(["trust", "--yes"]).exits(0);
        let record = world.dir().join("record.jsonl");
        fs::write(&record, "").unwrap();
        let id = working(&world, "claude");
        let says = |name: &str, more: Value| {
            let mut payload = event(name, "a", more);
            payload["transcript_path"] = record.to_str().unwrap().into();
            world.hook("claude", &payload).exits(0)
        };
        let uses = |key: &str, tokens: u32| {
            let usage = json!({ "input_tokens": tokens, "output_tokens": 0 });
            let message = json!({ "id": key, "model": "m", "role": "assistant", "content": [], "usage": usage });
            let line = json!({ "type": "assistant", "timestamp": "2026-01-01T00:00:00.000Z", "requestId": key, "message": message });
            let text = fs::read_to_string(&record).unwrap();
            fs::write(&record, format!("{text}{line}\n")).unwrap();
        };
        let tool = || says("PreToolUse", json!({ "tool_name": "Bash", "tool_input": { "command": "ls" } }));
        let budget = || needs(&world).into_iter().find(|need| need["kind"] == "budget");
        says("Stop", json!({}));
        uses("one", 79);
        silent(&says("Stop", json!({})));
        assert_eq!(budget(), None);
        // It is told once, and the item says what is used.
        uses("two", 6);
        let told = says("Stop", json!({})).stdout;
        assert!(
            told.contains("T-1 has used 85 tokens of 100 tokens. When all of it is used, you are paused"),
            "{told}"
        );
        silent(&says("Stop", json!({})));
        let item = budget().unwrap();
        assert_eq!((&item["line"], &item["session_id"]), (&json!("T-1 has used 85 tokens of 100 tokens"), &json!(id)));
        // A turn that is running goes on to its end.
        says("UserPromptSubmit", json!({ "prompt": "go on" }));
        uses("three", 30);
        assert!(!tool().stdout.contains("deny"));
        silent(&says("Stop", json!({})));
        let session = world.session();
        assert_eq!(session["parked"], json!({ "until": null, "kind": "budget", "why": "budget of T-1" }));
        assert_eq!(
            (&session["turn_end"]["meaning"], &session["holds"][0]["task_id"]),
            (&json!("waits"), &json!("T-1"))
        );
        let items = needs(&world);
        assert_eq!((items.len(), &items[0]["id"]), (1, &json!("budget:task:T-1")), "{items:#?}");
        assert_eq!(items[0]["line"], format!("{id} is paused: T-1 has used 115 tokens of 100 tokens"));
        let raise = "fairway budget raise T-1 '230 tokens' --reason TEXT";
        assert_eq!(items[0]["commands"][0]["command"], raise);
        assert!(world.run(["session", "list"]).exits(0).stdout.contains("paused (budget of T-1)"));
        for own in [&["--session", &id, "prime"][..], &["session", "show", &id]] {
            let shown = world.run(own).exits(0).stdout;
            assert!(shown.contains("paused (budget of T-1)"), "{shown}");
        }
        // Prompts wait, a turn of its own ends nothing, and its tools are denied.
        assert_eq!(world.json(["prompt", &id, "hurry"])["reason"], "session_parked");
        silent(&says("UserPromptSubmit", json!({ "prompt": "go on" })));
        let why = denied("claude", &tool());
        assert!(why.contains(&format!("the session {id} is paused (budget of T-1)")), "{why}");
        silent(&says("Stop", json!({})));
        let refused = world.run(["session", "unpark", &id]).exits(4).stderr;
        assert!(refused.contains(&format!("hint: raise it: {raise}")), "{refused}");
        world.run(["--session", &id, "budget", "raise", "T-1", "1k tokens", "--reason", "more"]).exits(5);
        world.run(["budget", "raise", "T-1", "115 tokens", "--reason", "more"]).exits(2);
        // The raise ends the pause, and the next turn has what waited.
        world.run(["budget", "raise", "T-1", "1k tokens", "--reason", "nearly done"]).exits(0);
        assert_eq!((&world.session()["parked"], budget()), (&Value::Null, None));
        let turn = says("UserPromptSubmit", json!({ "prompt": "go on" })).stdout;
        assert!(turn.contains("the budget was raised to 1000 tokens") && turn.contains("hurry"), "{turn}");
        assert!(!tool().stdout.contains("deny"));
    }
}
