//! Imports point down only: between the modules of a crate, between the groups of use cases, and between files. The compiler sees to it
//! between the crates.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::import_graph::ImportGraph;
use crate::common::rust_files::{SOURCES, sources};

/// Every module of a crate that has layers, with its layer; `docs/design/architecture.md` shows the same table.
const LAYERS: &[(&str, u8)] = &[
    ("cli", 6),
    ("api", 5),
    ("hooks", 5),
    ("mcp", 5),
    ("store", 3),
    ("adapters", 3),
    ("supervisor", 3),
    ("api_client", 3),
    ("config", 2),
    ("wire", 2),
    ("render", 2),
    ("guard", 1),
    ("acp", 1),
    ("domain", 1),
    ("env", 0),
    ("os", 0),
];

/// Modules of one layer of which the first may import the second.
const SAME_LAYER: &[(&str, &str)] = &[("env", "os"), ("guard", "domain"), ("acp", "domain")];

/// The groups of use cases, lowest first. A group imports from itself and from lower groups.
const ACTION_GROUPS: &[&str] = &["core", "mail", "queue", "sessions", "jobs", "land", "agents", "board", "upkeep"];

fn layer(module: &str) -> Option<u8> {
    LAYERS.iter().find(|(name, _)| *name == module).map(|(_, layer)| *layer)
}

/// The first component of a source path: the module at the top of its crate.
fn part(path: &Path) -> String {
    let name = path.iter().next().unwrap_or_default().to_string_lossy();
    name.trim_end_matches(".rs").to_owned()
}

fn layer_violation(from: &Path, to: &Path) -> Option<String> {
    let (source, target) = (part(from), part(to));
    let Some(source_layer) = layer(&source) else { return Some(format!("{source} has no layer")) };
    let Some(target_layer) = layer(&target) else { return Some(format!("{target} has no layer")) };
    let allowed =
        source == target || target_layer < source_layer || SAME_LAYER.contains(&(source.as_str(), target.as_str()));
    (!allowed)
        .then(|| format!("{} (layer {source_layer}) imports {} (layer {target_layer})", from.display(), to.display()))
}

fn group_violation(from: &Path, to: &Path) -> Option<String> {
    let rank = |path: &Path| ACTION_GROUPS.iter().position(|group| *group == part(path));
    let (Some(source), Some(target)) = (rank(from), rank(to)) else {
        return Some(format!("{} → {}: a file is outside of every group", from.display(), to.display()));
    };
    (target > source).then(|| format!("{} imports {} of a higher group", from.display(), to.display()))
}

/// The graphs of the program, of the use cases and of what they are made of.
fn graphs() -> [ImportGraph; 3] {
    SOURCES.map(|folder| ImportGraph::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)))
}

/// The imports of a crate, without those of its table of contents.
fn edges(graph: &ImportGraph) -> impl Iterator<Item = (PathBuf, PathBuf)> {
    graph.edges().into_iter().filter(|(from, to)| !from.ends_with("lib.rs") && !to.ends_with("lib.rs"))
}

#[test]
fn imports_point_to_lower_layers() {
    let [program, _, core] = graphs();
    let found: Vec<String> =
        edges(&program).chain(edges(&core)).filter_map(|(from, to)| layer_violation(&from, &to)).collect();
    assert!(program.len() > 200 && core.len() > 400, "{} and {} files were read", program.len(), core.len());
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn action_groups_import_lower_groups_only() {
    let [_, actions, _] = graphs();
    assert!(actions.len() > 300, "only {} files were read", actions.len());
    let found: Vec<String> = edges(&actions).filter_map(|(from, to)| group_violation(&from, &to)).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn files_form_no_import_cycle() {
    let cycles = graphs().map(|graph| graph.cycles()).concat();
    assert!(cycles.is_empty(), "{cycles:#?}");
}

/// The transitions of a session are visible to the domain only, so that the writes of rows are left to be looked at.
#[test]
fn use_cases_change_sessions_in_one_file() {
    let writes = regex::Regex::new(r"\bsessions::(insert|update|touch)\(").unwrap();
    let has_writes = |file: &PathBuf| writes.is_match(&fs::read_to_string(file).unwrap());
    let found: Vec<PathBuf> = sources().into_iter().filter(has_writes).collect();
    let found: Vec<&Path> = found.iter().map(|file| file.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap()).collect();
    assert_eq!(found, [Path::new("crates/fairway-actions/src/core/session_events.rs")]);
}

#[test]
fn upward_import_and_unknown_module_are_found() {
    let violation = |from: &str, to: &str| layer_violation(Path::new(from), Path::new(to));
    assert_eq!(
        violation("store/tasks.rs", "cli/context.rs").as_deref(),
        Some("store/tasks.rs (layer 3) imports cli/context.rs (layer 6)")
    );
    assert_eq!(violation("store/tasks.rs", "nowhere/x.rs").as_deref(), Some("nowhere has no layer"));
    assert_eq!(violation("store/tasks.rs", "domain/task.rs"), None);
    let group = |from: &str, to: &str| group_violation(Path::new(from), Path::new(to)).is_some();
    assert!(group("queue/task/claim.rs", "jobs/spawn.rs"));
    assert!(group("queue/task/claim.rs", "stray.rs"));
    assert!(!group("jobs/spawn.rs", "queue/task/claim.rs"));
}

#[test]
fn cycle_through_reexports_and_macros_is_found() {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let file = root.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    write("lib.rs", "pub mod a;\npub mod b;\n");
    // A table of contents closes no cycle, although its children name each other through it.
    write("a/mod.rs", "mod one;\nmod two;\npub use one::One;\npub use two::Two;\n");
    write("a/one.rs", "use super::Two;\npub struct One(pub Two);\n");
    write("a/two.rs", "pub struct Two;\n#[cfg(test)]\nmod tests { use crate::a::One; fn f() -> One { todo!() } }\n");
    write("b.rs", "use crate::a;\npub fn f() { let _ = a::One(a::Two); }\n");
    assert!(ImportGraph::read(root.path()).cycles().is_empty());
    write("a/two.rs", "pub struct Two;\npub fn f() -> String { format!(\"{:?}\", crate::b::f()) }\n");
    let cycles = ImportGraph::read(root.path()).cycles();
    assert_eq!(cycles.len(), 1, "{cycles:?}");
    assert_eq!(cycles[0], ["a/mod.rs", "a/one.rs", "a/two.rs", "b.rs"].map(PathBuf::from));
}
