//! A durable PostgreSQL server for the measurements, in a directory of its own: Debian's package, as an unprivileged user.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use nix::unistd::Uid;
use tempfile::TempDir;

/// PostgreSQL refuses to run as root.
const UNPRIVILEGED: u32 = 65_534;

/// A running server, which ends with this value.
pub struct Database {
    dir: TempDir,
    programs: PathBuf,
    port: u16,
}

impl Database {
    /// Starts one, on a port of this machine.
    pub fn start() -> Self {
        let versions = fs::read_dir("/usr/lib/postgresql").unwrap().flatten();
        let programs =
            versions.map(|version| version.path().join("bin")).filter(|dir| dir.join("initdb").exists()).max();
        let dir = tempfile::Builder::new().prefix("fairway-bench").tempdir().unwrap();
        if Uid::effective().is_root() {
            chown(dir.path(), Some(UNPRIVILEGED), Some(UNPRIVILEGED)).unwrap();
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let database = Self { dir, programs: programs.unwrap(), port };
        database.run("initdb", &["-U", "fairway", "-A", "trust", "-E", "UTF8", "--locale=C"]);
        let options =
            format!("-c listen_addresses=127.0.0.1 -c port={port} -c max_connections=200 -k {}", database.dir());
        database.run("pg_ctl", &["-w", "-l", &format!("{}/log", database.dir()), "-o", &options, "start"]);
        database
    }

    /// The address, without a schema.
    pub fn address(&self) -> String {
        format!("postgres://fairway@127.0.0.1:{}/postgres", self.port)
    }

    /// Runs statements.
    pub fn execute(&self, statements: &str) {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", &self.address(), "-c", statements]);
        assert!(psql.stdout(Stdio::null()).status().unwrap().success(), "{statements}");
    }

    fn dir(&self) -> String {
        self.dir.path().display().to_string()
    }

    fn run(&self, program: &str, words: &[&str]) {
        let mut command = Command::new(self.programs.join(program));
        command.args(["-D", &format!("{}/data", self.dir())]).args(words).current_dir(self.dir.path());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        if Uid::effective().is_root() {
            command.uid(UNPRIVILEGED).gid(UNPRIVILEGED);
        }
        assert!(command.status().unwrap().success(), "{command:?}");
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.run("pg_ctl", &["-m", "immediate", "stop"]);
    }
}
