//! Both eras of the protocol, on one server and in any order.

use serde_json::{Value, json};

use super::{Answered, Client, at_work};
use crate::common::TestProject;

/// Versions with a handshake.
const HANDSHAKES: &[&str] = &["2025-03-26", "2025-06-18", "2025-11-25"];
const STATELESS: &str = "2026-07-28";
const TOOLS: &[&str] = &["next", "task", "note", "verify", "finish", "ask", "inbox", "run", "overlap"];

fn meta(version: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
    })
}

fn initialize(version: &str) -> Value {
    let client = json!({ "name": "test", "version": "1" });
    json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client })
}

/// The requests of one era: each must be answered under any id.
struct Era {
    name: &'static str,
    meta: Option<Value>,
}

impl Era {
    fn params(&self, fields: Value) -> Value {
        let mut params = fields;
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        params
    }
}

#[track_caller]
fn ask(client: &mut Client, id: &Value, method: &str, params: Value) -> Value {
    client.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    let answer = client.receive();
    assert_eq!(answer["id"], *id, "{answer}");
    assert_eq!(answer["jsonrpc"], "2.0", "{answer}");
    answer
}

/// Everything that a client of an era may ask, with this kind of id.
fn is_answered(client: &mut Client, era: &Era, id: impl Fn(u64) -> Value) {
    let name = era.name;
    if era.meta.is_none() {
        let greeted = ask(client, &id(1), "initialize", initialize(name));
        assert_eq!(greeted["result"]["protocolVersion"], name, "{greeted}");
        assert_eq!(greeted["result"]["serverInfo"]["name"], "fairway", "{greeted}");
        assert!(greeted["result"]["instructions"].as_str().unwrap().len() <= 1_500);
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        assert_eq!(ask(client, &id(2), "ping", json!({}))["result"], json!({}));
    } else {
        let found = ask(client, &id(1), "server/discover", era.params(json!({})));
        assert_eq!(found["result"]["resultType"], "complete", "{found}");
        let versions = found["result"]["supportedVersions"].as_array().unwrap();
        assert!(HANDSHAKES.iter().chain([&STATELESS]).all(|version| versions.contains(&json!(version))), "{found}");
    }
    let listed = ask(client, &id(3), "tools/list", era.params(json!({})));
    let names: Vec<&str> =
        listed["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, TOOLS, "{name}");
    let called = ask(client, &id(4), "tools/call", era.params(json!({ "name": "task", "arguments": {} })));
    assert_eq!(called["result"]["structuredContent"]["task"]["id"], "T-1", "{name}: {called}");
    let refused = json!({ "name": "task", "arguments": { "task": "T-9" } });
    Answered::of(&ask(client, &id(5), "tools/call", era.params(refused))).refuses("not_found");
    for (number, method, params, code) in [
        (6, "tools/call", json!({ "name": "rm", "arguments": {} }), -32602),
        (7, "tools/call", json!({ "name": 7 }), -32602),
        (8, "tools/call", json!({ "arguments": {} }), -32602),
        (9, "no/method", json!({}), -32601),
        (10, "resources/list", json!({}), -32601),
        (11, "prompts/get", json!({ "name": "x" }), -32601),
    ] {
        let answer = ask(client, &id(number), method, era.params(params));
        assert_eq!(answer["error"]["code"], code, "{name} {method}: {answer}");
        assert!(answer["error"]["message"].as_str().is_some_and(|message| !message.is_empty()), "{answer}");
    }
    // Notifications have no answer: the next one is that of the request behind them.
    client.send(&json!({ "jsonrpc": "2.0", "method": "no/notification", "params": { "a": 1 } }));
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": 7 }));
    client.send(&json!({ "jsonrpc": "2.0", "id": "answer", "result": {} }));
    let arguments = json!({ "name": "next", "arguments": { "task": 7 } });
    Answered::of(&ask(client, &id(12), "tools/call", era.params(arguments))).refuses("usage");
}

#[test]
fn every_era_is_answered_on_one_server_with_ids_of_both_kinds() {
    let world = at_work();
    let mut client = Client::of_session(&world, "s1");
    let stateless = Era { name: STATELESS, meta: Some(meta(STATELESS)) };
    let eras: Vec<Era> = HANDSHAKES.iter().map(|name| Era { name, meta: None }).chain([stateless]).collect();
    for era in &eras {
        is_answered(&mut client, era, |number| json!(number));
        is_answered(&mut client, era, |number| json!(format!("request {number}")));
    }
    // And each on a server of its own, whose first message it is.
    for era in &eras {
        let mut client = Client::of_session(&world, "s1");
        is_answered(&mut client, era, |number| json!(number));
        assert!(client.end().success());
    }
}

#[test]
fn unknown_version_is_answered_with_a_known_one() {
    let world = TestProject::new();
    let mut client = Client::start(&world);
    for version in ["2024-11-05", "1999-01-01", "2030-01-01", STATELESS] {
        let greeted = client.request("initialize", initialize(version));
        assert_eq!(greeted["result"]["protocolVersion"], "2025-11-25", "{version}: {greeted}");
    }
    let params = json!({ "_meta": meta("2030-01-01") });
    let refused = client.request("tools/list", params);
    assert_eq!(refused["error"]["code"], -32022, "{refused}");
    // Without any handshake a request is answered as it stands.
    assert_eq!(client.request("tools/list", json!({}))["result"]["tools"].as_array().unwrap().len(), TOOLS.len());
}

#[test]
fn message_that_is_no_request_is_answered_and_ends_nothing() {
    let world = at_work();
    let mut client = Client::of_session(&world, "s1");
    let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
    let long = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{}\"}}", "x".repeat(5 << 20));
    for (line, code) in [
        ("{", -32700),
        ("no json", -32700),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"", -32700),
        ("\u{1}", -32700),
        (&deep, -32700),
        (&long, -32600),
        ("7", -32600),
        ("null", -32600),
        ("\"text\"", -32600),
        ("{}", -32600),
        ("[]", -32600),
        ("{\"id\":1,\"method\":\"tools/list\"}", -32600),
        ("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"tools/list\"}", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"tools/list\"}", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"tools/list\"}", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"tools/list\"}", -32600),
    ] {
        client.write(&format!("{line}\n"));
        let answer = client.receive();
        assert_eq!(answer["error"]["code"], code, "{}: {answer}", line.chars().take(80).collect::<String>());
        let id = if line.contains("\"id\":1,") && code == -32600 && line != long { json!(1) } else { Value::Null };
        assert_eq!(answer.get("id"), Some(&id), "an unknown id is null: {answer}");
    }
    client.write("\n   \n\r\n");
    client.write("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}\r\n");
    assert_eq!(client.receive(), json!({ "jsonrpc": "2.0", "id": 9, "result": {} }));
    assert!(client.call("next", json!({})).succeeds().text.contains("T-1"));
    // Bytes that are no text.
    client.stdin.as_mut().map(|stdin| std::io::Write::write_all(stdin, b"\"\xff\xfe\"\n")).unwrap().unwrap();
    assert_eq!(client.receive()["error"]["code"], -32700);
    assert!(client.end().success());
}

#[test]
fn batch_is_answered_by_one_message_without_its_notifications() {
    let world = at_work();
    let mut client = Client::of_session(&world, "s1");
    let call = |id: Value| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "task" } });
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    client.send(&json!([call(json!(1)), notification, call(json!("b")), 7, call(json!(1))]));
    let answers = client.receive();
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), 4, "{answers:#?}");
    let of = |id: Value| answers.iter().filter(move |answer| answer["id"] == id).collect::<Vec<_>>();
    assert_eq!(of(json!("b"))[0]["result"]["structuredContent"]["task"]["id"], "T-1");
    // The second request with an id that is not answered yet is refused, and the first one is answered.
    assert_eq!(of(json!(1)).len(), 2, "{answers:#?}");
    assert_eq!(of(json!(1)).iter().filter(|answer| answer["error"]["code"] == -32600).count(), 1);
    assert_eq!(of(Value::Null)[0]["error"]["code"], -32600);
    // A batch of notifications has no answer.
    client.send(&json!([notification, notification]));
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
}
