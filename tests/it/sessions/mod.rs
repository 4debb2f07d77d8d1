//! Sessions with real processes: adapters, launch, trust; how sessions are found, live, end, and are settled.

mod adopted_panes;
mod agent_in_tmux;
mod answer;
mod answer_interleavings;
mod continue_claim;
mod control;
mod dead_claimants;
mod dry_run;
mod external_caller;
mod failed_launch;
mod interrupted_start;
mod lane_moves_on;
mod lane_ports;
mod lane_ready;
mod launch;
mod launch_bridges;
mod launch_notes;
mod launch_profile;
mod launch_prompt;
mod lifecycle;
mod mass_stale;
mod moved_project;
mod names;
mod one_agent;
mod peek_after_end;
mod pid_reuse;
mod plumbing;
mod program_end;
mod protocol_table;
mod provider_event;
mod provider_event_watcher;
mod public_projects;
mod question;
mod reconcile;
mod reconcile_by_cron;
mod recorded_dialogs;
mod recorded_terminals;
mod relaunch;
mod repeated_launch;
mod resumption;
mod scripted_agent;
mod shell_input;
mod start;
mod start_steps;
mod status_of_many;
mod stops;
mod successor;
mod tmux;
mod trust;
mod upsert;
mod work;
mod worktree_by_launch;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fairway_core::os::process::{ProcessKey, ProcessStatus};
use fairway_core::os::{poll_until, process_tree};
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::common::TestProject;

/// A world whose sessions are ended with it.
pub struct Sessions(TestProject);

impl std::ops::Deref for Sessions {
    type Target = TestProject;

    fn deref(&self) -> &TestProject {
        &self.0
    }
}

impl std::ops::DerefMut for Sessions {
    fn deref_mut(&mut self) -> &mut TestProject {
        &mut self.0
    }
}

impl Sessions {
    /// With real ids: processes are found by their run, and another test's must not be.
    pub fn new() -> Self {
        let world = TestProject::new();
        world.real_time();
        Self(world)
    }

    /// A world in a repository with one commit.
    pub fn with_git() -> Self {
        let world = TestProject::with_git();
        world.real_time();
        Self(world)
    }

    /// Launches, demands success, and answers with the session.
    #[track_caller]
    pub fn launch(&self, args: &[&str]) -> Value {
        let (flags, words) = args.split_at(args.iter().position(|word| *word == "--").unwrap_or(args.len()));
        self.run(["session", "launch", "--json"].iter().chain(flags).chain(words)).exits(0).json()
    }

    /// The columns of a session's row.
    #[track_caller]
    pub fn session(&self, id: &str) -> BTreeMap<String, String> {
        self.rows(&format!("SELECT * FROM agent_sessions WHERE id = '{id}'")).pop().expect("the session's row")
    }

    /// Kills all processes of a session, so that nothing records its end.
    #[track_caller]
    pub fn kill(&self, id: &str) {
        let session = self.session(id);
        kill_run(session["pid"].parse().unwrap(), &session["run_id"]);
    }

    /// The name of a session in its backend.
    #[track_caller]
    pub fn backend_name(&self, id: &str) -> String {
        self.session(id).remove("session_name").unwrap_or_default()
    }

    /// The directory in which a built-in script keeps a session.
    #[track_caller]
    pub fn backend_dir(&self, id: &str) -> PathBuf {
        let name = self.backend_name(id).replace('.', "%2E");
        self.dir().join(format!("home/.local/state/fairway/adapters/s-{name}"))
    }

    /// The rows of a query, as text.
    #[track_caller]
    pub fn rows(&self, query: &str) -> Vec<BTreeMap<String, String>> {
        #[cfg(feature = "postgres")]
        if let Some((server, schema)) = &self.on_server {
            return server.rows(schema, query);
        }
        let conn = rusqlite::Connection::open(self.store()).unwrap();
        let mut statement = conn.prepare(query).unwrap();
        let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let rows = statement.query_map([], |row| {
            Ok(names
                .iter()
                .enumerate()
                .map(|(at, name)| {
                    let value: rusqlite::types::Value = row.get(at).unwrap();
                    let text = match value {
                        rusqlite::types::Value::Null => String::new(),
                        rusqlite::types::Value::Integer(number) => number.to_string(),
                        rusqlite::types::Value::Text(text) => text,
                        other => format!("{other:?}"),
                    };
                    (name.clone(), text)
                })
                .collect())
        });
        rows.unwrap().map(Result::unwrap).collect()
    }

