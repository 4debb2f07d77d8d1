//! One agent is one session, also when it begins a second conversation; an agent that it starts is another one.

use serde_json::Value;

use super::{Sessions, eventually, text};
use crate::common::test_project::FAIRWAY;

/// An agent that begins two conversations, and starts an agent of its kind.
const AGENT: &str = r#"#!/bin/sh
begin() {
    printf '{"session_id":"%s","cwd":"/nowhere","hook_event_name":"SessionStart","source":"startup"}' "$1" |
        FAIRWAY hook claude SessionStart
}
if [ -n "$1" ]; then
    begin "$1"
    exit
fi
begin first
begin second
"$0" inner
sleep 600
"#;

#[test]
fn second_conversation_of_an_agents_process_tree_is_the_same_session() {
    let world = Sessions::new();
    let agent = world.script("claude", &AGENT.replace("FAIRWAY", FAIRWAY));
    let flags = ["--role", "dev", "--id", "s", "--provider", "claude", "--no-profile", "--backend", "shell", "--"];
    world.launch(&[&flags[..], &[agent.to_str().unwrap()]].concat());
    let all = eventually("the agent that it starts", || {
        let all = world.json(["session", "list", "--all"]).as_array().unwrap().clone();
        all.iter().any(|one| one["external_session_id"] == "inner").then_some(all)
    });
    let of = |one: &Value| (text(&one["id"]) == "s", text(&one["external_session_id"]));
    let mut conversations: Vec<(bool, String)> = all.iter().map(of).collect();
    conversations.sort();
    assert_eq!(conversations, [(false, "inner".to_owned()), (true, "second".to_owned())], "{all:#?}");
}
