//! The published schemas describe what the commands print. Every call of `TestProject::json` in other tests is compared too,
//! every error document, and the events of every store that a test leaves behind.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use super::text;
use crate::common::TestProject;
use crate::common::command_table::COMMANDS;
use crate::common::published_schemas::{
    DEFINITIONS, PRINTED, check_error, check_output, documents_of, event_violation, violation,
};

/// The verbs whose output with `--json` is no document, or none of ours.
const WITHOUT_DOCUMENT: &[&str] =
    &["config schema", "hook", "mcp", "sandbox probe", "sandbox run", "session attach", "top"];

#[test]
fn every_verb_prints_a_document_as_its_schema_says() {
    for verb in COMMANDS {
        let words: Vec<&str> = verb.path.split(' ').collect();
        let documents = documents_of(&words);
        let has_none = documents.iter().all(|document| document.command.len() != words.len());
        assert_eq!(has_none, WITHOUT_DOCUMENT.contains(&verb.path), "{}: {documents:?}", verb.path);
    }
    let furnished = TestProject::populated();
    for verb in COMMANDS {
        let (words, world) = (verb.good.split(' ').collect::<Vec<_>>(), furnished.ready_for(verb));
        if words.contains(&"--help") || !verb.variants().contains(&["--json"].as_slice()) {
            world.run(&words).exits(0);
            continue;
        }
        let run = world.run(["--json"].iter().chain(&words)).exits(0);
        check_output(&words, &run.stdout);
    }
}

/// The documents that depend on an option or on the number of ids.
#[test]
fn other_forms_of_a_verb_print_documents_too() {
    let issue =
        r#"[{"number":1,"title":"t","body":"","labels":[],"url":"https://github.com/o/r/issues/1","state":"OPEN"}]"#;
    let furnished = TestProject::populated();
    furnished.run(["trust"]).exits(0);
    for (call, code, name) in [
        ("task edit T-1 T-4 --label x", 0, "task-each"),
        ("task cancel T-1 T-99 --reason no", 3, "task-each"),
        ("release T-2", 0, "task"),
        ("release T-2 T-3", 0, "released"),
        ("task export", 0, "task-list"),
        ("task import --from github issues.json", 0, "import-issues"),
        ("claim T-1 --lease 5m", 0, "claim"),
        ("session launch --dry-run --role worker --command true", 0, "launch-plan"),
        ("start T-4 --dry-run --lane ui -- true", 0, "start-plan"),
        ("start T-4 T-1 --dry-run --lane ui -- true", 0, "start-plan-list"),
        ("session stop s2 s4", 0, "session-each"),
        ("exec spawn -- true", 0, "job-spawn"),
        ("exec spawn --wait-for 20s -- true", 0, "job-poll"),
        ("exec log 000007d1 --follow", 0, "job-item"),
        ("exec list", 0, "job-list"),
        ("restore --list", 0, "snapshot-list"),
        ("man --output pages", 0, "man-pages"),
        ("guide jobs", 0, "guide"),
        ("guide --list", 0, "guide-list"),
        ("lane list --git", 0, "lane-list"),
        ("usage --by day", 0, "usage"),
        ("approvals answer 1 2 allow", 3, "approval-each"),
        ("notify --test desktop", 7, "notification-sent"),
        ("merge-ready T-2", 5, "gate-report"),
        ("status", 0, "board"),
    ] {
        let world = furnished.copy();
        fs::write(world.root().join("issues.json"), issue).unwrap();
        let words: Vec<&str> = call.split(' ').collect();
        let run = world.run(["--json"].iter().chain(&words)).exits(code);
        let document = documents_of(&words).into_iter().find(|document| document.name == name);
        let document = document.unwrap_or_else(|| panic!("{call} has no document {name}"));
        let texts: Vec<&str> = if document.is_line { run.stdout.lines().collect() } else { vec![&run.stdout] };
        assert!(!texts.is_empty(), "{call}: {run:?}");
        for text in texts {
            let printed = serde_json::from_str(text).unwrap_or_else(|error| panic!("{call}: {error}: {run:?}"));
            assert_eq!(violation(name, &printed), None, "{call}: {text}");
        }
    }
}

