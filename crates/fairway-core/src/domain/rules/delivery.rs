//! The messages that a reader gets, and has got: receipts under a lease, so that a crash offers again.

use std::time::Duration;

use crate::domain::message::{Channel, Message, OFFER_TIMEOUT_SECS, Priority, WaitReason, may_interrupt};
use crate::domain::session::Activity;
use crate::env::Timestamp;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct ReadPlan {
    /// The messages that were printed to this reader before: it came back in time, so it has read them.
    pub acknowledged: Vec<i64>,
    /// The messages that the reader gets now, by priority and then the oldest first.
    pub offered: Vec<Message>,
    /// When an offer to another reader expires; this reader could get the message then.
    pub next_offer_expiry: Option<Timestamp>,
    /// How many more messages wait than one reading takes.
    pub remaining: usize,
}

/// The most messages that one reading takes.
pub const MAX_READ: usize = 50;

/// Decides which messages `reader` gets and which it acknowledges. The reader sent its request at `asked` and may have waited
/// until `now`. `unsettled` are the open messages to the reader, its lane or its role.
pub fn plan_read(unsettled: Vec<Message>, reader: &str, asked: Timestamp, now: Timestamp) -> ReadPlan {
    let mut reading = ReadPlan::default();
    // This command cannot vouch for a message that another command of the same reader was offered later.
    let before = asked.plus(Duration::from_secs(OFFER_TIMEOUT_SECS));
    for message in unsettled {
        if message.is_expired(now) {
            continue;
        }
        // A message that is brought to this reader by another channel is not read by coming here.
        let is_own = message.offered_to.as_deref() == Some(reader) && message.channel.is_none_or(Channel::is_pull);
        match message.offered_until.filter(|_| message.is_offered(now)) {
            Some(until) if is_own => {
                if until <= before {
                    reading.acknowledged.push(message.id);
                }
            }
            Some(until) => {
                reading.next_offer_expiry =
                    Some(reading.next_offer_expiry.map_or(until, |earlier: Timestamp| earlier.min(until)));
            }
            None => reading.offered.push(message),
        }
    }
    sort_by_priority(&mut reading.offered);
    reading.remaining = reading.offered.len().saturating_sub(MAX_READ);
    reading.offered.truncate(MAX_READ);
    reading
}

fn sort_by_priority(messages: &mut [Message]) {
    messages.sort_by_key(|message| (message.priority.rank(), message.id));
}

/// How urgently a message is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Urgency {
    pub priority: Priority,
    /// Whether it is delivered although the session's state is unknown.
    pub now: bool,
    /// Whether it is a decision, which goes into a running turn as an urgent message does. No turn is interrupted for it.
    pub decision: bool,
    /// Whether a turn may be interrupted for it.
    pub interrupts: bool,
}

impl Urgency {
    pub fn of(message: &Message) -> Self {
        Self {
            priority: message.priority,
            now: message.goes_now(),
            decision: message.is_decision(),
            interrupts: may_interrupt(message.priority, &message.source),
        }
    }

    const fn is_urgent(self) -> bool {
        matches!(self.priority, Priority::Urgent)
    }

    /// Whether it goes into the middle of a turn, where something carries it there.
    const fn goes_into_turn(self) -> bool {
        self.decision || self.is_urgent()
    }

    /// Whether a message is delivered while the session's state is unknown. A normal message is not: such a session gets no
    /// work.
    const fn goes_into_unknown(self) -> bool {
        self.now || self.interrupts
    }
}

/// Whether a message may be delivered by this channel to a session with this activity. For typing, [`typing_policy`] decides. A
/// request by a hook or by the reader of an inbox shows by itself that the session can take a message.
pub const fn channel_allows(urgency: Urgency, channel: Channel, activity: Activity) -> bool {
    match channel {
        // In the middle of a turn.
        Channel::Tool => urgency.goes_into_turn(),
        Channel::Stream => match activity {
            Activity::Idle => true,
            Activity::Unknown => urgency.goes_into_unknown(),
            Activity::Busy => urgency.goes_into_turn(),
            _ => urgency.is_urgent(),
        },
        // A session that is woken in the middle of a turn may not notice it.
        Channel::Wake => match activity {
            Activity::Idle => true,
            Activity::Unknown => urgency.goes_into_unknown(),
            _ => false,
        },
        Channel::TurnEnd | Channel::TurnStart | Channel::Inbox | Channel::Checkpoint | Channel::Nudge => true,
    }
}

