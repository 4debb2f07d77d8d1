//! A message to a session, lane, role or person, with a receipt, and why one waits.

use std::time::Duration;

use super::string_enum::string_enum;
use super::{LaneName, PersonName, Role, RoutingKey, SessionId};
use crate::env::Timestamp;

string_enum! {
    Priority { Normal => "normal", Urgent => "urgent", System => "system" }
}

impl Priority {
    /// The order in which messages are read: lower ranks first.
    pub const fn rank(self) -> u8 {
        match self {
            Self::System => 0,
            Self::Urgent => 1,
            Self::Normal => 2,
        }
    }
}

string_enum! {
    /// The delivery status of a message.
    MessageStatus {
        Queued => "queued",
        Offered => "offered",
        Acknowledged => "acknowledged",
        Expired => "expired",
        Withdrawn => "withdrawn",
    }
}

string_enum! {
    /// The channel by which a message was offered, in the order in which channels are tried.
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
    /// Whether the agent is in a turn of its own or asks by itself, so that the message begins no turn.
    pub const fn is_own(self) -> bool {
        matches!(self, Self::Tool | Self::Inbox | Self::Checkpoint)
    }

    /// Whether a reader fetches its messages by this channel: then its next request acknowledges the messages before. By any
    /// other channel a message is pushed, and the channel reports the delivery.
    pub const fn is_pull(self) -> bool {
        matches!(self, Self::Inbox | Self::Checkpoint)
    }
}

/// After how many seconds an offer counts as not taken.
pub const OFFER_TIMEOUT_SECS: u64 = 60;
/// The longest time of an offer that ends: that of a prompt which is being typed.
pub const LONGEST_OFFER: Duration = Duration::from_secs(2 * OFFER_TIMEOUT_SECS);

/// Until when a typed text stays offered: until an event of its session confirms it, whenever that is. It is the end of the year
/// 9999.
pub const NEVER_EXPIRES: Timestamp = Timestamp::from_millis(253_402_300_799_000);

/// The sources of messages that people write. A message with another source, or from a session, is a program's text.
pub const HUMAN_SOURCES: &[&str] = &["mail", "nudge"];

/// The source of messages about reviews, and that of messages about landings.
pub const REVIEW_SOURCE: &str = "review";
pub const LAND_SOURCE: &str = "land";
/// The source of messages about lanes that change the same places.
pub const OVERLAP_SOURCE: &str = "overlap";

/// Whether a turn may be interrupted for a message of this source: only for what a sender wanted to be urgent. Fairway itself
/// interrupts no work, since the key that interrupts one program ends another.
pub fn may_interrupt(priority: Priority, source: &str) -> bool {
    priority == Priority::Urgent && source != OVERLAP_SOURCE
}

/// The source of reminders to sessions that have stopped.
pub const REMINDER_SOURCE: &str = "reminder";

/// The metadata key of the person's own words in a message: where they begin and end, in bytes. The rest is Fairway's.
pub const WORDS: &str = "words";

/// The metadata key of the sender's name as the caller gave it.
pub const SAYS_FROM: &str = "says_from";

/// The metadata key of a message that is delivered even while the session's state is unknown.
pub const GOES_NOW: &str = "now";

/// The reason of a turn that ended with an error.
pub const FAILED_TURN: &str = "failed";

/// The recipient: exactly one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recipient {
    /// This session; it need not be known to Fairway.
    Session(SessionId),
    /// The reader under this key, which is no session's id.
    Key(RoutingKey),
    /// The first session of this lane that takes it.
    Lane(LaneName),
    /// The first session of this role that takes it.
    Role(Role),
    Person(PersonName),
}

/// The prefix of a person's name in a key. No session's id has a colon.
const PERSON_PREFIX: &str = "person:";

impl Recipient {
    /// The person whom a key such as `person:ann` names; `None` for another key.
    pub fn person_of_key(key: &str) -> Option<Self> {
        PersonName::parse(key.strip_prefix(PERSON_PREFIX)?).ok().map(Self::Person)
    }

