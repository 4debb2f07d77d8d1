//! Hosts as JSON.

use serde::Serialize;

/// A host: a machine, or a container with its own processes, that works on the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HostView {
    /// Its id; null in records of an earlier version.
    pub id: Option<String>,
    /// Its name and, after a slash, its pid namespace, as sessions, jobs and lanes name it.
    pub name: String,
    /// Whether it is the host of this command.
    pub here: bool,
    /// The root of its checkout; null where it is not known.
    pub root: Option<String>,
    /// The version of Fairway that wrote last; null where it is not known.
    pub version: Option<String>,
    /// The number of live sessions.
    pub sessions: i64,
    /// The number of starting and running jobs.
    pub jobs: i64,
    /// The number of lanes whose worktree is there.
    pub lanes: i64,
    /// When it wrote last, to the minute; for a store in a file, when one of its sessions or jobs was heard of last. Null for a host
    /// that has not written.
    pub seen_at: Option<String>,
    /// The seconds since then by the server's clock; null for a store in a file.
    pub silent_seconds: Option<u64>,
}

/// The answer to `host retire`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HostRetiredView {
    /// The id of the host; null in records of an earlier version.
    pub id: Option<String>,
    /// Its name and its pid namespace.
    pub name: String,
    /// The reason as it is recorded: who gave it up, when it was last heard of, and the given reason.
    pub reason: String,
    /// The ids of its sessions, which have failed now.
    pub sessions: Vec<String>,
    /// The ids of the tasks whose claims were released.
    pub released: Vec<String>,
    /// The ids of its jobs, which are lost now.
    pub jobs: Vec<String>,
    /// The open lanes whose worktree is there. They stay.
    pub lanes: Vec<RetiredLaneView>,
}

impl HostRetiredView {
    /// A view that lists no sessions, jobs or lanes yet. The caller adds them.
    pub const fn new(id: Option<String>, name: String, reason: String) -> Self {
        Self { id, name, reason, sessions: Vec::new(), released: Vec::new(), jobs: Vec::new(), lanes: Vec::new() }
    }
}

/// A lane whose worktree is on a host that was given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RetiredLaneView {
    /// The lane.
    pub lane: String,
    /// Its branch; null when that is not recorded.
    pub branch: Option<String>,
    /// Whether a remote had the branch when this checkout fetched last; null when that is unknown.
    pub on_remote: Option<bool>,
}

/// The answer to `host renew`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HostRenewedView {
    /// The id of this host now; null where pid namespaces cannot be read.
    pub id: Option<String>,
    /// The id before; null when it had none.
    pub before: Option<String>,
    /// The name of this host and its pid namespace.
    pub name: String,
}
