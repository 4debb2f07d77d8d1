//! The targets of the attempts.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The paths, processes and sockets of one world.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Targets {
    /// The directory that contains all files of the world.
    pub dir: PathBuf,
    pub lane: PathBuf,
    /// A random text that occurs nowhere else.
    pub mark: String,
    /// The id of a process outside.
    pub victim: i32,
    pub tcp: u16,
    pub tcp6: u16,
    pub udp: u16,
    /// The port of a server whose address is open in the proxy.
    pub opened: u16,
    /// The name of a socket without a path.
    pub abstract_socket: String,
    /// A descriptor of a directory outside, which the caller has left open.
    pub descriptor: i32,
    /// A file in the shared memory of the machine.
    pub shared_memory: PathBuf,
    /// The environment of the program that makes the attempts.
    #[serde(skip)]
    pub vars: BTreeMap<OsString, OsString>,
}

impl Targets {
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Makes the mark a comment, so that git can still read a settings file that contains it.
    #[must_use]
    pub fn in_comment(self) -> Self {
        Self { mark: format!("# {}", self.mark), ..self }
    }

    pub fn lane_path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.lane.join(name)
    }
}

/// The report of one attempt: its text, or the reason of its failure.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Said {
    pub name: String,
    pub result: Result<String, String>,
}

/// Paths below the world's directory.
pub const PROJECT: &str = "project";
pub const STORE: &str = "project/.fairway/fairway.db";
/// A part of the store that no probe writes.
pub const STORE_COPY: &str = "project/.fairway/fairway.db-wal";
pub const TOKEN: &str = "project/.fairway/runtime/worker.token";
pub const LANE: &str = "project/.fairway/worktrees/lane";
pub const SHARED: &str = "shared";
pub const HOME: &str = "home";
pub const RUNTIME: &str = "run";
pub const STATE: &str = "state";
/// A name that is open in the proxy.
pub const OPEN_NAME: &str = "allowed.example";
/// The sockets in [`RUNTIME`].
pub const SOCKETS: [&str; 4] = ["agent.sock", "bus", "docker.sock", "tmux.sock"];
/// The variable that contains a credential.
pub const CREDENTIAL: &str = "CHECK_CREDENTIAL";
