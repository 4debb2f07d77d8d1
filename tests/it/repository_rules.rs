//! The house is tidy: nothing forgotten, nothing said twice.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::Visit;
use syn::{UseGroup, UseTree};

use crate::common::error_codes;
use crate::common::rust_files::{SOURCES, rust_files, sources};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every test file below `tests/it` is named by the module above it.
#[test]
fn every_test_file_is_a_module() {
    fn walk(folder: &Path, forgotten: &mut Vec<PathBuf>) {
        let parent = ["main.rs", "mod.rs"].iter().find_map(|name| fs::read_to_string(folder.join(name)).ok());
        let parent = parent.unwrap_or_else(|| panic!("{} has no mod.rs", folder.display()));
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let is_module =
                path.is_dir() && name != "snapshots" || path.extension().is_some_and(|ending| ending == "rs");
            if is_module && name != "main" && name != "mod" && !parent.contains(&format!("mod {name};")) {
                forgotten.push(path.clone());
            }
            if path.is_dir() && name != "snapshots" {
                walk(&path, forgotten);
            }
        }
    }
    let mut forgotten = Vec::new();
    walk(&root().join("tests/it"), &mut forgotten);
    assert!(forgotten.is_empty(), "{forgotten:#?}");
}

/// An import names one module, so that a list has no list inside of it: each is found by its path, and two branches that add one merge.
#[test]
fn each_import_names_one_module() {
    struct Nested(bool);
    impl Visit<'_> for Nested {
        fn visit_use_group(&mut self, group: &UseGroup) {
            self.0 |= group.items.iter().any(|item| matches!(item, UseTree::Path(_) | UseTree::Group(_)));
        }
    }
    let is_nested = |file: &PathBuf| {
        let syntax = syn::parse_file(&fs::read_to_string(file).unwrap()).unwrap();
        let mut nested = Nested(false);
        nested.visit_file(&syntax);
        nested.0
    };
    let mut files = sources();
    files.extend(["tests/it", "tests/schemas", "benches"].map(|folder| rust_files(&root().join(folder))).concat());
    let nested: Vec<PathBuf> = files.into_iter().filter(is_nested).collect();
    assert!(nested.is_empty(), "{nested:#?}");
}

/// Every verb is called in a test of its own, from outside.
#[test]
fn every_verb_has_a_transcript() {
    let folder = root().join("tests/it/cli");
    let mut sources = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        sources.push_str(&fs::read_to_string(entry.unwrap().path()).unwrap());
    }
    let called: Vec<String> = sources.split("\"fairway ").skip(1).map(call).collect();
    let without: Vec<String> = crate::common::command_table::parsed_commands()
        .into_iter()
        .filter(|verb| !called.iter().any(|call| call == verb || call.starts_with(&format!("{verb} "))))
        .collect();
    assert!(without.is_empty(), "no transcript calls {without:?}");
}

/// The verb and the rest of a transcript's line; who acts may stand before it.
fn call(line: &str) -> String {
    let mut words = line.split('"').next().unwrap_or_default().split(' ').peekable();
    while words.next_if(|word| matches!(*word, "--session" | "--as")).is_some() {
        words.next();
    }
    words.collect::<Vec<_>>().join(" ")
}

/// The words in quotes behind one of `before` in a source, its tests apart: what is written as a code there.
fn words_behind(path: &str, before: &[&str]) -> Vec<String> {
    let source = text(path);
    let source = source.split("#[cfg(test)]").next().unwrap();
    let is_code =
        |word: &str| !word.is_empty() && word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_');
    source
        .match_indices('"')
        .filter(|(at, _)| before.iter().any(|end| source[..*at].trim_end().ends_with(end)))
        .map(|(at, _)| source[at + 1..].split('"').next().unwrap().to_owned())
        .filter(|word| is_code(word))
        .collect()
}

#[track_caller]
fn differ_in_nothing(source: &BTreeSet<String>, document: &BTreeSet<String>) {
    let (missing, made_up) = (source - document, document - source);
    assert!(
        missing.is_empty() && made_up.is_empty(),
        "not in docs/reference/codes.md: {missing:?}; only there: {made_up:?}"
    );
}

