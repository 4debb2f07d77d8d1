//! The examples of the documentation happen as shown.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::common::TestProject;
use crate::common::test_project::FAIRWAY;

const DOCUMENT: &str = include_str!("../../../docs/integration/jobs-json.md");

/// The documents of a fenced block: what is asked, and the answer's form.
fn documents(block: &str) -> Vec<Value> {
    let documents = serde_json::Deserializer::from_str(block).into_iter();
    documents.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{error}: {block}"))
}

/// Fails unless two documents have the same fields, at every depth.
#[track_caller]
fn same_form(shown: &Value, got: &Value, place: &str) {
    match (shown, got) {
        // Particulars of an event differ by event, and output has none.
        _ if place.rsplit('.').next() == Some("meta") => {}
        (Value::Object(shown), Value::Object(got)) => {
            let names = |map: &serde_json::Map<String, Value>| map.keys().cloned().collect::<Vec<_>>();
            assert_eq!(names(shown), names(got), "{place}");
            for (name, value) in shown {
                same_form(value, &got[name], &format!("{place}.{name}"));
            }
        }
        (Value::Array(shown), Value::Array(got)) => {
            for (shown, got) in shown.iter().zip(got) {
                same_form(shown, got, &format!("{place}[]"));
            }
        }
        _ => assert_eq!(
            std::mem::discriminant(shown),
            std::mem::discriminant(got),
            "{place}: {shown} is shown, {got} is answered"
        ),
    }
}

#[test]
fn documented_calls_answer_as_shown() {
    let world = TestProject::new();
    world.real_time();
    let (mut run, mut calls) = (String::new(), 0);
    for block in DOCUMENT.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap()) {
        let [asked, shown] = <[Value; 2]>::try_from(documents(block)).unwrap();
        let text = asked.to_string().replace("\"RUN\"", &format!("{run:?}"));
        let got = world.run_with_stdin(["exec", "call"], text.as_bytes()).exits(0).json();
        same_form(&shown, &got, asked["action"].as_str().unwrap_or("no action"));
        if asked["action"] == "spawn" {
            run = got["run_id"].as_str().unwrap().to_owned();
            // The typed text is an answer to the question.
            world.json(["exec", "poll", &run, "--until", "output", "--wait", "10s"]);
        }
        calls += 1;
    }
    assert_eq!(calls, 6);
    assert_eq!(world.json(["exec", "poll", &run])["status"], "canceled");
}

#[test]
fn dev_server_example_runs() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/exec/dev-server.sh");
    let output = Command::new(script).env("FAIRWAY", FAIRWAY).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("error: page.html is not closed"), "{said}");
}
