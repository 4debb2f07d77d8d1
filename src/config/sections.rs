//! The sections of the project, tasks, claims, sessions, approvals, gates and review routes.

use std::time::Duration;

use super::{
    section::section,
    values::{Glob, SpanOrNone, StaleAfter, reader},
};
use crate::domain::{
    Role, TaskId,
    id::Label,
    rules::{claim::PathPolicy, gate::Gate},
};

section! {
    /// The settings of the project.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ProjectSettings {
        /// Shown in headings; by default the root directory's name.
        #[sample("demo")]
        pub name: String,
        /// The branch that lanes start from and merge gates compare with.
        pub base_branch: String = "main",
    }
}

section! {
    /// The settings of tasks.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct TaskSettings {
        /// Prefix of generated task ids: T-1, T-2, …
        #[env(FAIRWAY_TASKS_PREFIX)]
        pub prefix: String as Prefix = "T",
    }
}

reader! {
    Prefix(String) -> String;
    |prefix: &String| match TaskId::parse(prefix) {
        Ok(_) if prefix.len() <= 32 => Ok(prefix.clone()),
        _ => Err(format!("'{}' cannot begin a task id", prefix.escape_debug())),
    }
}

section! {
    /// The settings of claims.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ClaimSettings {
        /// Lease of a claim: without a heartbeat for this long, another claim may take over, such as "30m".
        #[env(FAIRWAY_CLAIMS_LEASE)]
        pub lease: Option<Duration> as SpanOrNone = "none",
        /// A claim whose paths overlap those of another claimant: refuse, warn or off.
        #[env(FAIRWAY_CLAIMS_PATH_CONFLICTS)]
        pub path_conflicts: PathPolicy = "refuse",
        /// Claim without an id claims tasks of the session's lane only, and none without a lane.
        pub own_lane_only: bool = false,
    }
}

section! {
    /// The settings of sessions.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct SessionSettings {
        /// The backend of a launch that names none.
        #[env(FAIRWAY_SESSIONS_DEFAULT_BACKEND)]
        pub default_backend: String = "shell",
        /// Idle time after which a session without a local process is stale; "off" for never.
        #[env(FAIRWAY_SESSIONS_STALE_AFTER)]
        pub stale_after: StaleAfter = "30m",
        /// How long a start may take before it counts as failed.
        #[env(FAIRWAY_SESSIONS_LAUNCH_TIMEOUT)]
        pub launch_timeout: Duration = "60s",
        /// The roles of sessions that may start further sessions; without it, only people do.
        #[sample(["coordinator"])]
        pub may_start: Vec<Role>,
    }
}

section! {
    /// The settings of permission requests.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ApprovalSettings {
        /// The roles of sessions that may answer permission requests of other sessions; without it, only people do.
        #[sample(["lead"])]
        pub roles: Vec<Role>,
    }
}

section! {
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(super) struct GateSettings {}
    parts {
        pub(super) done: DoneGates,
        pub(super) merge: MergeGates,
    }
}

section! {
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(super) struct DoneGates {
        /// The gates of `done`.
        pub(super) require: Vec<Gate> = ["evidence"],
    }
}

section! {
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(super) struct MergeGates {
        /// The gates of `merge-ready`.
        pub(super) require: Vec<Gate> =
            ["evidence", "checks", "reviews", "handoffs_accepted", "no_open_questions", "clean_worktree", "based_on"],
    }
}

section! {
    /// Paths whose tasks need an approval.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ReviewRoute {
        /// Tasks that touch these paths …
        #[sample(["migrations/**"])]
        pub paths: Vec<String> as Vec<Glob>,
        /// … need an approval in this domain.
        #[sample("data")]
        pub domain: Label = required,
    }
}
