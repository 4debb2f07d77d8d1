//! A lane: the durable place where a kind of work goes on while sessions come and go.

use std::path::Path;

use super::id::Label;
use super::landing::LandStyle;
use super::sandbox::SandboxClass;
use super::string_enum::string_enum;
use super::{LaneName, Role};
use crate::env::Timestamp;

string_enum! {
    /// Whether tasks may be claimed in it.
    LaneStatus { Open => "open", Paused => "paused", Closed => "closed" }
}

string_enum! {
    /// Whether the commands of `[lanes] setup` have made its worktree ready.
    SetupState { NotSetUp => "not_set_up", SettingUp => "setting_up", Ready => "ready", Failed => "setup_failed" }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    pub name: LaneName,
    pub title: Option<String>,
    /// The role that works in it.
    pub role: Option<Role>,
    /// Whether tasks may be claimed in it.
    pub status: LaneStatus,
    pub branch: Option<String>,
    pub base: Option<String>,
    /// Its worktree's directory, absolute.
    pub worktree: Option<String>,
    /// The name of the host that the worktree is on, for people; `None` without a worktree, and in a lane of an earlier version.
    pub host: Option<String>,
    /// The id of that host, by which hosts are compared.
    pub host_id: Option<String>,
    /// Whether Fairway made the branch and the worktree, and so may remove them.
    pub owns_worktree: bool,
    /// How many tasks may be held in it at once; `None` is no limit.
    pub wip_limit: Option<i64>,
    /// The provider that a session in it has by default.
    pub provider: Option<Label>,
    /// The backend that a session in it has by default.
    pub backend: Option<String>,
    /// The sandbox that each session in it has at least.
    pub sandbox: SandboxClass,
    pub created_at: Timestamp,
}

impl Lane {
    /// Records that the lane's worktree is on this host. Without a worktree, or without the host's `id`, the lane gets no host.
    #[must_use]
    pub fn on_host(self, name: String, id: Option<String>) -> Self {
        // Without an id nothing can be compared, and the lane is local everywhere.
        let place = id.filter(|_| self.worktree.is_some()).map(|id| (name, id));
        let (host, host_id) = place.unzip();
        Self { host, host_id, ..self }
    }

    /// The lane that it stands on: its base is the branch of that one.
    pub fn parent<'a>(&self, all: &'a [Self]) -> Option<&'a Self> {
        all.iter().find(|one| one.name != self.name && one.branch.is_some() && one.branch == self.base)
    }

    /// Whether a path is in its worktree.
    pub fn is_around(&self, path: impl AsRef<Path>) -> bool {
        self.worktree.as_ref().is_some_and(|dir| path.as_ref().starts_with(dir))
    }

    /// The name of its branch, which is recorded once there is one.
    pub fn branch_name(&self) -> String {
        self.branch.clone().unwrap_or_else(|| format!("lane/{}", self.name))
    }

    /// The git command that brings the base into the lane's worktree and stops at each conflict; `None` without a worktree.
    pub fn bring_in_by_hand(&self, base: &str, style: LandStyle) -> Option<String> {
        let dir = shell_words::quote(self.worktree.as_ref()?);
        Some(format!("git -C {dir} {} {}", style.by_hand(), shell_words::quote(base)))
    }
}