    pub fn person_key(person: &PersonName) -> String {
        format!("{PERSON_PREFIX}{person}")
    }
}

impl From<&RoutingKey> for Recipient {
    fn from(key: &RoutingKey) -> Self {
        let person = || Self::person_of_key(key.as_str());
        key.session_id().map(Self::Session).or_else(person).unwrap_or_else(|| Self::Key(key.clone()))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub id: i64,
    pub to: Recipient,
    pub priority: Priority,
    /// Where it came from: a person's mail, a watcher, Fairway itself.
    pub source: String,
    pub content: String,
    /// Details, as JSON text.
    pub metadata: Option<String>,
    pub status: MessageStatus,
    pub offered_to: Option<String>,
    pub offered_until: Option<Timestamp>,
    /// The channel by which it was offered last.
    pub channel: Option<Channel>,
    /// The key by which repeated messages are recognized as one.
    pub dedup: Option<String>,
    /// How often it was sent under its dedup key.
    pub count: i64,
    /// The sessions that were told that the message is too long for their channel, separated by spaces.
    pub announced_to: Option<String>,
    /// When the message expires.
    pub expires_at: Option<Timestamp>,
    pub created_at: Timestamp,
    /// When the turn that took the message ended, if the agent reports that.
    pub answered_at: Option<Timestamp>,
    /// Why that turn ended: `end_turn`, `cancelled`, `failed` or another word of the agent.
    pub stop_reason: Option<String>,
}

impl Message {
    /// Whether an offer of the message is open: a reader got the message and may still acknowledge it.
    pub fn is_offered(&self, now: Timestamp) -> bool {
        // An offer that would last for longer was made by a clock that was ahead.
        let is_open = |until: Timestamp| until > now && (until <= now.plus(LONGEST_OFFER) || until == NEVER_EXPIRES);
        self.status == MessageStatus::Offered && self.offered_until.is_some_and(is_open)
    }

    /// Whether the message was typed into a session's terminal and no report has confirmed it yet.
    pub fn is_typed(&self) -> bool {
        self.status == MessageStatus::Offered && self.offered_until == Some(NEVER_EXPIRES)
    }

    /// Whether the sender asked, in the message's metadata, for delivery even while the session's state is unknown.
    pub fn goes_now(&self) -> bool {
        let metadata = self.metadata.as_deref().filter(|text| text.contains(GOES_NOW));
        let metadata = metadata.and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok());
        metadata.is_some_and(|metadata| metadata.get(GOES_NOW) == Some(&true.into()))
    }

    /// Whether the message tells what a person or a landing has decided about the recipient's work.
    pub fn is_decision(&self) -> bool {
        [REVIEW_SOURCE, LAND_SOURCE].contains(&self.source.as_str())
    }

    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    /// Whether this session was told that the message is too long for its channel.
    pub fn is_announced_to(&self, session: &SessionId) -> bool {
        self.announced_to.as_deref().unwrap_or_default().split(' ').any(|told| told == session.as_str())
    }
}

string_enum! {
    /// Why a prompt is not delivered yet.
    WaitReason {
        /// The session has not reported what it does.
        StateUnknown => "state_unknown",
        SessionBusy => "session_busy",
        /// The session waits for an answer.
        SessionAsks => "session_asks",
        SessionStopping => "session_stopping",
        /// The session is parked.
        SessionParked => "session_parked",
        /// The session is starting.
        SessionStarting => "session_starting",
        /// The session is stale.
        SessionStale => "session_stale",
        /// It was typed, and no report has confirmed it.
        Typed => "typed",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptWait {
    pub reason: WaitReason,
    /// The reason as a clause about the session.
    pub text: String,
    /// A command that helps, after its purpose.
    pub hint: Option<String>,
}

impl PromptWait {
    /// The reason and the hint as one sentence.
    pub fn sentence(&self) -> String {
        let hint = self.hint.iter().map(|hint| format!("; {hint}"));
        std::iter::once(self.text.clone()).chain(hint).collect()
    }
}
