//! A PostgreSQL server for the tests: Debian's package, in a directory of its own, as an unprivileged user, on a Unix socket and a
//! port of this machine. All tests of a run share one; it ends when the process that runs the tests has ended. A test that stops
//! its server has one of its own.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use fairway_core::os::poll_until::poll_until;
use rusqlite::Connection;
use serde_json::Value;

use super::{invariants, require, scratch};

/// The user of the server in the database.
pub const USER: &str = "fairway";
/// The user of the server's processes, when the tests run as root: PostgreSQL refuses that.
pub const UNPRIVILEGED: (u32, u32) = (65_534, 65_534);
/// A server that loses everything when the machine stops. A test's own server adds [`DURABLE`].
const SETTINGS: &str =
    "-c listen_addresses=127.0.0.1 -c fsync=off -c full_page_writes=off -c max_connections=200 -c timezone=UTC";
/// The settings of a server that keeps each acknowledged write: storms and kills are run on it.
const DURABLE: &str = "-c fsync=on -c full_page_writes=on";
/// A user of the database who needs a password over the network, and the password.
pub const PASSWORD_USER: (&str, &str) = ("ann", "s3cret-of-ann");
/// The server's access rules, by user and address.
const ACCESS: &str = "local all all trust\nlocal replication all trust\nhost all ann 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n";
/// The names in the server's certificate. The addresses are those of machines with a network of their own.
const CERTIFICATE_NAMES: &str = "DNS:localhost,IP:10.77.1.1,IP:10.77.2.1";

/// The running server.
#[derive(Debug, Clone)]
pub struct PostgresServer {
    dir: PathBuf,
    port: u16,
    programs: PathBuf,
}

/// The server of this run, with a certificate; `None` where PostgreSQL is not installed.
#[track_caller]
pub fn shared() -> Option<PostgresServer> {
    let programs = programs()?;
    let runner = parent_id();
    let dir = scratch::root().join(format!("fairway-postgres-{runner}"));
    fs::create_dir_all(&dir).unwrap();
    let lock = fs::File::create(dir.join("lock")).unwrap();
    lock.lock().unwrap();
    let started = dir.join("started");
    if !started.exists() {
        let port = free_port();
        make_certificate(&dir);
        start(&programs, &dir, port, runner, SETTINGS);
        fs::write(&started, port.to_string()).unwrap();
    }
    let port = fs::read_to_string(started).unwrap().parse().unwrap();
    Some(PostgresServer { dir, port, programs })
}

