//! The reference pages match the sources. `UPDATE_DOCS=1` writes their generated parts anew.

use std::{collections::BTreeSet, fmt::Write, fs, path::Path};

use regex::Regex;
use serde_json::Value;

use super::{is_update, root, text};

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

/// The command's help without the options that every command takes.
fn own_help(command: &mut clap::Command) -> String {
    let help = command.render_long_help().to_string();
    let Some((own, rest)) = help.split_once("Global options:\n") else { return help };
    // Text that follows the options, such as examples, begins at the margin.
    let after: Vec<&str> = rest.lines().skip_while(|line| line.is_empty() || line.starts_with(' ')).collect();
    format!("{own}{}", after.join("\n"))
}

/// The sections of a command and of the commands below it.
fn describe(command: &mut clap::Command, path: &str, index: &mut String, sections: &mut String) {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let anchor = path.replace(' ', "-");
    writeln!(index, "| [`{path}`](#{anchor}) | {} |", cell(&about)).unwrap();
    let help = own_help(command);
    let help: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    write!(sections, "\n## {path}\n\n```text\n{}\n```\n", help.join("\n")).unwrap();
    let below: Vec<String> = command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
        .map(|below| below.get_name().to_owned())
        .collect();
    for name in below.iter().filter(|name| *name != "help") {
        describe(command.find_subcommand_mut(name).unwrap(), &format!("{path} {name}"), index, sections);
    }
}

#[test]
fn cli_reference_is_the_help_of_every_command() {
    let mut command = fairway::cli::command().term_width(100);
    command.build();
    let global = command.render_long_help().to_string();
    let (_, global) = global.split_once("Global options:\n").unwrap();
    let global: Vec<&str> =
        global.lines().take_while(|line| line.is_empty() || line.starts_with(' ')).map(str::trim_end).collect();
    let (mut index, mut sections) = (String::new(), String::new());
    describe(&mut command, "fairway", &mut index, &mut sections);
    let generated = format!(
        "\n## Global options\n\nEvery command takes these options.\n\n```text\n{}\n```\n\n## Commands\n\n| command | purpose |\n|---|---|\n{index}{sections}",
        global.join("\n").trim_end()
    );
    assert!(generated.contains("\n## fairway task add\n") && generated.contains("\n## fairway claim\n"));
    hold("docs/reference/cli.md", &generated);
}

#[test]
fn config_reference_has_every_key() {
    let (mut generated, mut section) = (String::new(), String::new());
    for key in fairway::config::KEYS {
        let (parent, name) = key.path.rsplit_once('.').unwrap_or(("", key.path));
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
    for dir in ["src", "session-adapters", "examples"] {
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
    let document: Value = serde_json::from_str(&text("src/api/openapi.json")).unwrap();
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
