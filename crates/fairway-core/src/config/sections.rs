//! The sections of the project, tasks, claims, overlap, sessions, jobs, gates and review routes.

use std::time::Duration;

use super::section::{Form, section};
use super::values::{AtLeastOne, Glob, SpanOrNone, SpanOrOff, impl_word, reader};
use crate::domain::TaskId;
use crate::domain::id::Label;
use crate::domain::rules::claim::PathPolicy;
use crate::domain::rules::gate::Gate;
use crate::domain::string_enum::string_enum;
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

string_enum! {
    /// Whether overlaps are looked for while agents work: hooks look and the sessions of a pair are told, or only
    /// `fairway overlap` looks and no session is told.
    OverlapAction { Tell => "tell", Off => "off" }
}

impl_word!(OverlapAction);

section! {
    /// The settings of overlap.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct OverlapSettings {
        /// Overlap between lanes: tell (hooks look for it, and the sessions of a pair are told) or off.
        pub action: OverlapAction = "tell",
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
        pub stale_after: Option<Duration> as SpanOrOff = "30m",
        /// How long a start may take before it counts as failed.
        #[env(FAIRWAY_SESSIONS_LAUNCH_TIMEOUT)]
        pub launch_timeout: Duration = "60s",
    }
}

section! {
    /// The settings of checks: `evidence run`, those of landings, and jobs that ask for a slot.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct CheckSettings {
        /// How many checks of this user run at once on this host, the others wait in turn; by default half of the processors.
        #[sample(2)]
        parallel: Option<usize> as Option<AtLeastOne>,
    }
}

impl CheckSettings {
    pub fn parallel(self) -> usize {
        let half = || std::thread::available_parallelism().map_or(1, |count| (count.get() / 2).max(1));
        self.parallel.unwrap_or_else(half)
    }
}

section! {
    /// The settings of background jobs.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct JobSettings {
        /// Maximum number of jobs that run at the same time; further jobs wait.
        pub parallel: usize as AtLeastOne = 256,
        /// How long a finished job and its output are kept; "off" for ever.
        pub keep_for: Option<Duration> as SpanOrOff = "14d",
        /// Maximum size of the output of finished jobs; "off" for no limit.
        pub keep_bytes: Option<u64> as BytesOrOff = "1GiB",
    }
}

reader! {
    pub(super) BytesOrOff(String) -> Option<u64>, Form::Size { none: Some("off") };
    |text: &String| if text == "off" { Ok(None) } else { parse_size(text).map(Some) }
}

/// Parses a number of bytes: `4096`, `64KiB`, `1GiB`.
pub fn parse_size(text: &str) -> Result<u64, String> {
    const UNITS: &[(&str, u32)] =
        &[("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40), ("K", 10), ("M", 20), ("G", 30), ("B", 0)];
    let unit = UNITS.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)));
    let (number, shift) = unit.unwrap_or((text, 0));
    let read = number.trim().parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    read.filter(|_| number.trim().bytes().all(|byte| byte.is_ascii_digit()))
        .ok_or_else(|| format!("'{}' is not a number of bytes such as 4096, 64KiB or 1GiB", text.escape_debug()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units_and_nothing_else() {
        for (text, want) in
            [("0", 0), ("4096", 4096), ("64KiB", 65_536), ("1 MiB", 1 << 20), ("1GiB", 1 << 30), ("2M", 2 << 20)]
        {
            assert_eq!(parse_size(text), Ok(want), "{text}");
        }
        for bad in ["", "x", "-1", "+1", "1.5M", "KiB", "99999999999TiB", "1 PiB"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }
}