/// A durable server of this test alone, without a certificate; `None` where PostgreSQL is not installed.
#[track_caller]
pub fn own() -> Option<PostgresServer> {
    let programs = programs()?;
    let dir = scratch::root().join(format!("fairway-postgres-own-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    let port = free_port();
    start(&programs, &dir, port, std::process::id(), &format!("{SETTINGS} {DURABLE}"));
    Some(PostgresServer { dir, port, programs })
}

/// A port that nobody listens on, and that the system gives to nobody: a server that starts again must find it free.
fn free_port() -> u16 {
    const PORTS: std::ops::Range<u16> = 10_000..20_000;
    let first = u16::try_from(std::process::id() * 7 % u32::try_from(PORTS.len()).unwrap()).unwrap();
    let mut ports = PORTS.cycle().skip(first.into()).take(PORTS.len());
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).expect("a free port")
}

/// Makes an authority, and a certificate of it for [`CERTIFICATE_NAMES`]; and another authority.
fn make_certificate(dir: &Path) {
    let openssl = |args: &[&str]| {
        let output = Command::new("openssl").args(args).current_dir(dir).stdin(Stdio::null()).output();
        let output = output.expect("openssl is installed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    for name in ["authority", "other"] {
        let (key_file, file, subject) = (format!("{name}.key"), format!("{name}.pem"), format!("/CN={name}"));
        let own = ["req", "-x509", "-days", "30", "-keyout", &key_file, "-out", &file, "-subj", &subject];
        openssl(&[&own[..], &key[..]].concat());
    }
    fs::write(dir.join("names"), format!("subjectAltName={CERTIFICATE_NAMES}\n")).unwrap();
    let request = ["req", "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=server"];
    openssl(&[&request[..], &key[..]].concat());
    let sign = ["x509", "-req", "-in", "server.csr", "-CA", "authority.pem", "-CAkey", "authority.key"];
    openssl(&[&sign[..], &["-CAcreateserial", "-out", "server.pem", "-days", "30", "-extfile", "names"]].concat());
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

fn start(programs: &Path, dir: &Path, port: u16, runner: u32, settings: &str) {
    let data = dir.join("data");
    let is_root = nix::unistd::Uid::effective().is_root();
    if is_root {
        chown(dir, Some(UNPRIVILEGED.0), Some(UNPRIVILEGED.1)).unwrap();
    }
    let data_text = data.to_str().unwrap();
    let initdb = ["-D", data_text, "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
    run_as_server(programs, dir, "initdb", &initdb);
    fs::write(data.join("pg_hba.conf"), ACCESS).unwrap();
    let mut options = format!("{settings} -c port={port} -k {}", dir.display());
    if dir.join("server.key").exists() {
        let key = dir.join("server.key");
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        if is_root {
            chown(&key, Some(UNPRIVILEGED.0), Some(UNPRIVILEGED.1)).unwrap();
        }
        options += &format!(" -c ssl=on -c ssl_key_file={0}/server.key -c ssl_cert_file={0}/server.pem", dir.display());
    }
    fs::write(dir.join("options"), options).unwrap();
    let (user, password) = PASSWORD_USER;
    let server = PostgresServer { dir: dir.to_owned(), port, programs: programs.to_owned() };
    assert!(server.begin(), "{}", fs::read_to_string(dir.join("log")).unwrap());
    server.query("public", &format!("CREATE ROLE {user} SUPERUSER LOGIN PASSWORD '{password}'"));
    // The watcher is no child of a test: tests end before the run does.
    let script = "while kill -0 \"$0\" 2>/dev/null; do sleep 1; done; kill -QUIT \"$(head -n 1 \"$1/data/postmaster.pid\")\"; \
                  sleep 1; rm -rf \"$1\"";
    let mut watcher = Command::new("setsid");
    watcher.args(["--fork", "sh", "-c", script, &runner.to_string()]).arg(dir).env_clear().env("PATH", "/usr/bin:/bin");
    watcher.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    assert!(watcher.status().unwrap().success());
}

/// Runs one of the server's programs as its user.
fn run_as_server(programs: &Path, dir: &Path, program: &str, args: &[&str]) {
    let done = try_as_server(programs, dir, program, args);
    assert!(done, "{program}: {}", fs::read_to_string(dir.join(format!("{program}.log"))).unwrap());
}

fn try_as_server(programs: &Path, dir: &Path, program: &str, args: &[&str]) -> bool {
    let path = programs.join(program);
    let mut command = if nix::unistd::Uid::effective().is_root() {
        let mut command = Command::new("setpriv");
        command.arg(format!("--reuid={}", UNPRIVILEGED.0)).arg(format!("--regid={}", UNPRIVILEGED.1));
        command.arg("--clear-groups").arg(path);
        command
    } else {
        Command::new(path)
    };
    let log = fs::File::create(dir.join(format!("{program}.log"))).unwrap();
    command.args(args).current_dir(dir).env_clear().env("LC_ALL", "C.UTF-8").env("PATH", "/usr/bin:/bin");
    command.stdout(log.try_clone().unwrap()).stderr(log).stdin(Stdio::null()).status().unwrap().success()
}

impl PostgresServer {
    /// The address of a schema, on the Unix socket.
    pub fn address(&self, schema: &str) -> String {
        let host: String = form_urlencoded::byte_serialize(self.dir.to_str().unwrap().as_bytes()).collect();
        format!("postgres://{USER}@/postgres?host={host}&port={}&schema={schema}", self.port)
    }

    /// The address of a schema at a host and a port of the network, which may be those of a proxy.
    pub fn network_address(&self, host: &str, port: u16, schema: &str) -> String {
        format!("postgres://{USER}@{host}:{port}/postgres?schema={schema}")
    }

    /// The port on this machine.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// A file beside the server's data: `authority.pem`, `other.pem`.
    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Starts the server; false when it cannot start now.
    fn begin(&self) -> bool {
        let (data, log) = (self.dir.join("data"), self.dir.join("log"));
        let options = fs::read_to_string(self.dir.join("options")).unwrap();
        let args = ["-D", data.to_str().unwrap(), "-w", "-l", log.to_str().unwrap(), "-o", &options, "start"];
        try_as_server(&self.programs, &self.dir, "pg_ctl", &args)
    }

    /// Has the server stop without a proper end, and starts it again: what was not on its disk is lost.
    pub fn crash_and_restart(&self) {
        self.stop("immediate");
        self.start();
    }

    /// Stops the server: `fast` ends each connection first, `immediate` does nothing in order.
    pub fn stop(&self, mode: &str) {
        let data = self.dir.join("data");
        run_as_server(&self.programs, &self.dir, "pg_ctl", &["-D", data.to_str().unwrap(), "-w", "-m", mode, "stop"]);
    }

    /// Starts a server that was stopped.
    pub fn start(&self) {
        assert!(self.begin(), "{}", fs::read_to_string(self.dir.join("log")).unwrap());
    }

    /// Kills the server's first process, and starts the server again as soon as its other processes have seen it.
    pub fn kill_and_start(&self) {
        let pid = fs::read_to_string(self.dir.join("data/postmaster.pid")).unwrap();
        let pid = nix::unistd::Pid::from_raw(pid.lines().next().unwrap().parse().unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
        let started = || self.begin().then_some(());
        poll_until(Duration::from_secs(30), Duration::from_millis(100), started).expect("the server starts again");
    }

    /// Makes a replica, which follows this server until it is cut off.
    #[track_caller]
    pub fn replica(&self) -> Replica {
        let dir = self.dir.join("replica");
        fs::create_dir_all(&dir).unwrap();
        if nix::unistd::Uid::effective().is_root() {
            chown(&dir, Some(UNPRIVILEGED.0), Some(UNPRIVILEGED.1)).unwrap();
        }
        let (data, from, port) = (dir.join("data"), self.dir.to_str().unwrap(), self.port.to_string());
        let copy = ["-D", data.to_str().unwrap(), "-h", from, "-p", &port, "-U", USER, "-R", "--no-sync", "-c", "fast"];
        run_as_server(&self.programs, &dir, "pg_basebackup", &copy);
        let replica = Self { port: free_port(), programs: self.programs.clone(), dir };
        replica.set_options(replica.port, &replica.dir);
        replica.start();
        Replica(replica)
    }

    fn set_options(&self, port: u16, socket: &Path) {
        let options = format!("{SETTINGS} {DURABLE} -c port={port} -k {}", socket.display());
        fs::write(self.dir.join("options"), options).unwrap();
    }

    /// Begins a call of psql, for statements on its stdin or as arguments.
    pub fn psql(&self, schema: &str) -> Command {
        let mut command = Command::new("psql");
        command
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", USER, "-d", "postgres", "-h"])
            .arg(&self.dir)
            .args(["-p", &self.port.to_string()])
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

    /// The rows of a query, as text by the names of their columns.
    #[track_caller]
    pub fn rows(&self, schema: &str, query: &str) -> Vec<BTreeMap<String, String>> {
        let lines = self.query(schema, &format!("SELECT to_json(found)::text FROM ({query}) AS found"));
        let text = |value: &Value| match value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let row = |line: &String| -> BTreeMap<String, String> {
            let row: serde_json::Map<String, Value> = serde_json::from_str(line).unwrap();
            row.iter().map(|(name, value)| (name.clone(), text(value))).collect()
        };
        lines.iter().map(row).collect()
    }

    /// Checks the invariants of a store.
    #[track_caller]
    pub fn check_invariants(&self, schema: &str) {
        if let Some(why) = self.violations(schema) {
            panic!("{why} in the schema {schema}");
        }
    }

    /// The first invariant that does not hold, on a copy of the rows: there is one list of them for both engines.
    pub fn violations(&self, schema: &str) -> Option<String> {
        let conn = Connection::open_in_memory().unwrap();
        let columns = format!(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = '{schema}' \
             ORDER BY table_name, ordinal_position"
        );
        let mut tables: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for line in self.query(schema, &columns) {
            let (table, column) = line.split_once('|').unwrap();
            tables.entry(table.into()).or_default().push(column.into());
        }
        // A world that was never initialised.
        if tables.is_empty() {
            return None;
        }
        // All rows at once: each call of psql is a process here and one in the server.
        let rows: Vec<_> =
            tables.keys().map(|table| format!("SELECT '{table}|' || to_json(t)::text FROM \"{table}\" t")).collect();
        let rows = self.query(schema, &rows.join(" UNION ALL "));
        let mut rows_of: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for line in &rows {
            let (table, row) = line.split_once('|').unwrap();
            rows_of.entry(table).or_default().push(row);
        }
        for (table, columns) in &tables {
            copy_table(&conn, table, columns, rows_of.get(table.as_str()).map_or(&[], Vec::as_slice));
        }
        invariants::violations(&conn)
    }
}

/// A replica of a server. It ends when this is dropped.
pub struct Replica(PostgresServer);

impl Replica {
    pub const fn server(&self) -> &PostgresServer {
        &self.0
    }

    /// Has it receive nothing more.
    pub fn cut_off(&self) {
        self.0.query("public", "ALTER SYSTEM SET primary_conninfo = ''");
        self.0.query("public", "SELECT pg_reload_conf()");
        let is_off = || (self.0.query("public", "SELECT count(*) FROM pg_stat_wal_receiver") == ["0"]).then_some(());
        poll_until(Duration::from_secs(30), Duration::from_millis(50), is_off).expect("it still receives");
    }

    /// Takes the place of a server that has stopped, at its addresses.
    pub fn take_over(&self, server: &PostgresServer) {
        self.0.stop("fast");
        self.0.set_options(server.port, &server.dir);
        self.0.start();
        assert_eq!(server.query("public", "SELECT pg_promote()"), ["t"]);
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        let data = self.0.dir.join("data");
        let args = ["-D", data.to_str().unwrap(), "-m", "immediate", "stop"];
        try_as_server(&self.0.programs, &self.0.dir, "pg_ctl", &args);
    }
}

fn copy_table(conn: &Connection, table: &str, columns: &[String], rows: &[&str]) {
    conn.execute_batch(&format!("CREATE TABLE \"{table}\" (\"{}\")", columns.join("\", \""))).unwrap();
    let places = vec!["?"; columns.len()].join(", ");
    let mut insert = conn.prepare(&format!("INSERT INTO \"{table}\" VALUES ({places})")).unwrap();
    for line in rows {
        let row: Value = serde_json::from_str(line).unwrap();
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
