//! What is published: one schema of all documents, and the lists of the page that names them.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::documents::{DOCUMENTS, Document};
use super::{event_data, generate};
use fairway_core::domain::EventKind;
use fairway_core::env::Env;

const PAGE: &str = "docs/reference/json.md";
const SCHEMAS: &str = "docs/reference/schemas.json";
const BEGIN: &str = "<!-- generated: UPDATE_DOCS=1 writes it anew -->\n";
const END: &str = "<!-- end of the generated part -->\n";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn is_update() -> bool {
    Env::from_process().var_os("UPDATE_DOCS").is_some()
}

fn published() -> Value {
    generate::bundle(DOCUMENTS.iter().map(|document| (document.name, document.about, (document.schema)())))
}

/// The documents with the calls that print them, then the events. Kinds with the same meaning stand together.
fn lists() -> String {
    let mut text =
        "\n## Documents\n\nEach with the commands that print it; \"lines\" where they print one a line.\n\n".to_owned();
    for Document { name, about, printed_by, printed_in_lines_by, .. } in DOCUMENTS {
        let once = printed_by.iter().map(|call| format!("`{call}`"));
        let in_lines = printed_in_lines_by.iter().map(|call| format!("`{call}` lines"));
        let mut calls: Vec<String> = once.chain(in_lines).collect();
        calls.sort();
        let calls = if calls.is_empty() { String::new() } else { format!(": {}", calls.join(", ")) };
        writeln!(text, "- **{name}** {about}{calls}").unwrap();
    }
    text.push_str("\n## Events\n\nThe schema of `event` has the members of `data` for each kind.\n\n");
    let schema = event_data::event_schema();
    let mut kinds: Vec<(&str, Vec<String>)> = Vec::new();
    for (kind, condition) in EventKind::ALL.iter().zip(schema["allOf"].as_array().unwrap()) {
        let reference = condition["then"]["properties"]["data"]["$ref"].as_str().unwrap();
        let meaning = schema.pointer(reference.trim_start_matches('#')).unwrap()["description"].as_str().unwrap();
        let kind = format!("`{kind}`");
        match kinds.iter_mut().find(|(known, _)| *known == meaning) {
            Some((_, same)) => same.push(kind),
            None => kinds.push((meaning, vec![kind])),
        }
    }
    for (meaning, kinds) in kinds {
        writeln!(text, "- {}: {meaning}", kinds.join(", ")).unwrap();
    }
    text.push('\n');
    text
}

#[test]
fn published_schemas_are_those_of_the_types() {
    let path = root().join(SCHEMAS);
    let wanted = format!("{}\n", serde_json::to_string_pretty(&published()).unwrap());
    if is_update() {
        fs::write(&path, wanted).unwrap();
    } else {
        let is_current = fs::read_to_string(&path).unwrap() == wanted;
        assert!(is_current, "{SCHEMAS} is not as the types are: UPDATE_DOCS=1 writes it anew");
    }
}

#[test]
fn page_of_documents_names_each_of_them() {
    let path = root().join(PAGE);
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (current, after) = rest.split_once(END).unwrap();
    let wanted = lists();
    if is_update() {
        fs::write(&path, format!("{before}{BEGIN}{wanted}{END}{after}")).unwrap();
    } else {
        assert!(current == wanted, "{PAGE} is not as the types are: UPDATE_DOCS=1 writes it anew");
    }
}

#[test]
fn documents_have_different_names_in_order() {
    let names: Vec<&str> = DOCUMENTS.iter().map(|document| document.name).collect();
    assert!(names.is_sorted_by(|one, next| one < next), "{names:?}");
}

/// A description of every member, as a reader of a schema needs it.
#[test]
fn every_member_of_a_document_has_a_description() {
    fn walk(schema: &Value, place: &str, found: &mut Vec<String>) {
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            if member["description"].as_str().is_none() {
                found.push(format!("{place}.{name}"));
            }
        }
    }
    let mut found = Vec::new();
    for (name, definition) in published()["$defs"].as_object().unwrap() {
        walk(definition, name, &mut found);
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// The worker API answers with the same documents. Its description is written by hand.
#[test]
fn description_of_the_worker_api_has_the_same_members() {
    use fairway_core::wire::{
        ApprovalView, ContextView, ErrorDocument, HealthView, LifecycleView, PromptView, SectionView, TelemetryView,
    };
    let text = fs::read_to_string(root().join("docs/reference/openapi.json")).unwrap();
    let description: Value = serde_json::from_str(&text).unwrap();
    let members = |schema: &Value| -> Vec<String> {
        let mut names: Vec<String> = schema["properties"].as_object().unwrap().keys().cloned().collect();
        names.sort();
        names
    };
    for (name, schema) in [
        ("approval", generate::schema_of::<ApprovalView>()),
        ("context", generate::schema_of::<ContextView>()),
        ("counts", generate::schema_of::<TelemetryView>()),
        ("error", generate::schema_of::<ErrorDocument<'static>>()),
        ("error/properties/error", generate::schema_of::<fairway_core::wire::Failure>()),
        ("health", generate::schema_of::<HealthView>()),
        ("lifecycle", generate::schema_of::<LifecycleView>()),
        ("prompt", generate::schema_of::<PromptView>()),
        ("section", generate::schema_of::<SectionView>()),
    ] {
        let described = description.pointer(&format!("/components/schemas/{name}")).unwrap();
        let mut described_members = members(described);
        // A heartbeat's answer has one member more.
        described_members.retain(|member| name != "health" || member != "pressed");
        assert_eq!(described_members, members(&schema), "{name}");
        for (member, property) in described["properties"].as_object().unwrap() {
            let own = &schema["properties"][member];
            if property["enum"].is_array() && own["enum"].is_array() {
                assert_eq!(property["enum"], own["enum"], "{name}.{member}");
            }
        }
    }
}
