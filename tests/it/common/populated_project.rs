//! A project in which every verb has something to work on.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::Ordering::Relaxed;

use super::command_table::CommandRow;
use super::{TestProject, fixtures};

impl TestProject {
    /// A world in which every verb has something to work on: T-1 and T-4 are todo, T-2 is held, T-3 blocked, T-5 cancelled,
    /// T-6 submitted, T-7 held and shown to be done; a lane `ui`, a session `s1` that lives, `s2` that has ended and `s4`
    /// whose backend says yes to everything; a background run that has ended; a checkpoint, evidence, a handoff and a message; a file of tasks and a backup.
    pub fn populated() -> Self {
        let world = Self::new();
        // The first command after the beginning: its id is that of the rows above, 000007d1.
        world.run(["exec", "spawn", "--foreground", "--", "echo", "hi"]).exits(0);
        let config = world.root().join(".fairway.toml");
        let text = fs::read_to_string(&config).unwrap();
        fs::write(&config, format!("{text}\n[gates.merge]\nrequire = [\"evidence\"]\n")).unwrap();
        for id in ["T-1", "T-2", "T-3", "T-4", "T-5", "T-6", "T-7"] {
            world.run(["task", "add", id, "title", "--check", "ok=true"]).exits(0);
        }
        world.run(["lane", "add", "ui"]).exits(0);
        world.add_session("s1");
        world.add_session("s4");
        world.give_backend("s4");
        fixtures::add_approval(&world, "s4", "Bash", true);
        fs::write(world.root().join("s2.log"), "what it printed\n").unwrap();
        fs::write(world.root().join("call.json"), r#"{"command":"true"}"#).unwrap();
        fs::write(world.root().join("tasks.jsonl"), "{\"id\": \"I-1\", \"title\": \"from a file\"}\n").unwrap();
        for call in [
            "task dep add T-1 T-5",
            "task dep rm T-1 T-5",
            "claim T-2",
            "claim T-3",
            "claim T-6",
            "claim T-7",
            "task block T-3 --reason rain",
            "task cancel T-5 --reason no",
            "task submit T-6",
            "checkpoint record T-2 --state active --summary here",
            "evidence add T-7 --result pass",
            "handoff create T-2 --to qa --summary over",
            "message send hi --to-role qa",
            "session upsert --id s2 --role worker --transcript s2.log",
            "session end s2",
            "backup kept.db",
        ] {
            world.run(call.split(' ')).exits(0);
        }
        let repository = world.root().join("repository");
        fs::create_dir(&repository).unwrap();
        world.git(&repository, &["init", "--quiet", "--template=", "--initial-branch=main"]);
        fs::write(repository.join("cart.txt"), "total\n").unwrap();
        world.git(&repository, &["add", "cart.txt"]);
        world.git(&repository, &["commit", "--quiet", "--message=begin"]);
        // A difference to print.
        fs::write(repository.join("new.txt"), "new\n").unwrap();
        // So that what a row asks for before its call has the id that stands there, whatever is added above.
        world.commands.store(500, Relaxed);
        world
    }

    /// Gives a registered session a backend that says yes to everything, and does nothing.
    fn give_backend(&self, session: &str) {
        let script = self.root().join("yes.sh");
        let text = "#!/bin/sh\ncase $1 in is-running) echo true ;; get-meta) [ \"$3\" != key ] || echo value ;; \
            protocol) echo '{\"capabilities\":[\"follow\"]}' ;; esac\n";
        fs::write(&script, text).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let state = self.dir().join("state").display().to_string();
        let conn = rusqlite::Connection::open(self.store()).unwrap();
        conn.execute(
            "UPDATE agent_sessions SET backend = 'exec:yes', host = ?2, host_id = NULL, adapter_script = ?3, adapter_state = ?4 \
             WHERE id = ?1",
            (session, fairway_core::os::host::identity().name, script.display().to_string(), state),
        )
        .unwrap();
        self.trust_script(&script);
    }

    /// Has the user of this world trust a script, as a launch with it would.
    fn trust_script(&self, script: &std::path::Path) {
        let mut env = fairway_core::env::Env::from_process();
        env.home = Some(self.dir().join("home"));
        let root = self.root().canonicalize().unwrap();
        fairway_core::config::trust::remember_script(&env, &root, script).unwrap();
    }

    /// A world of its own like this one, ready for the verb's call.
    pub fn ready_for(&self, verb: &CommandRow) -> Self {
        let world = self.copy();
        for call in verb.before {
            world.run(call.split(' ')).exits(0);
        }
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
        let other = Self::uninitialized();
        // Its clock and its ids go on where this one's stand.
        other.advance_clock(self.commands.load(Relaxed));
        copy(&self.root(), &other.root());
        // A lock is not copied with its file.
        if self.root().join(".fairway/runtime/attended/approval:1").exists() {
            fixtures::await_answer(&other, 1);
        }
        other.trust_script(&self.root().join("yes.sh"));
        other
    }

    /// The content of the store, row by row: equal before and after a command that writes nothing.
    pub fn all_rows(&self) -> Vec<String> {
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
