//! The reference pages match the sources. `UPDATE_DOCS=1` writes their generated parts anew.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use regex::Regex;
use serde_json::Value;

use super::{is_update, root, text};
use crate::common::TestProject;
use crate::common::rust_files::SOURCES;

/// The line before a generated part.
pub const BEGIN: &str = "<!-- generated: UPDATE_DOCS=1 writes it anew -->\n";
/// The line after it.
pub const END: &str = "<!-- end of the generated part -->\n";

/// Compares the generated part of a page, or writes it.
#[track_caller]
fn hold(page: &str, generated: &str) {
    let source = text(page);
    let (before, rest) = source.split_once(BEGIN).unwrap_or_else(|| panic!("{page} has no '{}'", BEGIN.trim()));
    let (current, after) = rest.split_once(END).unwrap_or_else(|| panic!("{page} has no '{}'", END.trim()));
    if is_update() {
        fs::write(root().join(page), format!("{before}{BEGIN}{generated}{END}{after}")).unwrap();
    } else {
        assert!(current == generated, "{page} is not as the sources say: UPDATE_DOCS=1 writes it anew");
    }
}

/// Text for a table's cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// A command's help without the options of every command, of which `--help` is one.
fn help(world: &TestProject, path: &str) -> String {
    let words = path.split(' ').skip(1).chain(["--help"]);
    let run = world.run(words).exits(0);
    assert_eq!(run.stderr, "", "{path}");
    let text = run.stdout;
    let mut own = Vec::new();
    let mut is_global = false;
    for line in text.lines().map(str::trim_end) {
        // The list ends with the next line at the margin, such as a heading of examples.
        is_global = line.starts_with("Global options") || is_global && (line.is_empty() || line.starts_with(' '));
        if !is_global && !line.trim_start().starts_with("-h, --help") {
            own.push(line);
        }
    }
    own.join("\n").trim_end().to_owned()
}

/// The paths of a command and of the commands below it, hidden ones apart, each with its purpose.
fn paths(command: &clap::Command, path: &str, found: &mut Vec<(String, String)>) {
    found.push((path.to_owned(), command.get_about().map(ToString::to_string).unwrap_or_default()));
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        paths(below, &format!("{path} {}", below.get_name()), found);
    }
}

#[test]
fn cli_reference_is_the_help_of_every_command() {
    let world = TestProject::uninitialized();
    let mut commands = Vec::new();
    paths(&fairway::cli::command(), "fairway", &mut commands);
    assert!(commands.len() > 50, "only {commands:?}");
    // The options of every command are a topic of their own.
    let global = world.run(["help", "options"]).exits(0).stdout;
    assert!(global.contains("--json"), "no global options: {global}");
    let mut generated = format!("\n## Global options\n\n```text\n{}\n```\n\n", global.trim_end());
    generated.push_str("## Commands\n");
    for (path, _) in commands.iter().skip(1) {
        let name = path.rsplit(' ').next().unwrap();
        let begin = if path.matches(' ').count() == 1 { "\n- " } else { ", " };
        write!(generated, "{begin}[`{name}`](#{})", path.replace(' ', "-")).unwrap();
    }
    generated.push('\n');
    // A command with two names is described once.
    let mut described: Vec<(&String, String)> = Vec::new();
    for (path, _) in &commands {
        let page = help(&world, path);
        let form = page.split("\nExamples:").next().unwrap().replace(path, "COMMAND");
        if let Some((same, _)) = described.iter().find(|(_, known)| *known == form) {
            write!(generated, "\n## {path}\n\nThe same as [`{same}`](#{}).\n", same.replace(' ', "-")).unwrap();
            continue;
        }
        described.push((path, form));
        let listed = page.split("\nCommands:\n").nth(1).unwrap_or_default().split("\n\n").next().unwrap_or_default();
        for line in listed.lines().filter(|line| !line.starts_with("   ")) {
            assert!(line.split_whitespace().count() > 1, "no word about it: {line}");
        }
        // The commands of a group have sections of their own.
        let (head, rest) = page.split_once("\nCommands:\n").unwrap_or((&page, ""));
        let rest = rest.split_once("\n\n").map_or("", |(_, rest)| rest);
        let page = format!("{head}\n{rest}").replace("Options:\n\n", "");
        let page = page.trim_end().trim_end_matches("Options:").trim_end();
        write!(generated, "\n## {path}\n\n```text\n{page}\n```\n").unwrap();
    }
    // The other topics are pages of their own.
    for topic in ["environment", "plumbing"] {
        let page = world.run(["help", topic]).exits(0).stdout;
        write!(generated, "\n## fairway help {topic}\n\n```text\n{}\n```\n", page.trim_end()).unwrap();
    }
    generated.push('\n');
    hold("docs/reference/cli.md", &generated);
}

#[test]
fn config_reference_has_every_key() {
    let (mut generated, mut section) = (String::new(), String::new());
    for key in &fairway_core::config::KEYS {
        let (parent, name) = (key.section, key.name);
        if parent != section {
            parent.clone_into(&mut section);
            let heading = match parent.strip_suffix("[]") {
                Some(list) => format!("[[{list}]]"),
                None => format!("[{}]", parent.replace('*', "NAME")),
            };
            write!(generated, "\n## `{heading}`\n\n| key | default | variable | purpose |\n|---|---|---|---|\n")
                .unwrap();
        }
        let default = key.default.map_or_else(|| format!("– (such as `{}`)", key.sample), |value| format!("`{value}`"));
        let variable = key.env.map_or_else(|| "–".to_owned(), |name| format!("`{name}`"));
        writeln!(generated, "| `{name}` | {} | {variable} | {} |", cell(&default), cell(key.why)).unwrap();
    }
    generated.push('\n');
    hold("docs/reference/config.md", &generated);
}

