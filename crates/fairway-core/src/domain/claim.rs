//! A claim: the exclusive right of one session or person to a task.

use std::time::Duration;

use super::string_enum::string_enum;
use super::{Role, SessionId};
use crate::env::Timestamp;

/// The claimant of a task that an import found not to be worked on now.
pub const IMPORT: &str = "import";

/// An exclusive right to a task. Its epoch is a fencing token: it never falls, and grows whenever the claimant changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The session's id, else `user@host`.
    pub claimant: String,
    /// The session, when the claimant is one.
    pub session: Option<SessionId>,
    /// The role it was claimed in.
    pub role: Option<Role>,
    /// The fencing token.
    pub epoch: i64,
    pub claimed_at: Timestamp,
    /// When the lease ends without a heartbeat; `None` for a claim without a lease.
    pub lease_until: Option<Timestamp>,
    /// How long a renewal lasts; `None` when there is no lease.
    pub lease: Option<Duration>,
}

impl Claim {
    /// Whether the lease is over, so that another `claim` may take the task. Until one does, the claim stays in force.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.lease_until.is_some_and(|until| until <= now)
    }

    /// When the lease ends; `None` without a lease. An end further ahead than the lease is long was written by a fast clock: then
    /// it is `now` plus the lease.
    pub fn lease_end(&self, now: Timestamp) -> Option<Timestamp> {
        let counted = self.lease.map(|lease| now.plus(lease));
        self.lease_until.map(|until| counted.map_or(until, |counted| until.min(counted)))
    }
}

string_enum! {
    /// How a claim ended.
    ClaimEnd {
        Released => "released",
        Done => "done",
        Cancelled => "cancelled",
        Stolen => "stolen",
        Expired => "expired",
        HandedOver => "handed_over",
        Restored => "restored",
        Continued => "continued",
    }
}

/// How a claim came to its claimant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Takeover {
    /// The task had no claimant.
    Fresh,
    /// The lease of another claimant, or of an older claim of the same one, had expired.
    Expired {
        /// The previous claimant.
        from: String,
    },
    /// It was stolen from its claimant, with a reason.
    Stolen {
        /// The previous claimant.
        from: String,
        /// The reason that the new claimant gave.
        reason: String,
    },
    /// The next session of the lane continues: the claimant's session is proven to be dead.
    Continued {
        /// The previous claimant.
        from: String,
    },
    /// Its claimant handed it over.
    HandedOver {
        /// The previous claimant, if there was one.
        from: Option<String>,
    },
}

impl Takeover {
    /// How this takeover ends the claim before it; `None` when the task was unclaimed and was not handed over.
    pub const fn previous_end(&self) -> Option<ClaimEnd> {
        match self {
            Self::Fresh => None,
            Self::Expired { .. } => Some(ClaimEnd::Expired),
            Self::Stolen { .. } => Some(ClaimEnd::Stolen),
            Self::Continued { .. } => Some(ClaimEnd::Continued),
            Self::HandedOver { .. } => Some(ClaimEnd::HandedOver),
        }
    }
}
