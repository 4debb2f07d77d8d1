//! A PostgreSQL server for the tests: Debian's package, on a Unix socket in a directory of its own, as an unprivileged user. All
//! tests of a run share it; it ends when the process that runs the tests has ended.

use std::{
    fs,
    os::unix::{fs::chown, process::parent_id},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use rusqlite::Connection;
use serde_json::Value;

use super::{invariants, require, scratch};

/// The user of the server in the database.
const USER: &str = "fairway";
/// The user of the server's processes, when the tests run as root: PostgreSQL refuses that.
const UNPRIVILEGED: (u32, u32) = (65_534, 65_534);
/// A server that loses everything when the machine stops: the tests that need more set it.
const SETTINGS: &str =
    "-c listen_addresses= -c fsync=off -c full_page_writes=off -c max_connections=200 -c timezone=UTC";

/// The running server.
#[derive(Debug, Clone)]
pub struct PostgresServer {
    dir: PathBuf,
}

/// The server of this run; `None` where PostgreSQL is not installed.
#[track_caller]
pub fn shared() -> Option<PostgresServer> {
    let programs = programs()?;
    let runner = parent_id();
    let dir = scratch::root().join(format!("fairway-postgres-{runner}"));
    fs::create_dir_all(&dir).unwrap();
    let lock = fs::File::create(dir.join("lock")).unwrap();
    lock.lock().unwrap();
    if !dir.join("started").exists() {
        start(&programs, &dir, runner);
        fs::write(dir.join("started"), "").unwrap();
    }
    Some(PostgresServer { dir })
}

/// The directory of the server's programs, which Debian does not put into `PATH`.
#[track_caller]
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        versions.map(|entry| entry.path().join("bin")).filter(|dir| dir.join("initdb").exists()).collect();
    found.sort();
    let newest = found.pop();
    require::met(newest.is_some(), "postgresql is not installed; tests/run.sh installs it").then_some(())?;
    newest
}

fn start(programs: &Path, dir: &Path, runner: u32) {
    let data = dir.join("data");
    let is_root = nix::unistd::Uid::effective().is_root();
    if is_root {
        chown(dir, Some(UNPRIVILEGED.0), Some(UNPRIVILEGED.1)).unwrap();
    }
    let run = |program: &str, args: &[&str]| {
        let path = programs.join(program);
        let mut command = if is_root {
            let mut command = Command::new("setpriv");
            command.arg(format!("--reuid={}", UNPRIVILEGED.0)).arg(format!("--regid={}", UNPRIVILEGED.1));
            command.arg("--clear-groups").arg(path);
            command
        } else {
            Command::new(path)
        };
        let log = fs::File::create(dir.join(format!("{program}.log"))).unwrap();
        command.args(args).current_dir(dir).env_clear().env("LC_ALL", "C.UTF-8").env("PATH", "/usr/bin:/bin");
        let done = command.stdout(log.try_clone().unwrap()).stderr(log).stdin(Stdio::null()).status().unwrap();
        let log = fs::read_to_string(dir.join(format!("{program}.log"))).unwrap();
        assert!(done.success(), "{program}: {log}");
    };
    let data_text = data.to_str().unwrap();
    run("initdb", &["-D", data_text, "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]);
    let options = format!("{SETTINGS} -k {}", dir.display());
    run("pg_ctl", &["-D", data_text, "-w", "-l", dir.join("log").to_str().unwrap(), "-o", &options, "start"]);
    // The watcher is no child of a test: tests end before the run does.
    let script = "while kill -0 \"$0\" 2>/dev/null; do sleep 1; done; kill -QUIT \"$(head -n 1 \"$1/data/postmaster.pid\")\"; \
                  sleep 1; rm -rf \"$1\"";
    let mut watcher = Command::new("setsid");
    watcher.args(["--fork", "sh", "-c", script, &runner.to_string()]).arg(dir).env_clear().env("PATH", "/usr/bin:/bin");
    watcher.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    assert!(watcher.status().unwrap().success());
}

impl PostgresServer {
    /// The address of a schema.
    pub fn address(&self, schema: &str) -> String {
        let host: String = form_urlencoded::byte_serialize(self.dir.to_str().unwrap().as_bytes()).collect();
        format!("postgres://{USER}@/postgres?host={host}&schema={schema}")
    }

    /// Begins a call of psql, for statements on its stdin or as arguments.
    pub fn psql(&self, schema: &str) -> Command {
        let mut command = Command::new("psql");
        command
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", USER, "-d", "postgres", "-h"])
            .arg(&self.dir)
            .env("PGOPTIONS", format!("-c search_path={schema}"))
            .stdin(Stdio::null());
        command
    }

    /// Runs statements in a schema; returns the lines of what they answered.
    #[track_caller]
    pub fn query(&self, schema: &str, statements: &str) -> Vec<String> {
        let output = self.psql(schema).arg("-c").arg(statements).output().unwrap();
        assert!(output.status.success(), "{statements}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    /// Checks the invariants of a store, on a copy of its rows: there is one list of them for both engines.
    #[track_caller]
    pub fn check_invariants(&self, schema: &str) {
        let conn = Connection::open_in_memory().unwrap();
        let tables =
            format!("SELECT table_name FROM information_schema.tables WHERE table_schema = '{schema}' ORDER BY 1");
        for table in self.query(schema, &tables) {
            self.copy_table(&conn, schema, &table);
        }
        if let Some(why) = invariants::violations(&conn) {
            panic!("{why} in the schema {schema}");
        }
    }

    fn copy_table(&self, conn: &Connection, schema: &str, table: &str) {
        let columns = self.query(
            schema,
            &format!(
                "SELECT column_name FROM information_schema.columns WHERE table_schema = '{schema}' \
                 AND table_name = '{table}' ORDER BY ordinal_position"
            ),
        );
        conn.execute_batch(&format!("CREATE TABLE \"{table}\" (\"{}\")", columns.join("\", \""))).unwrap();
        let places = vec!["?"; columns.len()].join(", ");
        let mut insert = conn.prepare(&format!("INSERT INTO \"{table}\" VALUES ({places})")).unwrap();
        for line in self.query(schema, &format!("SELECT to_json(t) FROM \"{table}\" t")) {
            let row: Value = serde_json::from_str(&line).unwrap();
            let value = |column: &String| match &row[column] {
                Value::Null => rusqlite::types::Value::Null,
                Value::Number(number) if number.is_i64() => number.as_i64().unwrap().into(),
                Value::Number(number) => number.as_f64().unwrap().into(),
                Value::String(text) => text.clone().into(),
                other => other.to_string().into(),
            };
            insert.execute(rusqlite::params_from_iter(columns.iter().map(value))).unwrap();
        }
    }
}
