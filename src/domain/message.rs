//! A message to a session, lane or role, with a receipt.

use super::{LaneName, Role, SessionId, closed_set::closed_set};
use crate::env::Timestamp;

closed_set! {
    /// How much it may interrupt.
    Priority { Normal => "normal", Urgent => "urgent", System => "system" }
}

closed_set! {
    /// How far it came.
    MessageStatus {
        Queued => "queued",
        Offered => "offered",
        Acknowledged => "acknowledged",
        Expired => "expired",
        Withdrawn => "withdrawn",
    }
}

closed_set! {
    /// By which way a message was offered, in the order in which ways are tried.
    Way {
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

impl Priority {
    /// Its place when messages are read: first comes what may interrupt most.
    #[must_use]
    pub const fn rank(self) -> u8 {
        match self {
            Self::System => 0,
            Self::Urgent => 1,
            Self::Normal => 2,
        }
    }
}

/// How long a message is offered before it counts as not taken, in seconds.
pub const OFFER_SECONDS: u64 = 60;

/// The sources under which people write. What comes from any other is a program's text, and so is what a session sends.
pub const PEOPLES_SOURCES: &[&str] = &["mail", "nudge"];

/// To whom: exactly one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recipient {
    /// This session; it need not be known to Fairway.
    Session(SessionId),
    /// The first session of this lane that takes it.
    Lane(LaneName),
    /// The first session of this role that takes it.
    Role(Role),
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its number.
    pub id: i64,
    /// To whom.
    pub to: Recipient,
    /// How much it may interrupt.
    pub priority: Priority,
    /// Where it came from: a person's mail, a watcher, Fairway itself.
    pub source: String,
    /// The text.
    pub content: String,
    /// Particulars, as JSON text.
    pub metadata: Option<String>,
    /// How far it came.
    pub status: MessageStatus,
    /// Who it was offered to.
    pub offered_to: Option<String>,
    /// Until when that offer holds.
    pub offered_until: Option<Timestamp>,
    /// By which way it was offered last.
    pub way: Option<Way>,
    /// What makes repeats one message.
    pub dedup: Option<String>,
    /// How often it was sent under its dedup key.
    pub count: i64,
    /// When it is too late to read it.
    pub expires_at: Option<Timestamp>,
    /// When it was sent first.
    pub created_at: Timestamp,
}