/// The names `FAIRWAY_…` in a text.
fn variables(text: &str) -> BTreeSet<String> {
    let name = Regex::new(r"\bFAIRWAY_[A-Z][A-Z_]*[A-Z]\b").unwrap();
    name.find_iter(text).map(|found| found.as_str().to_owned()).collect()
}

fn walk(dir: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, found);
        } else {
            found.extend(variables(&String::from_utf8_lossy(&fs::read(&path).unwrap())));
        }
    }
}

#[test]
fn env_reference_has_every_variable() {
    let mut used = BTreeSet::new();
    for dir in SOURCES.into_iter().chain(["session-adapters", "examples", "packaging"]) {
        walk(&root().join(dir), &mut used);
    }
    let rows: String =
        text("docs/reference/env.md").lines().filter(|line| line.starts_with("| `")).collect::<Vec<_>>().join("\n");
    let documented = variables(&rows);
    let (missing, unknown): (Vec<_>, Vec<_>) =
        (used.difference(&documented).collect(), documented.difference(&used).collect());
    assert!(used.len() > 20, "only {used:?}");
    assert!(
        missing.is_empty() && unknown.is_empty(),
        "not in docs/reference/env.md: {missing:?}; only there: {unknown:?}"
    );
}

#[test]
fn http_reference_has_every_route() {
    let document: Value = serde_json::from_str(&text("docs/reference/openapi.json")).unwrap();
    let mut generated = String::from("\n| method | path | purpose |\n|---|---|---|\n");
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap().iter().filter(|(_, value)| value.is_object()) {
            let summary = operation["summary"].as_str().unwrap_or_else(|| panic!("{method} {path} has no summary"));
            writeln!(generated, "| {} | `{path}` | {} |", method.to_uppercase(), cell(summary)).unwrap();
        }
    }
    generated.push('\n');
    hold("docs/reference/http.md", &generated);
    // And each has a section.
    let page = text("docs/reference/http.md");
    let without: Vec<&String> = document["paths"]
        .as_object()
        .unwrap()
        .keys()
        .filter(|path| !page.lines().any(|line| line.starts_with("### ") && line.contains(&format!("`{path}`"))))
        .collect();
    assert!(without.is_empty(), "no section for {without:?}");
}

/// The page, `fairway help plumbing` and the shipped scripts use the same names.
#[test]
fn plumbing_page_help_and_scripts_name_the_same_commands() {
    let help = TestProject::uninitialized().run(["help", "plumbing"]).exits(0).stdout;
    let (_, listed) = help.split_once("Called by backend scripts").unwrap();
    let lines: Vec<(&str, &str)> = listed.lines().filter_map(|line| line.strip_prefix("  ")?.split_once(' ')).collect();
    let listed: BTreeSet<&str> = lines.iter().map(|(name, _)| *name).collect();
    let purposes: BTreeSet<&str> = lines.iter().map(|(_, purpose)| purpose.trim()).collect();
    assert_eq!(purposes.len(), lines.len(), "two commands have the same purpose: {help}");

    let page = text("docs/reference/backend-plumbing.md");
    let (steps, rest) = page.split_once("## Other commands").unwrap();
    let (table, _) = rest.split_once("## Typing").unwrap();
    let name = Regex::new(r"`([a-z][a-z-]*)[ `]").unwrap();
    let cells = table.lines().filter(|line| line.starts_with("| `")).map(|line| line.split(" | ").next().unwrap());
    let items = steps.lines().filter(|line| line.starts_with("- `")).map(|line| line.split(". ").next().unwrap());
    let mut described: BTreeSet<&str> = BTreeSet::new();
    for cell in cells {
        described.extend(name.captures_iter(cell).map(|found| found.get(1).unwrap().as_str()));
    }
    for item in items {
        described.extend(name.captures(item).map(|found| found.get(1).unwrap().as_str()));
    }
    assert_eq!(described, listed);

    let call = Regex::new(r"adapter ([a-z][a-z-]*)").unwrap();
    let sources = ["session-adapters", "examples/session-adapters"].map(|dir| fs::read_dir(root().join(dir)).unwrap());
    let mut called = BTreeSet::new();
    let files = sources.into_iter().flatten().map(|entry| entry.unwrap().path());
    for file in files.filter(|path| path.is_file()) {
        let script = fs::read_to_string(&file).unwrap();
        called.extend(call.captures_iter(&script).map(|found| found[1].to_owned()));
    }
    called.extend(call.captures_iter(&page).map(|found| found[1].to_owned()));
    let of_people = ["check", "install", "list"];
    let unknown: Vec<&String> =
        called.iter().filter(|name| !listed.contains(name.as_str()) && !of_people.contains(&name.as_str())).collect();
    assert!(unknown.is_empty() && called.len() > 20, "{unknown:?} of {called:?}");
}
