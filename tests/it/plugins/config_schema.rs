//! The schema of the configuration takes what the program takes.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::TestProject;
use crate::common::json_schema::violation;

fn json_of(text: &str) -> Value {
    serde_json::to_value(toml::from_str::<toml::Table>(text).unwrap()).unwrap()
}

#[test]
fn example_and_documents_are_valid_and_mistakes_are_not() {
    let schema = TestProject::uninitialized().json(["config", "schema"]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let example = fs::read_to_string(root.join(".fairway.example.toml")).unwrap();
    assert!(example.starts_with("#:schema .fairway/config.schema.json\n"));
    assert_eq!(violation(&schema, &json_of(&example)), None);
    // The samples too: every key is taken as it is shown.
    let samples: Vec<&str> = example.lines().map(|line| line.strip_prefix("# ").unwrap_or(line)).collect();
    let is_toml =
        |line: &&&str| line.starts_with('[') || line.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '));
    let samples: Vec<&str> = samples.iter().filter(is_toml).copied().collect();
    let samples = json_of(&samples.join("\n"));
    assert_eq!(violation(&schema, &samples), None);
    assert!(samples["guard"]["rules"].is_array() && samples["roles"]["NAME"].is_object(), "{samples}");
    let mut blocks = 0;
    let mut pages = vec![root.join("README.md")];
    for dir in ["docs", "docs/guides", "docs/integration", "docs/design", "docs/reference"] {
        let entries = fs::read_dir(root.join(dir)).unwrap();
        pages.extend(
            entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|end| end == "md")),
        );
    }
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        for block in text.split("```toml\n").skip(1).filter_map(|rest| rest.split_once("```")) {
            // Blocks of other programs' settings and fragments of ours that are no whole table are not looked at.
            let Ok(table) = toml::from_str::<toml::Table>(block.0) else { continue };
            if table.keys().any(|key| schema["properties"][key].is_null()) {
                continue;
            }
            let found = violation(&schema, &serde_json::to_value(table).unwrap());
            assert_eq!(found, None, "{}: {}", page.display(), block.0);
            blocks += 1;
        }
    }
    assert!(blocks >= 8, "{blocks}");
    for wrong in [
        "[claims]\nleese = \"30m\"",
        "[claims]\nown_lane_only = \"yes\"",
        "[claims]\nlease = \"30\"",
        "[exec]\nkeep_bytes = \"1 PiB\"",
        "[cliams]\nlease = \"30m\"",
        "[gates.done]\nrequire = \"evidence\"",
        "[[guard.rules]]\nnane = \"x\"",
        "[roles.backend]\nprovder = \"x\"",
        "[exec]\nparallel = \"many\"",
        "[exec]\nparallel = 0",
        "[store]\nengine = \"oracle\"",
        "[claims]\npath_conflicts = \"deny\"",
        "[gates.merge]\nrequire = [\"evidence\", \"review\"]",
        "[land]\nstyle = \"octopus\"",
        "[providers.acme]\nprompt = \"typed\"",
        "[notify]\nsinks = [7]",
        "[guard]\ndefault = \"maybe\"",
        "[[guard.rules]]\ntools = [\"Bash\"]\naction = \"deny\"",
        "[[guard.rules]]\nname = \"x\"\ntools = [\"Bash\"]",
        "[[review_routes]]\npaths = [\"migrations/**\"]",
    ] {
        assert!(violation(&schema, &json_of(wrong)).is_some(), "{wrong}");
        let world = TestProject::new();
        fs::write(world.root().join(".fairway.toml"), wrong).unwrap();
        world.run(["config", "check"]).exits(2);
    }
}