/// How long an idle session may take to begin its first turn before its first prompt may be delivered by another channel.
pub const FIRST_TURN_TIMEOUT: Duration = Duration::from_secs(10);

/// Whether the hook of a session's first turn delivers the session's first prompt. The launch has begun that turn by an argument
/// of the program, so a prompt that was typed, or sent as another turn, would arrive twice or answer a question. `idle_since` is
/// the time since which the session is idle; `None` when that is unknown.
pub fn is_left_to_first_turn(activity: Activity, idle_since: Option<Timestamp>, now: Timestamp) -> bool {
    match activity {
        Activity::Unknown => true,
        Activity::Idle => idle_since.is_none_or(|since| now.since(since) < FIRST_TURN_TIMEOUT),
        Activity::Busy | Activity::RequiresAction | Activity::Stopping => false,
    }
}

/// Selects the messages that the channel `way` can deliver now, in the order in which they are read. `unsettled` are the open
/// messages to a session, its lane or its role; those with an open offer are left out.
pub fn deliverable(unsettled: Vec<Message>, way: Channel, activity: Activity, now: Timestamp) -> Vec<Message> {
    let mut free: Vec<Message> = unsettled
        .into_iter()
        .filter(|message| {
            !message.is_expired(now) && !message.is_offered(now) && channel_allows(Urgency::of(message), way, activity)
        })
        .collect();
    sort_by_priority(&mut free);
    free
}

/// The conditions for typing a message into a session's terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypingPolicy {
    /// Not now.
    Wait,
    /// Type the message.
    Type,
    /// Interrupt the session, then type the message.
    InterruptThenType,
}

/// How text reaches the running turn of a busy session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnAccess {
    /// In no way: the turn must be interrupted.
    None,
    /// By hooks of the provider, which bring waiting text at the end of the turn or in its middle.
    Hooks,
    /// By the agent, which takes urgent prompts into its running turn.
    Steering,
}

/// Whether and how a message is typed into a session's terminal now.
pub fn typing_policy(urgency: Urgency, activity: Activity, access: TurnAccess) -> TypingPolicy {
    match activity {
        Activity::Idle => TypingPolicy::Type,
        // Not a normal one: agents end the answer that they are giving, and put a running command into the background.
        Activity::Busy if urgency.goes_into_turn() && access == TurnAccess::Steering => TypingPolicy::Type,
        // A question is on the screen, and typing would answer it.
        Activity::RequiresAction | Activity::Stopping => TypingPolicy::Wait,
        Activity::Unknown | Activity::Busy if urgency.interrupts && access == TurnAccess::None => {
            TypingPolicy::InterruptThenType
        }
        Activity::Unknown if urgency.goes_into_unknown() => TypingPolicy::Type,
        Activity::Unknown | Activity::Busy => TypingPolicy::Wait,
    }
}

/// Why a message that is queued for a running session waits; `None` when it may be delivered at once.
pub const fn wait_reason(urgency: Urgency, activity: Activity) -> Option<WaitReason> {
    match activity {
        Activity::Idle => None,
        Activity::Unknown if urgency.goes_into_unknown() => None,
        Activity::Unknown => Some(WaitReason::StateUnknown),
        Activity::Busy if urgency.is_urgent() => None,
        Activity::Busy => Some(WaitReason::SessionBusy),
        Activity::RequiresAction => Some(WaitReason::SessionAsks),
        Activity::Stopping => Some(WaitReason::SessionStopping),
    }
}

