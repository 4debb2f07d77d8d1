//! The tools. Each is one file: its arguments, from which its schema is made, and the use case that it calls.

mod ask;
mod finish;
mod inbox;
mod next;
mod note;
mod overlap;
mod run;
mod task;
mod tool;
mod verify;

use rmcp::model;

pub(super) use tool::{Tool, ToolCall};

use fairway_core::guard::OWN_TOOLS;

/// The name of the server, as clients are configured with it.
pub const SERVER: &str = "fairway";

/// The names of the tools, in the order of the list, as the guard knows them.
pub const NAMES: &[&str] = OWN_TOOLS;

/// Every tool, in the order of [`NAMES`].
static TOOLS: &[Tool] =
    &[next::TOOL, task::TOOL, note::TOOL, verify::TOOL, finish::TOOL, ask::TOOL, inbox::TOOL, run::TOOL, overlap::TOOL];

pub(super) fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

pub(super) fn list() -> Vec<model::Tool> {
    TOOLS.iter().map(tool::describe).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn list_is_stable_small_and_in_the_order_of_its_names() {
        let text = || serde_json::to_string(&list()).unwrap();
        assert_eq!(text(), text());
        assert!(text().len() <= 9_800, "{} bytes", text().len());
        let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        assert_eq!(names, NAMES);
        for tool in TOOLS {
            let schema = Value::Object((tool.schema)());
            assert_eq!(schema["type"], "object", "{}", tool.name);
            assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
            assert!(schema.get("$schema").is_none() && schema.get("title").is_none(), "{schema}");
            let properties = schema["properties"].as_object().unwrap();
            assert!(properties.values().all(|one| one["description"].is_string()), "{schema}");
            // `session_id` of `run` is the key of the job's messages, not the acting session.
            let names = ["session", "session_id"].into_iter().filter(|name| properties.contains_key(*name));
            assert_eq!(names.count(), usize::from(tool.name == "run"), "{schema}");
        }
    }
}
