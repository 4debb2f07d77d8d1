//! The plugins of `examples/plugins` are made from the sources: hooks from those that `hook install` enters, the skill from that
//! of the binary. `just plugins` writes them anew.

mod config_schema;
mod doctor;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use fairway::hooks::Provider;
use fairway::hooks::install::{DEFAULT_APPROVAL_WAIT, entries};
use fairway_actions::upkeep::guide::SKILL;
use serde_json::{Map, Value, json};

use crate::common::TestProject;

const DIR: &str = "examples/plugins";
const DESCRIPTION: &str =
    "Coordinates several coding agents on one repository: tasks, claims, evidence, handoffs and messages";
/// The variables that tell a session to the programs that it starts.
const SESSION_VARIABLES: &[&str] = &[
    "FAIRWAY_BIN", "FAIRWAY_DB", "FAIRWAY_LANE", "FAIRWAY_PROVIDER", "FAIRWAY_ROLE", "FAIRWAY_ROOT", "FAIRWAY_RUN_ID",
    "FAIRWAY_SESSION_ID", "FAIRWAY_TASK_ID",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn manifest() -> Value {
    json!({
        "name": "fairway",
        "version": env!("CARGO_PKG_VERSION"),
        "description": DESCRIPTION,
        "author": { "name": "Fairway" },
        "license": env!("CARGO_PKG_LICENSE"),
    })
}

fn with(mut object: Value, fields: Value) -> Value {
    object.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    object
}

/// The hooks as a plugin has them: by the program's name, which is found in PATH.
fn hooks(provider: Provider) -> Value {
    let mut events = Map::new();
    for entry in entries(provider, Path::new("fairway"), DEFAULT_APPROVAL_WAIT, false) {
        events.insert(entry.event.to_owned(), json!([{ "hooks": entry.hooks }]));
    }
    json!({ "description": "Activity, prompts and the guard of Fairway", "hooks": events })
}

/// Every generated file.
fn generated() -> BTreeMap<&'static str, String> {
    let pretty = |value: Value| serde_json::to_string_pretty(&value).unwrap() + "\n";
    let server = json!({ "command": "fairway", "args": ["mcp"] });
    let body = SKILL.splitn(3, "---\n").nth(2).unwrap().trim_start().to_owned();
    let mut files = BTreeMap::new();
    let plugin = json!({ "name": "fairway", "source": "./claude", "description": DESCRIPTION });
    let market = json!({
        "name": "fairway", "owner": { "name": "Fairway" }, "metadata": { "description": DESCRIPTION },
        "plugins": [plugin],
    });
    files.insert(".claude-plugin/marketplace.json", pretty(market));
    files.insert("claude/.claude-plugin/plugin.json", pretty(manifest()));
    files.insert("claude/.mcp.json", pretty(json!({ "mcpServers": { "fairway": server } })));
    files.insert("claude/hooks/hooks.json", pretty(hooks(Provider::parse("claude").unwrap())));
    files.insert("claude/skills/fairway/SKILL.md", SKILL.to_owned());
    let source = json!({ "source": "local", "path": "./codex" });
    let market = json!({ "name": "fairway", "plugins": [{ "name": "fairway", "source": source }] });
    files.insert(".agents/plugins/marketplace.json", pretty(market));
    let parts = json!({ "skills": "./skills/", "mcpServers": "./.mcp.json" });
    files.insert("codex/.codex-plugin/plugin.json", pretty(with(manifest(), parts)));
    // It hands on only the variables that are named.
    let named = with(server.clone(), json!({ "env_vars": SESSION_VARIABLES }));
    files.insert("codex/.mcp.json", pretty(json!({ "mcpServers": { "fairway": named } })));
    files.insert("codex/skills/fairway/SKILL.md", SKILL.to_owned());
    let extension = json!({
        "name": "fairway", "version": env!("CARGO_PKG_VERSION"), "description": DESCRIPTION,
        "mcpServers": { "fairway": server }, "contextFileName": "GEMINI.md",
    });
    files.insert("gemini/gemini-extension.json", pretty(extension));
    files.insert("gemini/GEMINI.md", body);
    files
}

fn walk(dir: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, found);
        } else {
            found.push(path.strip_prefix(root().join(DIR)).unwrap().to_string_lossy().into_owned());
        }
    }
}

#[test]
fn plugins_are_made_from_the_sources() {
    let dir = root().join(DIR);
    let is_update = std::env::var_os("UPDATE_PLUGINS").is_some();
    for (name, text) in generated() {
        let path = dir.join(name);
        if is_update {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &text).unwrap();
        }
        let is = fs::read_to_string(&path).unwrap_or_default();
        assert!(is == text, "{name} is not as the sources say: just plugins");
    }
    let mut found = Vec::new();
    walk(&dir, &mut found);
    found.retain(|name| name != "README.md");
    found.sort();
    assert_eq!(found, generated().into_keys().collect::<Vec<_>>());
    // A source of `./` would be the marketplace itself.
    let market: Value =
        serde_json::from_str(&fs::read_to_string(dir.join(".agents/plugins/marketplace.json")).unwrap()).unwrap();
    assert_ne!(market["plugins"][0]["source"]["path"], "./");
}

#[test]
fn skill_is_that_of_the_binary_and_names_its_commands() {
    let world = TestProject::uninitialized();
    assert_eq!(world.run(["skill"]).exits(0).stdout, SKILL);
    assert_eq!(world.json(["skill"])["text"], SKILL);
    let mut front = SKILL.lines();
    assert_eq!((front.next(), front.next()), (Some("---"), Some("name: fairway")));
    let description = front.next().and_then(|line| line.strip_prefix("description: ")).unwrap();
    assert!((40..=500).contains(&description.len()), "{}", description.len());
    let mut named = 0;
    for command in SKILL.split('`').skip(1).step_by(2).filter_map(|code| code.strip_prefix("fairway ")) {
        // Each command is one that the binary parses, as it stands.
        let words = shell_words::split(command).unwrap();
        let words = words.iter().map(|word| if word == "ID" { "T-1" } else { word });
        let words = words.map(|word| if word == "ROLE" { "qa" } else { word });
        let line = std::iter::once("fairway").chain(words);
        let parsed = fairway::cli::command().try_get_matches_from(line);
        assert!(parsed.is_ok(), "{command}: {}", parsed.unwrap_err());
        named += 1;
    }
    assert!(named >= 10, "{named}");
    for tool in fairway::mcp::TOOL_NAMES {
        assert!(SKILL.contains(tool), "{tool}");
    }
}
