//! Every frame that is written to an agent is one of the published schema.

use std::fs;

use fairway_core::acp::outgoing;
use fairway_core::acp::tool_call::PermissionOption;
use serde_json::{Value, json};

use super::Scene;
use crate::common::json_schema::violation;

/// The published definitions of a client's frames.
struct Published(Value);

impl Published {
    fn read() -> Self {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/acp-client-frames.json");
        Self(serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap())
    }

    /// What is wrong with a part of a frame.
    fn violation(&self, name: &str, part: &Value) -> Option<String> {
        let schema = json!({ "$ref": format!("#/$defs/{name}"), "$defs": self.0["$defs"] });
        violation(&schema, part)
    }

    #[track_caller]
    fn check(&self, frame: &Value) -> String {
        assert_eq!(frame["jsonrpc"], "2.0", "{frame}");
        let (kind, wrong) = match (frame["method"].as_str(), frame.get("error")) {
            (Some(method), None) => {
                let name = match method {
                    "initialize" => "InitializeRequest",
                    "session/new" => "NewSessionRequest",
                    "session/load" => "LoadSessionRequest",
                    "session/resume" => "ResumeSessionRequest",
                    "session/set_mode" => "SetSessionModeRequest",
                    "session/set_config_option" => "SetSessionConfigOptionRequest",
                    "session/prompt" => "PromptRequest",
                    "session/cancel" => "CancelNotification",
                    other => panic!("{other} is no method of a client"),
                };
                assert_eq!(frame.get("id").is_some(), method != "session/cancel", "{frame}");
                (method.to_owned(), self.violation(name, &frame["params"]))
            }
            (None, Some(error)) => (format!("error {}", error["code"]), self.violation("Error", error)),
            (None, None) => {
                let outcome = frame["result"]["outcome"]["outcome"].as_str().unwrap_or_default().to_owned();
                (outcome, self.violation("RequestPermissionResponse", &frame["result"]))
            }
            _ => panic!("{frame}"),
        };
        assert_eq!(wrong, None, "{frame}");
        kind
    }
}

#[test]
fn frames_that_are_written_are_those_of_the_published_schema() {
    let published = Published::read();
    let scene = Scene::with("auto", "");
    scene.begin();
    scene.prompt("UNKNOWN RUN[[true]]");
    let asked = scene.asked()["id"].to_string();
    scene.run(["approvals", "answer", &asked, "deny"]).exits(0);
    scene.wait_until_idle();
    scene.prompt("WITHDRAW");
    scene.asked();
    fs::write(scene.root().join("withdraw"), "").unwrap();
    scene.shows("withdrawn: -32800");
    scene.wait_until_idle();
    scene.prompt("RUN[[true]]");
    scene.asked();
    scene.run(["session", "interrupt", "s"]).exits(0);
    scene.wait_until_idle();
    let mut logs = vec![format!("{}.frames", scene.session("s")["transcript"])];
    scene.run(["session", "stop", "s"]).exits(0);
    let next = scene.json(["session", "relaunch", "s"])["id"].as_str().unwrap().to_owned();
    logs.push(format!("{}.frames", scene.session(&next)["transcript"]));
    let mut kinds: Vec<String> = Vec::new();
    for log in logs {
        for line in fs::read_to_string(log).unwrap().lines() {
            let Some((_, frame)) = line.split_once(" > ").filter(|(at, _)| at.parse::<u64>().is_ok()) else { continue };
            kinds.push(published.check(&serde_json::from_str(frame).unwrap()));
        }
    }
    kinds.sort();
    kinds.dedup();
    let expected = [
        "cancelled", "error -32601", "error -32800", "initialize", "selected", "session/cancel", "session/new",
        "session/prompt", "session/resume", "session/set_mode",
    ];
    assert_eq!(kinds, expected);
    for (method, params) in [
        ("session/load", outgoing::continue_session("c", "/w")),
        ("session/set_config_option", outgoing::set_config_option("c", "mode", "ask")),
    ] {
        published.check(&outgoing::request(1, method, params));
    }
    // The check itself finds what is wrong.
    let option = PermissionOption { id: "y".into(), kind: String::new(), name: String::new() };
    let mut wrong = outgoing::permission_selected(&json!(1), &option);
    wrong["result"]["outcome"]["optionId"] = json!(7);
    assert!(published.violation("RequestPermissionResponse", &wrong["result"]).is_some());
    assert!(published.violation("NewSessionRequest", &json!({ "cwd": "/w" })).is_some());
    assert!(published.violation("NewSessionRequest", &json!({ "cwd": "/w", "mcpServers": [], "new": 1 })).is_some());
}
