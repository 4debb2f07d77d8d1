//! `fairway exec …`

use serde_json::{Value, json};

use crate::common::{World, world::Run};

/// One document in.
fn call(world: &World, document: &Value) -> Run {
    world.run_with(["exec", "call"], document.to_string().as_bytes())
}

#[test]
fn a_call_without_an_action_runs_at_once() {
    let world = World::new();
    let ran = |document: Value| call(&world, &document).exits(0).json();
    assert_eq!(
        ran(json!({ "command": "echo one; echo two >&2; echo three" })),
        json!({ "success": true, "output": "one\ntwo\nthree\n", "error": null })
    );
    assert_eq!(
        ran(json!({ "argv": ["sh", "-c", "echo \"$1\"; exit 3", "sh", "a b"] })),
        json!({ "success": false, "output": "a b\n", "error": "exit code 3" })
    );
    std::fs::create_dir(world.root().join("sub")).unwrap();
    assert!(ran(json!({ "command": "pwd", "cwd": "sub" }))["output"].as_str().unwrap().ends_with("/sub\n"));
    assert_eq!(ran(json!({ "command": "kill -9 $$" }))["error"], "ended by signal 9");
    assert!(ran(json!({ "argv": ["no-such"] }))["error"].as_str().unwrap().contains("'no-such' was not found"));
    let late = ran(json!({ "command": "echo begun; sleep 60 & sleep 60", "timeout_secs": 0.3 }));
    assert_eq!(late, json!({ "success": false, "output": "begun\n", "error": "ended after its time of 300ms" }));
    assert!(!ran(json!({ "command": "echo API_KEY=hunter2" }))["output"].as_str().unwrap().contains("hunter2"));
    // Nothing is recorded.
    assert_eq!(world.run(["events", "--quiet"]).exits(0).stdout, "");
}

#[test]
fn a_call_that_cannot_be_meant_is_refused_in_json() {
    let world = World::new();
    for text in
        ["", "x", "[]", "{}", r#"{"action":"spwan"}"#, r#"{"command":"a","argv":["a"]}"#, r#"{"command":"a","x":1}"#]
    {
        world.run_with(["exec", "call"], text.as_bytes()).refuses(2, "usage");
    }
    world.run_with(["exec", "call"], br#"{"command":"a\u0000b"}"#).refuses(2, "usage");
    world.run_with(["exec", "call"], b"\xff").refuses(2, "invalid_value");
    world.run_with(["exec", "call"], &vec![b' '; (1 << 20) + 1]).refuses(2, "invalid_value");
    world.run(["exec", "call", "--file", "no-such", "--json"]).refuses(2, "invalid_value");
    insta::assert_snapshot!(world.transcript(&["fairway exec call --file no-such"]), @r#"
    $ fairway exec call --file no-such
    {"error":{"code":"invalid_value","kind":"usage","message":"the document cannot be read from no-such: No such file or directory (os error 2)","hint":null,"retryable":false,"details":null}}
    [exit 2]
    "#);
}
