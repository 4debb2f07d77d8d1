//! The house is tidy: nothing forgotten, nothing said twice.

use std::{
    fs,
    path::{Path, PathBuf},
};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every test file below `tests/it` is named by the module above it.
#[test]
fn no_test_file_is_forgotten() {
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

/// Every verb is called in a test of its own, from outside.
#[test]
fn every_verb_has_a_transcript() {
    let folder = root().join("tests/it/cli");
    let mut sources = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        sources.push_str(&fs::read_to_string(entry.unwrap().path()).unwrap());
    }
    let without: Vec<String> = crate::common::verbs::of_the_parser()
        .into_iter()
        .filter(|verb| !["\"", " "].iter().any(|end| sources.contains(&format!("\"fairway {verb}{end}"))))
        .collect();
    assert!(without.is_empty(), "no transcript calls {without:?}");
}

/// Every error code that the sources give is in the list that scripts are promised.
#[test]
fn every_error_code_is_listed() {
    let listed = text("docs/codes.md");
    let mut missing = Vec::new();
    for file in ["src/domain/refusal.rs", "src/adapters/error.rs", "src/actions/failure.rs"] {
        let source = text(file);
        let mut pieces = source.split('"');
        // Every second piece stands between quotes; names of fields are followed by a colon.
        while let (Some(before), Some(word)) = (pieces.next(), pieces.next()) {
            let gives = ["=> ", "(", "plain("].iter().any(|end| before.ends_with(end));
            let is_code = word.contains('_') && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
            if gives && is_code && !listed.contains(&format!("`{word}`")) {
                missing.push(word.to_owned());
            }
        }
    }
    assert!(missing.is_empty(), "docs/codes.md lacks {missing:?}");
}

#[test]
fn migrations_have_no_gaps_and_are_all_listed() {
    let mut numbers: Vec<u32> = Vec::new();
    let listed = text("src/store/schema.rs");
    for entry in fs::read_dir(root().join("migrations")).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        let number = name.strip_prefix('V').and_then(|rest| rest.split_once("__")).map(|(number, _)| number);
        numbers.push(number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{name}")));
        assert!(listed.contains(&name), "{name} is not in src/store/schema.rs");
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=u32::try_from(numbers.len()).unwrap()).collect::<Vec<_>>());
}

#[test]
fn the_example_configuration_is_made_from_the_keys() {
    let path = root().join(".fairway.example.toml");
    let made = fairway::config::example();
    if std::env::var_os("UPDATE_EXAMPLE").is_some() {
        fs::write(&path, &made).unwrap();
    }
    assert_eq!(text(".fairway.example.toml"), made, "UPDATE_EXAMPLE=1 writes it anew");
}

#[test]
fn the_version_stands_in_the_changelog() {
    let heading = format!("## {}", env!("CARGO_PKG_VERSION"));
    assert!(text("CHANGELOG.md").contains(&heading), "CHANGELOG.md has no '{heading}'");
}

/// Vendors are labels: the core knows none of them.
#[test]
fn vendor_names_stand_only_in_configuration_examples() {
    fn walk(folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if !path.ends_with("config/keys.rs") && !path.ends_with("init/agents.md") {
                let text = fs::read_to_string(&path).unwrap().to_lowercase();
                for name in ["claude", "codex", "gemini"] {
                    // The file name that agents read is a fact about files, not a branch on a vendor.
                    if text.replace("claude.md", "").contains(name) {
                        found.push(format!("{}: {name}", path.display()));
                    }
                }
            }
        }
    }
    let mut found = Vec::new();
    walk(&root().join("src"), &mut found);
    assert!(found.is_empty(), "{found:#?}");
}
