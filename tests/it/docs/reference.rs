//! The reference pages match the sources. `UPDATE_DOCS=1` writes their generated parts anew.

use std::collections::{BTreeMap, BTreeSet};
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

/// The parts of a command's help that the reference shows: no long text, no examples, no options of every command.
struct Help {
    path: String,
    about: String,
    /// None for a group, which is no command itself.
    usage: Option<String>,
    /// Arguments and options, each with the lines that continue it.
    items: Vec<String>,
}

impl Help {
    fn of(world: &TestProject, path: &str) -> Self {
        let words = path.split(' ').skip(1).chain(["--help"]);
        let run = world.run(words).exits(0);
        assert_eq!(run.stderr, "", "{path}");
        let (about, rest) = run.stdout.split_once("\nUsage: ").unwrap();
        let (usage, rest) = rest.split_once('\n').unwrap();
        let (mut items, mut is_shown): (Vec<String>, bool) = (Vec::new(), false);
        for line in rest.lines().map(str::trim_end) {
            if !line.starts_with(' ') {
                // The commands of a group are described themselves.
                is_shown = match line {
                    "Arguments:" | "Options:" => true,
                    "" => is_shown,
                    _ => false,
                };
            } else if is_shown && !line.trim_start().starts_with("-h, --help") {
                let begins = line.trim_start().starts_with(['-', '<', '[']) && line.find(|at| at != ' ') < Some(8);
                match items.last_mut().filter(|_| !begins) {
                    Some(item) => write!(item, "\n{line}").unwrap(),
                    None => items.push(line.to_owned()),
                }
            }
        }
        let usage = usage.replace(" [OPTIONS]", "");
        Self {
            path: path.to_owned(),
            about: about.trim().to_owned(),
            usage: Some(usage).filter(|usage| !usage.ends_with("<COMMAND>")),
            items,
        }
    }

    fn purpose(&self) -> &str {
        self.about.lines().next().unwrap()
    }

    /// The same for two names of one command.
    fn form(&self) -> String {
        [&[self.about.clone(), self.usage.clone().unwrap_or_default()], self.items.as_slice()]
            .concat()
            .join("\n")
            .replace(&self.path, "COMMAND")
    }

    /// The command in the block of its group. An item that many commands have is only named.
    fn text(&self, usage: &str, shared: &BTreeMap<String, String>) -> String {
        let is_shared = |item: &&String| shared.get(name(item)) == Some(&one_line(item));
        let mut text = format!("{usage}\n  {}\n", self.purpose());
        let also: Vec<&str> =
            self.items.iter().filter(is_shared).map(|item| name(item)).filter(|name| name.starts_with('-')).collect();
        let own: Vec<&String> = self.items.iter().filter(|item| !is_shared(item)).collect();
        for item in own {
            writeln!(text, "{item}").unwrap();
        }
        if !also.is_empty() {
            writeln!(text, "      also: {}", also.join(", ")).unwrap();
        }
        text
    }
}

/// An argument or option without its help.
fn name(item: &str) -> &str {
    item.trim_start().split("  ").next().unwrap()
}

fn one_line(item: &str) -> String {
    item.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The paths of a command and of the commands below it, hidden ones apart.
fn paths(command: &clap::Command, path: &str, found: &mut Vec<String>) {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        let path = format!("{path} {}", below.get_name());
        found.push(path.clone());
        paths(below, &path, found);
    }
}

/// The items that at least so many commands have are described once.
const SHARED_BY: usize = 3;

/// The items that many commands have, each in its most frequent form, by name.
fn shared_items(pages: &[Help]) -> BTreeMap<String, String> {
    let mut counts: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for item in pages.iter().flat_map(|page| &page.items) {
        *counts.entry((name(item), one_line(item))).or_default() += 1;
    }
    let mut shared: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for ((name, item), count) in counts.into_iter().filter(|(_, count)| *count >= SHARED_BY) {
        let most = shared.entry(name.to_owned()).or_default();
        if count > most.0 {
            *most = (count, item);
        }
    }
    shared.into_iter().map(|(name, (_, item))| (name, item)).collect()
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
    let pages: Vec<Help> = commands.iter().map(|path| Help::of(&world, path)).collect();
    let shared = shared_items(&pages);
    let mut generated = format!("\n## Options of every command\n\n```text\n{}\n```\n", global.trim_end());
    generated.push_str("\n## Options of several commands\n\n```text\n");
    for (name, item) in shared.iter().filter(|(name, _)| name.starts_with('-')) {
        writeln!(generated, "{name:<22}{}", item[name.len()..].trim_start()).unwrap();
    }
    generated.push_str("```\n");
    // A command with two names is described once.
    let mut described: Vec<(&str, String)> = Vec::new();
    let mut is_open = false;
    for page in &pages {
        let is_top = page.path.matches(' ').count() == 1;
        if is_top {
            let heading = if std::mem::take(&mut is_open) { "```\n\n" } else { "\n" };
            write!(generated, "{heading}## {}\n\n", page.path).unwrap();
        }
        let Some(usage) = &page.usage else {
            assert!(page.items.is_empty(), "{}", page.path);
            if is_top {
                write!(generated, "{}.\n\n", page.purpose()).unwrap();
            }
            continue;
        };
        generated.push_str(if std::mem::replace(&mut is_open, true) { "\n" } else { "```text\n" });
        let form = page.form();
        match described.iter().find(|(_, known)| *known == form) {
            Some((same, _)) => writeln!(generated, "{} is {same}", page.path).unwrap(),
            None => generated.push_str(&page.text(usage, &shared)),
        }
        described.push((&page.path, form));
    }
    generated.push_str("```\n\n");
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
            write!(generated, "\n## `{heading}`\n\n").unwrap();
        }
        let value = key.default.map_or_else(|| format!(", such as `{}`", key.sample), |value| format!(" = `{value}`"));
        let variable = key.env.map_or_else(String::new, |name| format!(" (`{name}`)"));
        writeln!(generated, "- `{name}`{value}: {}{variable}", key.why.replace('\n', " ")).unwrap();
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
        text("docs/reference/env.md").lines().filter(|line| line.starts_with("- `")).collect::<Vec<_>>().join("\n");
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
    let mut generated = String::from("\n");
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap().iter().filter(|(_, value)| value.is_object()) {
            let summary = operation["summary"].as_str().unwrap_or_else(|| panic!("{method} {path} has no summary"));
            writeln!(generated, "- `{} {path}`: {summary}", method.to_uppercase()).unwrap();
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