    /// Tasks and claims, byte by byte.
    pub fn queue(&self) -> Vec<BTreeMap<String, String>> {
        let mut rows = self.rows("SELECT * FROM tasks ORDER BY id");
        rows.extend(self.rows("SELECT * FROM claims ORDER BY task_id, epoch"));
        rows
    }

    /// Every file below the world with mode and content, shared memory apart.
    fn everything(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        fn walk(folder: &Path, found: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) {
            for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
                let Ok(data) = fs::symlink_metadata(&path) else { continue };
                if data.is_dir() {
                    found.insert(path.clone(), (data.mode(), Vec::new()));
                    walk(&path, found);
                } else if !path.to_string_lossy().ends_with("-shm") {
                    // A FIFO would be waited for; a file may go while a session ends.
                    let bytes = if data.is_file() { fs::read(&path).unwrap_or_default() } else { Vec::new() };
                    found.insert(path.clone(), (data.mode(), bytes));
                }
            }
        }
        let mut found = BTreeMap::new();
        walk(self.dir(), &mut found);
        found
    }

    /// Writes a script that may be run.
    pub fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Replaces the configuration.
    pub fn configure(&self, text: &str) {
        fs::write(self.root().join(".fairway.toml"), text).unwrap();
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        // Whatever a failing test left.
        #[cfg(feature = "postgres")]
        if self.on_server.is_some() {
            let root = format!("FAIRWAY_ROOT={}", self.root().display());
            let _ = process_tree::terminate(Duration::from_millis(100), || process_tree::with_env_entry(&root));
            return;
        }
        let conn = rusqlite::Connection::open(self.store()).ok();
        let runs = conn.and_then(|conn| {
            let mut statement = conn.prepare("SELECT run_id FROM agent_sessions").ok()?;
            let runs: Vec<String> = statement.query_map([], |row| row.get(0)).ok()?.flatten().collect();
            Some(runs)
        });
        for run in runs.unwrap_or_default() {
            let _ = process_tree::terminate(Duration::from_millis(100), || marked(&run));
        }
    }
}

pub fn marked(run: &str) -> std::io::Result<Vec<ProcessKey>> {
    process_tree::with_env_entry(&format!("FAIRWAY_RUN_ID={run}"))
}

/// Kills a session's supervisor, which would record the end, and then what else runs for the session. Waits for each of them: a
/// process that ends has no environment any more while the kernel takes its memory down, so that no list by environment has it.
#[track_caller]
pub fn kill_run(supervisor: i32, run: &str) {
    let mut killed: Vec<ProcessKey> = ProcessKey::of(supervisor).into_iter().collect();
    let kill = |keys: &[ProcessKey]| keys.iter().for_each(|key| drop(key.signal(Signal::SIGKILL)));
    kill(&killed);
    eventually("the processes of the session are gone", || {
        let left = marked(run).unwrap();
        kill(&left);
        let is_all = left.is_empty() && killed.iter().all(|key| matches!(key.status(), ProcessStatus::Gone(_)));
        killed.extend(left);
        is_all.then_some(())
    });
}

/// Bounds a hang and nothing else: on a busy machine an agent's command line takes half a minute to start.
pub const EVENTUALLY_TIMEOUT: Duration = Duration::from_secs(60);

/// Waits for a fact.
#[track_caller]
pub fn eventually<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    poll_until::poll_until(EVENTUALLY_TIMEOUT, Duration::from_millis(20), ask)
        .unwrap_or_else(|| panic!("never: {what}"))
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
