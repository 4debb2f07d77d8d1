//! The states of tasks, sessions, jobs and messages, and the channels of delivery. Errors name them, so this file imports
//! neither the errors nor the things that have the states.

use super::string_enum::string_enum;

string_enum! {
    /// A state's name.
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
    /// Done or cancelled.
    #[must_use]
    pub const fn is_closed(self) -> bool {
        matches!(self, Self::Done | Self::Cancelled)
    }

    /// Has a claimant.
    #[must_use]
    pub const fn is_claimed(self) -> bool {
        matches!(self, Self::InProgress | Self::Blocked | Self::Review)
    }
}

string_enum! {
    /// Whether it lives.
    SessionStatus {
        Starting => "starting",
        Running => "running",
        Stale => "stale",
        Ended => "ended",
        Failed => "failed",
    }
}

impl SessionStatus {
    /// Ended and failed: a new launch is a new session.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Ended | Self::Failed)
    }
}

string_enum! {
    /// How far a run came.
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
    /// Nothing will change any more.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Canceled | Self::TimedOut | Self::Lost)
    }

    /// Somebody looks after it, or should.
    #[must_use]
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Starting | Self::Running)
    }
}

string_enum! {
    /// How far it came.
    MessageStatus {
        Queued => "queued",
        Offered => "offered",
        Acknowledged => "acknowledged",
        Expired => "expired",
        Withdrawn => "withdrawn",
    }
}

string_enum! {
    /// By which way a message was offered, in the order in which ways are tried.
    Channel {
        Stream => "stream",
        Tool => "tool",
        TurnEnd => "turn_end",
        TurnStart => "turn_start",
        Wake => "wake",
        Nudge => "nudge",
        Inbox => "inbox",
        Checkpoint => "checkpoint",
    }
}

impl Channel {
    /// Whether its reader comes by itself, and by coming again says that it has read what it was shown before. By the other
    /// ways a message is brought to it, and whoever brings it says when that is done.
    #[must_use]
    pub const fn is_pull(self) -> bool {
        matches!(self, Self::Inbox | Self::Checkpoint)
    }
}