/// Every code that a reader can meet is in docs/reference/codes.md, and nothing else is.
#[test]
fn every_code_is_documented() {
    let (errors, inside) = error_codes::documented();
    let of = |places: &[(&str, &[&str])]| -> BTreeSet<String> {
        places.iter().flat_map(|(path, before)| words_behind(path, before)).collect()
    };
    let in_errors = of(&[
        (
            "crates/fairway-core/src/domain/refusal/mod.rs",
            &[
                "#[code(Usage,", "(NotFound,", "(Conflict,", "(Refused,", "(Empty,", "(External,", "(Busy,",
                "(Untrusted,", "(Failure,",
            ],
        ),
        ("crates/fairway-core/src/adapters/error.rs", &["=>"]),
        ("crates/fairway-actions/src/core/errors.rs", &["=>", "=> (", "{\n            (", "plain("]),
        (
            "src/api/error.rs",
            &["REQUEST,", "LARGE,", "TIMEOUT,", "status,", "UNAVAILABLE,", "ERROR,", "FOUND,", "ALLOWED,"],
        ),
        ("src/cli/error.rs", &[" failure(", "(failure(", "&failure("]),
    ]);
    differ_in_nothing(&in_errors, &errors.into_keys().collect());
    let in_documents = of(&[
        ("crates/fairway-core/src/domain/rules/gate.rs", &["code: ", "code:", "=> (", "("]),
        ("crates/fairway-core/src/domain/blocker.rs", &["=> (", "code:"]),
        ("crates/fairway-actions/src/queue/readiness.rs", &["code:"]),
        ("crates/fairway-actions/src/queue/task/ready.rs", &["code:", "held("]),
        ("crates/fairway-actions/src/upkeep/doctor/mod.rs", &["Finding::new(", "error("]),
        ("crates/fairway-actions/src/upkeep/doctor/jobs.rs", &["Finding::new("]),
        ("crates/fairway-actions/src/upkeep/doctor/intents.rs", &["Finding::new("]),
        ("crates/fairway-actions/src/upkeep/doctor/landings.rs", &["Finding::new("]),
        ("crates/fairway-actions/src/upkeep/doctor/lanes.rs", &["Finding::new("]),
        ("crates/fairway-actions/src/upkeep/doctor/page.rs", &["Finding::new("]),
        ("crates/fairway-actions/src/upkeep/doctor/server.rs", &["Finding::new("]),
        ("crates/fairway-actions/src/upkeep/doctor/sessions.rs", &["Finding::new("]),
        ("crates/fairway-actions/src/queue/lane/gaps.rs", &["code:"]),
        ("crates/fairway-actions/src/queue/lane/removal.rs", &["code:"]),
        ("crates/fairway-core/src/domain/lane.rs", &["Open =>", "Paused =>"]),
        ("src/hooks/doctor/mod.rs", &["Finding::new("]),
        ("crates/fairway-core/src/store/integrity.rs", &["look("]),
    ]);
    // A finding of doctor may share its code with an error.
    let inside: BTreeSet<String> = inside.into_iter().collect();
    let of_errors = error_codes::documented().0;
    let only_inside: BTreeSet<String> = in_documents.into_iter().filter(|code| !of_errors.contains_key(code)).collect();
    differ_in_nothing(&only_inside, &inside);
}

#[test]
fn migrations_have_no_gaps_and_are_all_listed() {
    let listed = text("crates/fairway-core/src/store/schema.rs");
    // The state's, and below them those of what runs printed.
    for folder in ["migrations", "migrations/runs"] {
        let mut numbers: Vec<u32> = Vec::new();
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path().is_dir() || name == "newest.sql" {
                continue;
            }
            let number = name.strip_prefix('V').and_then(|rest| rest.split_once("__")).map(|(number, _)| number);
            numbers.push(number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{name}")));
            let path = format!("{folder}/{name}");
            assert!(listed.contains(&path), "{path} is not in crates/fairway-core/src/store/schema.rs");
        }
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=u32::try_from(numbers.len()).unwrap()).collect::<Vec<_>>());
    }
}

#[test]
fn example_configuration_is_made_from_the_keys() {
    let path = root().join(".fairway.example.toml");
    let made = fairway_core::config::example();
    if std::env::var_os("UPDATE_EXAMPLE").is_some() {
        fs::write(&path, &made).unwrap();
    }
    assert_eq!(text(".fairway.example.toml"), made, "UPDATE_EXAMPLE=1 writes it anew");
}

#[test]
fn version_stands_in_the_changelog() {
    let heading = format!("\n## [{}]", env!("CARGO_PKG_VERSION"));
    assert!(text("CHANGELOG.md").contains(&heading), "CHANGELOG.md has no '{heading}'");
}

/// Vendors are labels: only the bridge to their hooks and the profiles' data know them, the core none.
#[test]
fn provider_names_appear_only_in_hooks_and_examples() {
    fn walk(folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if !path.ends_with("src/hooks") {
                    walk(&path, found);
                }
            } else if !path.ends_with("config/launch.rs")
                && !path.ends_with("config/provider_profile.rs")
                && !path.ends_with("config/structured.rs")
                && !path.ends_with("config/providers.toml")
                && !path.ends_with("config/sandbox.toml")
                && !path.ends_with("config/consequences.toml")
                && !path.ends_with("init/agents.md")
                // The demo's scripts play them.
                && !path.ends_with("demo/demo_steps.rs")
            {
                let text = fs::read_to_string(&path).unwrap().to_lowercase();
                // The names of the file that agents read and of an example are facts about files, not branches on a vendor.
                let text = text.replace("claude.md", "").replace("codex-app-server.py", "");
                for name in ["claude", "codex", "gemini"] {
                    if text.contains(name) {
                        found.push(format!("{}: {name}", path.display()));
                    }
                }
            }
        }
    }
    let mut found = Vec::new();
    for folder in SOURCES {
        walk(&root().join(folder), &mut found);
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// The example says the defaults.
#[test]
fn example_configuration_says_the_defaults() {
    use fairway_core::config::{Layers, Project, Settings};
    let env = fairway_core::env::Env::from_process();
    let settings = |configuration: &str| {
        let world = crate::common::TestProject::uninitialized();
        fs::write(world.root().join(".fairway.toml"), configuration).unwrap();
        let project = Project::at(world.root(), &env);
        Settings::from_layers(&Layers::load(&project, &env).unwrap(), &project).unwrap()
    };
    assert_eq!(settings(&text(".fairway.example.toml")), settings(""));
    // The comparison can see a difference.
    assert_ne!(settings("[tasks]\nprefix = \"X\""), settings(""));
}
