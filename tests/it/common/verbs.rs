//! Every verb with a call that works in a furnished world, and the places where a person's text goes. A verb of the parser
//! that has no row here fails the tests that walk over all of them.

use std::fs;

use super::World;

/// Stands for the text in a call.
pub const TEXT: &str = "{}";

/// A verb.
pub struct Verb {
    /// Its words.
    pub path: &'static str,
    /// A call that exits 0 in a [`World::furnished`] one; words without spaces.
    pub good: &'static str,
    /// Calls with [`TEXT`] where a person's text goes.
    pub texts: &'static [&'static str],
}

const fn verb(path: &'static str, good: &'static str, texts: &'static [&'static str]) -> Verb {
    Verb { path, good, texts }
}

/// Every verb, in the order of the help.
pub const VERBS: &[Verb] = &[
    verb("init", "init", &["init --root {}"]),
    verb(
        "task add",
        "task add N-1 title",
        &[
            "task add N-{n} {}",
            "task add {} title",
            "task add N-{n} t --body {}",
            "task add N-{n} t --body-file {}",
            "task add N-{n} t --role {}",
            "task add N-{n} t --lane {}",
            "task add N-{n} t --parent {}",
            "task add N-{n} t --priority {}",
            "task add N-{n} t --label {}",
            "task add N-{n} t --path {}",
            "task add N-{n} t --depends-on {}",
            "task add N-{n} t --check {}",
            "task add N-{n} t --check a={}",
            "task add N-{n} t --review-domain {}",
            "task add N-{n} t --request-id {}",
            "task add N-{n} t --as {}",
            "task add N-{n} t --session {}",
            "task add N-{n} t --root {}",
            "task add N-{n} t --color {}",
        ],
    ),
    verb(
        "task list",
        "task list",
        &["task list --status {}", "task list --label {}", "task list --lane {}", "task list --limit {}"],
    ),
    verb("task show", "task show T-1", &["task show {}"]),
    verb(
        "task edit",
        "task edit T-1 --title other",
        &["task edit {} --title x", "task edit T-1 --title {}", "task edit T-1 --body {}", "task edit T-1 --label {}"],
    ),
    verb("task dep add", "task dep add T-1 T-4", &["task dep add T-1 {}", "task dep add {} T-1"]),
    verb("task dep rm", "task dep rm T-1 T-4", &["task dep rm T-1 {}"]),
    verb("task dep tree", "task dep tree T-1", &["task dep tree {}"]),
    verb("task block", "task block T-2 --reason rain", &["task block {} --reason r", "task block T-2 --reason {}"]),
    verb("task unblock", "task unblock T-3", &["task unblock T-3 --force --reason {}"]),
    verb("task submit", "task submit T-2", &["task submit T-2 --commit {}"]),
    verb("task cancel", "task cancel T-4 --reason rain", &["task cancel T-4 --reason {}"]),
    verb("task reopen", "task reopen T-5 --reason again", &["task reopen T-5 --reason {}"]),
    verb("task import", "task import tasks.yaml", &["task import {}"]),
    verb("task export", "task export", &["task export --format {}"]),
    verb(
        "lane add",
        "lane add api",
        &[
            "lane add {}",
            "lane add l{n} --title {}",
            "lane add l{n} --role {}",
            "lane add l{n} --branch {}",
            "lane add l{n} --base {}",
            "lane add l{n} --worktree {}",
            "lane add l{n} --wip {}",
            "lane add l{n} --provider {}",
            "lane add l{n} --backend {}",
        ],
    ),
    verb("lane list", "lane list", &[]),
    verb("lane show", "lane show ui", &["lane show {}"]),
    verb("lane edit", "lane edit ui --wip 3", &["lane edit ui --title {}", "lane edit ui --branch {}"]),
    verb("lane pause", "lane pause ui", &["lane pause {}"]),
    verb("lane open", "lane open ui", &["lane open {}"]),
    verb("lane close", "lane close ui", &["lane close {}"]),
    verb("lane rm", "lane rm ui", &["lane rm {}"]),
    verb("ready", "ready", &["ready --role {}", "ready --lane {}", "ready --limit {}"]),
    verb(
        "claim",
        "claim T-1",
        &[
            "claim {}",
            "claim --role {}",
            "claim T-1 --lane {}",
            "claim T-1 --lease {}",
            "claim T-1 --steal --reason {}",
            "claim T-1 --epoch {}",
        ],
    ),
    verb("release", "release T-2", &["release {}", "release T-2 --reason {}", "release T-2 --force --reason {}"]),
    verb("events", "events", &["events --since {}"]),
    verb("config show", "config show", &[]),
    verb("config check", "config check", &[]),
    verb("config example", "config example", &[]),
    verb("completions", "completions bash", &["completions {}"]),
    verb("man", "man", &["man {}"]),
];

