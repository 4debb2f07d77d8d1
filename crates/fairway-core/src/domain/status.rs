//! The states of tasks, sessions and jobs. Errors name them, so this file imports neither the errors nor the things that have
//! the states.

use super::string_enum::string_enum;

string_enum! {
    TaskStatus {
        Todo => "todo",
        InProgress => "in_progress",
        Blocked => "blocked",
        Review => "review",
        Done => "done",
        Cancelled => "cancelled",
    }
}

impl TaskStatus {
    pub const fn is_closed(self) -> bool {
        matches!(self, Self::Done | Self::Cancelled)
    }

    pub const fn is_claimed(self) -> bool {
        matches!(self, Self::InProgress | Self::Blocked | Self::Review)
    }
}

string_enum! {
    /// The status of a session.
    SessionStatus {
        Starting => "starting",
        Running => "running",
        Stale => "stale",
        Ended => "ended",
        Failed => "failed",
    }
}

impl SessionStatus {
    /// Whether the session has ended or failed. It never leaves such a status: a new launch makes a new session.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Ended | Self::Failed)
    }
}

string_enum! {
    JobStatus {
        Queued => "queued",
        Starting => "starting",
        Running => "running",
        Succeeded => "succeeded",
        Failed => "failed",
        Canceled => "canceled",
        TimedOut => "timed_out",
        Lost => "lost",
    }
}

impl JobStatus {
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Canceled | Self::TimedOut | Self::Lost)
    }

    /// Whether the job has, or should have, a supervisor.
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Starting | Self::Running)
    }
}
