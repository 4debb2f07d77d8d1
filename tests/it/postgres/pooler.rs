//! A real connection pooler before the server, in each of its modes.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::wait_for;
use crate::common::postgres_server::{PostgresServer, UNPRIVILEGED, USER};
use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, require};

const PROGRAM: &str = "/usr/sbin/pgbouncer";

/// A running PgBouncer.
struct Pooler {
    child: Child,
    port: u16,
}

impl Pooler {
    /// Starts one before a server, with these lines in its configuration.
    fn start(server: &PostgresServer, settings: &str) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let file = server.file(&format!("pooler-{port}.ini"));
        let configuration = format!(
            "[databases]\npostgres = host=127.0.0.1 port={} user={USER}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = any\n{settings}\n",
            server.port()
        );
        fs::write(&file, configuration).unwrap();
        let mut command = if nix::unistd::Uid::effective().is_root() {
            let mut command = Command::new("setpriv");
            command.arg(format!("--reuid={}", UNPRIVILEGED.0)).arg(format!("--regid={}", UNPRIVILEGED.1));
            command.args(["--clear-groups", PROGRAM]);
            command
        } else {
            Command::new(PROGRAM)
        };
        let child =
            command.arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_for(|| TcpStream::connect(("127.0.0.1", port)).ok());
        Self { child, port }
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn pooler_is_refused_in_each_mode_also_when_it_ignores_the_settings_of_a_connection() {
    if !require::met(Path::new(PROGRAM).exists(), "pgbouncer is not installed; tests/run.sh installs it") {
        return;
    }
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    for settings in [
        "pool_mode = session",
        "pool_mode = session\nignore_startup_parameters = options",
        "pool_mode = transaction\nignore_startup_parameters = options",
    ] {
        let pooler = Pooler::start(server, settings);
        let address = server.network_address("127.0.0.1", pooler.port, schema);
        let mut ready = world.fairway(["ready", "--json"]);
        let answer: CommandOutput = ready.env("FAIRWAY_STORE_URL", &address).output().unwrap().into();
        let message = answer.refuses(7, "store_server").error()["message"].to_string();
        assert!(message.contains("a connection pooler must be left out"), "{settings}: {message}");
    }
}