/// The words of every verb that the parser knows, in its order.
pub fn of_the_parser() -> Vec<String> {
    fn walk(command: &clap::Command, above: &str, found: &mut Vec<String>) {
        for below in command.get_subcommands() {
            let path = format!("{above} {}", below.get_name()).trim().to_owned();
            if below.has_subcommands() {
                walk(below, &path, found);
            } else {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&fairway::cli::command(), "", &mut found);
    found
}

impl World {
    /// A world in which every verb has something to work on: T-1 and T-4 are todo, T-2 is held, T-3 blocked, T-5 cancelled;
    /// a lane `ui`, a session `s1`, a file of tasks.
    pub fn furnished() -> Self {
        let world = Self::new();
        for id in ["T-1", "T-2", "T-3", "T-4", "T-5"] {
            world.run(["task", "add", id, "title"]).exits(0);
        }
        world.run(["task", "dep", "add", "T-1", "T-5"]).exits(0);
        world.run(["task", "dep", "rm", "T-1", "T-5"]).exits(0);
        for id in ["T-2", "T-3"] {
            world.run(["claim", id]).exits(0);
        }
        world.run(["task", "block", "T-3", "--reason", "rain"]).exits(0);
        world.run(["task", "cancel", "T-5", "--reason", "no"]).exits(0);
        world.run(["lane", "add", "ui"]).exits(0);
        world.register("s1");
        fs::write(world.root().join("tasks.yaml"), "- id: I-1\n  title: from a file\n").unwrap();
        world
    }

    /// A world whose project is a copy of this one's.
    pub fn copy(&self) -> Self {
        fn copy(from: &std::path::Path, to: &std::path::Path) {
            for entry in fs::read_dir(from).unwrap() {
                let entry = entry.unwrap();
                let target = to.join(entry.file_name());
                if entry.file_type().unwrap().is_dir() {
                    fs::create_dir_all(&target).unwrap();
                    fs::set_permissions(&target, entry.metadata().unwrap().permissions()).unwrap();
                    copy(&entry.path(), &target);
                } else if entry.file_type().unwrap().is_file() {
                    fs::copy(entry.path(), target).unwrap();
                }
            }
        }
        let other = Self::bare();
        copy(&self.root(), &other.root());
        other
    }

    /// What the store holds, row by row: equal before and after what wrote nothing.
    pub fn content(&self) -> Vec<String> {
        let conn = rusqlite::Connection::open(self.store()).unwrap();
        let mut statement = conn.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").unwrap();
        let tables: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        let mut content = Vec::new();
        for table in tables {
            let mut statement = conn.prepare(&format!("SELECT * FROM {table}")).unwrap();
            let width = statement.column_count();
            let mut rows = statement.query([]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                for column in 0..width {
                    let value: rusqlite::types::Value = row.get(column).unwrap();
                    content.push(match value {
                        rusqlite::types::Value::Text(text) => text,
                        other => format!("{other:?}"),
                    });
                }
            }
        }
        content
    }
}