#[test]
fn lines_of_events_exports_and_failures_are_documents() {
    let world = TestProject::populated();
    check_output(&["events"], &world.run(["events", "--json"]).exits(0).stdout);
    let tasks = world.run(["task", "export", "--format", "jsonl"]).exits(0).stdout;
    assert!(tasks.lines().count() > 5);
    for task in tasks.lines() {
        assert_eq!(violation("task", &serde_json::from_str(task).unwrap()), None, "{task}");
    }
    for (call, code) in [("task show T-99", 3), ("claim T-2", 4), ("handoff accept 1 --as dev", 5), ("task lst", 2)] {
        let run = world.run(call.split(' ').chain(["--json"]));
        let document: Value = serde_json::from_str(run.stderr.lines().last().unwrap()).unwrap();
        check_error(&document);
        assert_eq!(run.code, Some(code), "{call}: {run:?}");
    }
}

#[test]
fn mistakes_in_a_document_are_found() {
    let world = TestProject::new();
    let good = world.json(["task", "add", "T-1", "title"]);
    let with = |change: &dyn Fn(&mut Value)| {
        let mut document = good.clone();
        change(&mut document);
        violation("task", &document)
    };
    assert_eq!(with(&|_| {}), None);
    for (change, says) in [
        (&(|task: &mut Value| task["colour"] = json!("red")) as &dyn Fn(&mut Value), ".colour is unknown"),
        (&|task| drop(task.as_object_mut().unwrap().remove("lane")), "\"lane\" is missing"),
        (&|task| task["labels"] = Value::Null, ".labels: no \"array\""),
        (&|task| task["status"] = json!("open"), ".status: none of"),
        (&|task| task["created_at"] = json!("yesterday"), ".created_at: no time"),
        (&|task| task["priority"] = json!(5), ".priority: maximum is 4"),
        (&|task| task["checks"] = json!([{ "name": "a" }]), ".checks[0]: \"command\" is missing"),
        (&|task| task["branch"] = json!("2026-01-01T00:00:00Z"), ".branch: 2026-01-01T00:00:00Z is a time"),
        (&|task| task["claim"] = json!({}), ".claim"),
    ] {
        let found = with(change).unwrap_or_else(|| panic!("nothing is wrong where '{says}' should be"));
        assert!(found.contains(says), "{found}");
    }
    assert_eq!(event_violation("task.added", &json!({ "title": "t", "priority": 2 })), None);
    for (kind, data, says) in [
        ("task.added", json!({ "title": "t" }), "task.added: \"priority\" is missing"),
        ("task.added", json!({ "title": "t", "priority": 2, "x": 1 }), "task.added.x is unknown"),
        ("task.painted", json!({}), "the kind task.painted is not known"),
    ] {
        let found = event_violation(kind, &data).unwrap();
        assert!(found.contains(says), "{found}");
    }
}

/// Every document is one that the page names, and every reference leads to a definition.
#[test]
fn published_schemas_are_whole() {
    let source = text("docs/reference/schemas.json");
    let schemas: Value = serde_json::from_str(&source).unwrap();
    assert_eq!(schemas["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let definitions = schemas["$defs"].as_object().unwrap();
    assert_eq!(definitions.len(), DEFINITIONS.len());
    for reference in source.split("\"$ref\": \"").skip(1) {
        let target = reference.split('"').next().unwrap();
        assert!(target.strip_prefix("#/$defs/").is_some_and(|name| definitions.contains_key(name)), "{target}");
    }
    // Types have names of Rust, documents have words.
    let documents: BTreeSet<&str> =
        definitions.keys().map(String::as_str).filter(|name| !name.starts_with(char::is_uppercase)).collect();
    let printed: BTreeSet<&str> = PRINTED.iter().map(|document| document.name).collect();
    let others: Vec<&&str> = documents.difference(&printed).collect();
    assert_eq!(others, [&"error", &"notification"]);
    assert!(printed.is_subset(&documents));
}