/// The position, from 1, at which a session with these unsettled messages reads the message `id`.
pub fn queue_position(unsettled: &[Message], priority: Priority, id: i64) -> usize {
    let before = |message: &&Message| (message.priority.rank(), message.id) < (priority.rank(), id);
    unsettled.iter().filter(before).count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::LaneName;
    use crate::domain::message::{MessageStatus, Recipient};

    const NOW: Timestamp = Timestamp::from_millis(100);

    fn message(id: i64, priority: Priority, offer: Option<(&str, i64)>) -> Message {
        Message {
            id,
            to: Recipient::Lane(LaneName::parse("l").unwrap()),
            priority,
            source: "mail".into(),
            content: "text".into(),
            metadata: None,
            status: if offer.is_some() { MessageStatus::Offered } else { MessageStatus::Queued },
            offered_to: offer.map(|(to, _)| to.to_owned()),
            offered_until: offer.map(|(_, until)| Timestamp::from_millis(until)),
            channel: None,
            dedup: None,
            count: 1,
            announced_to: None,
            answered_at: None,
            stop_reason: None,
            expires_at: None,
            created_at: Timestamp::from_millis(0),
        }
    }

    fn ids(messages: &[Message]) -> Vec<i64> {
        messages.iter().map(|message| message.id).collect()
    }

    #[test]
    fn message_of_higher_priority_comes_first() {
        let all = vec![
            message(1, Priority::Normal, None),
            message(2, Priority::Urgent, None),
            message(3, Priority::System, None),
            message(4, Priority::Normal, None),
        ];
        assert_eq!(ids(&plan_read(all, "a", NOW, NOW).offered), [3, 2, 1, 4]);
    }

    #[test]
    fn offer_in_force_is_read_by_its_reader_and_kept_from_others() {
        let all = || vec![message(1, Priority::Normal, Some(("a", 160)))];
        assert_eq!(plan_read(all(), "a", NOW, NOW).acknowledged, [1]);
        let other = plan_read(all(), "b", NOW, NOW);
        assert_eq!(
            (other.acknowledged, other.offered, other.next_offer_expiry),
            (vec![], vec![], Some(Timestamp::from_millis(160)))
        );
    }

    #[test]
    fn offer_to_another_command_is_not_acknowledged_by_an_earlier_read() {
        let until = NOW.plus(Duration::from_secs(OFFER_TIMEOUT_SECS)).millis();
        let offered_now = || vec![message(1, Priority::Normal, Some(("a", until)))];
        let asked_before = Timestamp::from_millis(NOW.millis() - 1);
        assert_eq!(plan_read(offered_now(), "a", asked_before, NOW), ReadPlan::default());
        assert_eq!(plan_read(offered_now(), "a", NOW, NOW).acknowledged, [1]);
    }

    #[test]
    fn expired_offer_is_delivered_to_the_next_reader() {
        for reader in ["a", "b"] {
            let again = plan_read(vec![message(1, Priority::Normal, Some(("a", 100)))], reader, NOW, NOW);
            assert_eq!((again.acknowledged.len(), ids(&again.offered)), (0, vec![1]), "{reader}");
        }
    }

    #[test]
    fn expired_message_is_not_offered_and_many_are_offered_in_parts() {
        let late = Message { expires_at: Some(NOW), ..message(1, Priority::System, None) };
        assert_eq!(plan_read(vec![late], "a", NOW, NOW), ReadPlan::default());
        let pile = (0..i64::try_from(MAX_READ).unwrap() + 3).map(|id| message(id, Priority::Normal, None)).collect();
        let part = plan_read(pile, "a", NOW, NOW);
        assert_eq!((part.offered.len(), part.remaining), (MAX_READ, 3));
    }

    #[test]
    fn pushed_message_is_not_acknowledged_by_an_inbox_read() {
        for way in Channel::ALL {
            let brought = Message { channel: Some(*way), ..message(1, Priority::Normal, Some(("a", 160))) };
            let reading = plan_read(vec![brought], "a", NOW, NOW);
            assert_eq!(reading.acknowledged == [1], way.is_pull(), "{way}");
            assert_eq!(reading.next_offer_expiry.is_some(), !way.is_pull(), "{way}");
        }
    }

    #[test]
    fn inline_delivery_takes_open_and_unexpired_messages() {
        let all = || {
            vec![
                message(1, Priority::Normal, None),
                message(2, Priority::Normal, Some(("a", 160))),
                message(3, Priority::Normal, Some(("a", 100))),
                Message { expires_at: Some(NOW), ..message(4, Priority::Normal, None) },
                message(5, Priority::Urgent, None),
            ]
        };
        assert_eq!(ids(&deliverable(all(), Channel::TurnEnd, Activity::Busy, NOW)), [5, 1, 3]);
        assert_eq!(ids(&deliverable(all(), Channel::Tool, Activity::Busy, NOW)), [5]);
        assert_eq!(ids(&deliverable(all(), Channel::Stream, Activity::Busy, NOW)), [5]);
        assert_eq!(ids(&deliverable(all(), Channel::Stream, Activity::Idle, NOW)), [5, 1, 3]);
    }

    #[test]
    fn session_of_unknown_state_gets_only_what_is_urgent_or_sent_now() {
        let now = Some("{\"from\":\"ann@host\",\"now\":true}".to_owned());
        let other = Some("{\"from\":\"ann@host\",\"why\":\"now\"}".to_owned());
        let all = vec![
            message(1, Priority::Normal, None),
            message(2, Priority::System, None),
            Message { metadata: now, ..message(3, Priority::Normal, None) },
            message(4, Priority::Urgent, None),
            Message { metadata: other, ..message(5, Priority::Normal, None) },
        ];
        for channel in [Channel::Stream, Channel::Wake] {
            assert_eq!(ids(&deliverable(all.clone(), channel, Activity::Unknown, NOW)), [4, 3], "{channel}");
        }
        let typed = |access| {
            all.iter()
                .filter(move |one| typing_policy(Urgency::of(one), Activity::Unknown, access) != TypingPolicy::Wait)
        };
        for access in [TurnAccess::None, TurnAccess::Hooks, TurnAccess::Steering] {
            assert_eq!(typed(access).map(|one| one.id).collect::<Vec<_>>(), [3, 4]);
        }
        let reasons: Vec<_> = all.iter().map(|one| wait_reason(Urgency::of(one), Activity::Unknown)).collect();
        let waits = Some(WaitReason::StateUnknown);
        assert_eq!(reasons, [waits, waits, None, None, waits]);
        // A hook's call and the session's own question show what it does.
        for channel in [Channel::TurnStart, Channel::TurnEnd, Channel::Inbox, Channel::Checkpoint] {
            assert_eq!(deliverable(all.clone(), channel, Activity::Unknown, NOW).len(), 5, "{channel}");
        }
    }

    #[test]
    fn prompt_is_not_typed_over_a_question_and_only_an_urgent_one_interrupts() {
        use Activity::{Busy, Idle, RequiresAction, Stopping, Unknown};
        let typing_policy = |priority, activity, access| {
            let interrupts = priority == Priority::Urgent;
            typing_policy(Urgency { priority, now: false, decision: false, interrupts }, activity, access)
        };
        let told = Urgency { priority: Priority::Urgent, now: false, decision: false, interrupts: false };
        for activity in [Unknown, Busy] {
            assert_eq!(super::typing_policy(told, activity, TurnAccess::None), TypingPolicy::Wait);
        }
        for access in [TurnAccess::None, TurnAccess::Hooks, TurnAccess::Steering] {
            for priority in Priority::ALL {
                assert_eq!(typing_policy(*priority, Idle, access), TypingPolicy::Type);
                assert_eq!(typing_policy(*priority, RequiresAction, access), TypingPolicy::Wait);
                assert_eq!(typing_policy(*priority, Stopping, access), TypingPolicy::Wait);
            }
            assert_eq!(typing_policy(Priority::Normal, Unknown, access), TypingPolicy::Wait);
            assert_eq!(typing_policy(Priority::Normal, Busy, access), TypingPolicy::Wait);
            assert_eq!(typing_policy(Priority::System, Busy, access), TypingPolicy::Wait);
        }
        assert_eq!(typing_policy(Priority::Urgent, Busy, TurnAccess::Steering), TypingPolicy::Type);
        assert_eq!(typing_policy(Priority::Urgent, Busy, TurnAccess::None), TypingPolicy::InterruptThenType);
        assert_eq!(typing_policy(Priority::Urgent, Busy, TurnAccess::Hooks), TypingPolicy::Wait);
        assert_eq!(typing_policy(Priority::Urgent, Unknown, TurnAccess::None), TypingPolicy::InterruptThenType);
    }

    #[test]
    fn first_prompt_is_left_to_the_first_turn_until_the_session_works_or_is_idle_for_long() {
        let since = |millis| Some(Timestamp::from_millis(NOW.millis() - millis));
        for activity in Activity::ALL {
            let is_left = matches!(activity, Activity::Unknown | Activity::Idle);
            assert_eq!(is_left_to_first_turn(*activity, since(9_999), NOW), is_left, "{activity}");
        }
        assert!(is_left_to_first_turn(Activity::Unknown, since(10_000), NOW));
        assert!(!is_left_to_first_turn(Activity::Idle, since(10_000), NOW));
    }

    #[test]
    fn queue_place_counts_the_messages_read_before() {
        let queue = [
            message(1, Priority::Normal, None),
            message(2, Priority::Urgent, None),
            message(3, Priority::System, None),
            message(4, Priority::Normal, None),
        ];
        let place = |message: &Message| queue_position(&queue, message.priority, message.id);
        assert_eq!(queue.iter().map(place).collect::<Vec<_>>(), [3, 2, 1, 4]);
    }
}
