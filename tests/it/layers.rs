//! Imports point down only: between the top-level modules, between the groups of `actions`, and between files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::import_graph::ImportGraph;

/// Every top-level module and its layer; `docs/design/architecture.md` shows the same table.
const LAYERS: &[(&str, u8)] = &[
    ("cli", 6),
    ("api", 5),
    ("hooks", 5),
    ("mcp", 5),
    ("actions", 4),
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

/// The groups of `actions`, lowest first. A group imports from itself and from lower groups.
const ACTION_GROUPS: &[&str] = &["core", "mail", "queue", "sessions", "jobs", "land", "agents", "board", "upkeep"];

fn layer(module: &str) -> Option<u8> {
    LAYERS.iter().find(|(name, _)| *name == module).map(|(_, layer)| *layer)
}

/// The first component of a source path: the module at the top, or the group inside `actions`.
fn part(path: &Path, position: usize) -> String {
    let name = path.iter().nth(position).unwrap_or_default().to_string_lossy();
    name.trim_end_matches(".rs").to_owned()
}

fn layer_violation(from: &Path, to: &Path) -> Option<String> {
    let (source, target) = (part(from, 0), part(to, 0));
    let Some(source_layer) = layer(&source) else { return Some(format!("{source} has no layer")) };
    let Some(target_layer) = layer(&target) else { return Some(format!("{target} has no layer")) };
    let allowed =
        source == target || target_layer < source_layer || SAME_LAYER.contains(&(source.as_str(), target.as_str()));
    (!allowed)
        .then(|| format!("{} (layer {source_layer}) imports {} (layer {target_layer})", from.display(), to.display()))
}

fn group_violation(from: &Path, to: &Path) -> Option<String> {
    if part(from, 0) != "actions" || part(to, 0) != "actions" || from.ends_with("mod.rs") && from.iter().count() == 2 {
        return None;
    }
    let rank = |path: &Path| ACTION_GROUPS.iter().position(|group| *group == part(path, 1));
    let (Some(source), Some(target)) = (rank(from), rank(to)) else {
        return Some(format!("{} → {}: a file of actions is outside of every group", from.display(), to.display()));
    };
    (target > source).then(|| format!("{} imports {} of a higher group", from.display(), to.display()))
}

fn sources() -> ImportGraph {
    ImportGraph::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
}

#[test]
fn imports_point_to_lower_layers() {
    let graph = sources();
    let found: Vec<String> = graph
        .edges()
        .iter()
        .filter(|(from, _)| !from.ends_with("lib.rs"))
        .filter_map(|(from, to)| layer_violation(from, to))
        .collect();
    assert!(graph.len() > 50, "only {} files were read", graph.len());
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn action_groups_import_lower_groups_only() {
    let found: Vec<String> = sources().edges().iter().filter_map(|(from, to)| group_violation(from, to)).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn files_form_no_import_cycle() {
    let cycles = sources().cycles();
    assert!(cycles.is_empty(), "{cycles:#?}");
}

/// The transitions of a session are visible to the domain only, so that the writes of rows are left to be looked at.
#[test]
fn use_cases_change_sessions_in_one_file() {
    let writes = regex::Regex::new(r"\bsessions::(insert|update|touch)\(").unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let has_writes = |file: &PathBuf| writes.is_match(&fs::read_to_string(root.join(file)).unwrap());
    let files: BTreeSet<PathBuf> = sources().edges().into_iter().map(|(from, _)| from).collect();
    let found: Vec<&PathBuf> = files.iter().filter(|file| file.starts_with("actions") && has_writes(file)).collect();
    assert_eq!(found, [Path::new("actions/core/session_events.rs")]);
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
    assert!(group("actions/queue/task/claim.rs", "actions/jobs/spawn.rs"));
    assert!(group("actions/queue/task/claim.rs", "actions/stray.rs"));
    assert!(!group("actions/jobs/spawn.rs", "actions/queue/task/claim.rs"));
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
