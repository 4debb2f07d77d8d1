//! Imports point down only. The table of floors, and the walk that finds an upward step.

use std::{fs, path::Path};

/// Every top-level module and its floor; see `docs/design/architecture.md`.
const FLOORS: &[(&str, u8)] = &[
    ("cli", 6),
    ("api", 5),
    ("hooks", 5),
    ("actions", 4),
    ("store", 3),
    ("adapters", 3),
    ("runs", 3),
    ("link", 3),
    ("config", 2),
    ("wire", 2),
    ("render", 2),
    ("domain", 1),
    ("env", 0),
    ("os", 0),
];

/// Floors on which modules may know one another: settings, views and words share types; the surroundings ask the system.
const NEIGHBOURS: &[(&str, &str)] = &[("env", "os")];

fn floor(module: &str) -> Option<u8> {
    FLOORS.iter().find(|(name, _)| *name == module).map(|(_, floor)| *floor)
}

/// The source without comments and string contents, so that a path in a sentence is no import.
fn code(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The modules that a source names by `crate::…`, also inside a `use crate::{…}` tree.
fn named(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        if let Some(tree) = rest.strip_prefix('{') {
            let (mut depth, mut item) = (0, String::new());
            for letter in tree.chars() {
                match letter {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => found.push(std::mem::take(&mut item)),
                    _ if depth == 0 => item.push(letter),
                    _ => {}
                }
            }
            found.push(item);
        } else {
            found.push(rest.to_owned());
        }
    }
    found
        .iter()
        .map(|path| path.trim().chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect())
        .filter(|name: &String| !name.is_empty())
        .collect()
}

fn sources(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

fn violation(module: &str, target: &str) -> Option<String> {
    let from = floor(module)?;
    let Some(to) = floor(target) else { return Some(format!("{target} stands on no floor")) };
    let allowed = module == target || to < from || NEIGHBOURS.contains(&(module, target));
    (!allowed).then(|| format!("{module} (floor {from}) imports {target} (floor {to})"))
}

#[test]
fn imports_point_down_only() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut wrong = Vec::new();
    for file in &files {
        let inside = file.strip_prefix(&root).unwrap();
        let module = inside.iter().next().unwrap().to_string_lossy().trim_end_matches(".rs").to_owned();
        if module == "main" || module == "lib" {
            continue;
        }
        if floor(&module).is_none() {
            wrong.push(format!("{module} stands on no floor"));
        }
        for target in named(&code(&fs::read_to_string(file).unwrap())) {
            // `crate::` inside a macro that builds a path has no module of its own.
            wrong.extend(violation(&module, &target).map(|why| format!("{}: {why}", inside.display())));
        }
    }
    assert!(files.len() > 50, "only {} files were looked at", files.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn an_upward_step_and_an_unknown_module_are_found() {
    let code =
        code("use crate::{domain::Refusal, cli::{Context, Exit}};\n// crate::store\nlet x = crate::nowhere::y();");
    let named = named(&code);
    assert_eq!(named, ["domain", "cli", "nowhere"]);
    let wrong: Vec<String> = named.iter().filter_map(|target| violation("store", target)).collect();
    assert_eq!(wrong, ["store (floor 3) imports cli (floor 6)", "nowhere stands on no floor"]);
}
