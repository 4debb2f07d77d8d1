//! What a reader of messages gets, and what it has got: receipts under a lease, so that a crash offers again.

use std::time::Duration;

use crate::{
    domain::message::{Message, MessageStatus, OFFER_SECONDS},
    env::Timestamp,
};

/// What one reading does.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// These were printed to this reader before, and it came back in time: it has read them.
    pub read: Vec<i64>,
    /// These it gets now: what may interrupt most first, then the oldest.
    pub offered: Vec<Message>,
    /// When an offer to somebody else lapses that could then come here.
    pub lapses_at: Option<Timestamp>,
    /// How many more wait than one reading takes.
    pub more: usize,
}

/// The most messages that one reading takes.
pub const MOST: usize = 50;

/// Decides a reading by `reader`, who asked at `asked` and may have waited since, of the unsettled messages that are
/// addressed to it, its lane or its role.
#[must_use]
pub fn reading(unsettled: Vec<Message>, reader: &str, asked: Timestamp, now: Timestamp) -> Reading {
    let mut reading = Reading::default();
    // What another command of the same reader was offered later, this one cannot vouch for.
    let before = asked.plus(Duration::from_secs(OFFER_SECONDS));
    for message in unsettled {
        if message.expires_at.is_some_and(|at| at <= now) {
            continue;
        }
        let held_until = message.offered_until.filter(|until| message.status == MessageStatus::Offered && *until > now);
        match held_until {
            Some(until) if message.offered_to.as_deref() == Some(reader) => {
                if until <= before {
                    reading.read.push(message.id);
                }
            }
            Some(until) => {
                reading.lapses_at = Some(reading.lapses_at.map_or(until, |earlier: Timestamp| earlier.min(until)));
            }
            None => reading.offered.push(message),
        }
    }
    reading.offered.sort_by_key(|message| (message.priority.rank(), message.id));
    reading.more = reading.offered.len().saturating_sub(MOST);
    reading.offered.truncate(MOST);
    reading
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        LaneName,
        message::{Priority, Recipient},
    };

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
            way: None,
            dedup: None,
            count: 1,
            expires_at: None,
            created_at: Timestamp::from_millis(0),
        }
    }

    fn ids(messages: &[Message]) -> Vec<i64> {
        messages.iter().map(|message| message.id).collect()
    }

    #[test]
    fn what_may_interrupt_most_comes_first() {
        let all = vec![
            message(1, Priority::Normal, None),
            message(2, Priority::Urgent, None),
            message(3, Priority::System, None),
            message(4, Priority::Normal, None),
        ];
        assert_eq!(ids(&reading(all, "a", NOW, NOW).offered), [3, 2, 1, 4]);
    }

    #[test]
    fn an_offer_in_force_is_read_by_its_reader_and_kept_from_others() {
        let all = || vec![message(1, Priority::Normal, Some(("a", 160)))];
        assert_eq!(reading(all(), "a", NOW, NOW).read, [1]);
        let other = reading(all(), "b", NOW, NOW);
        assert_eq!((other.read, other.offered, other.lapses_at), (vec![], vec![], Some(Timestamp::from_millis(160))));
    }

    #[test]
    fn one_who_waits_does_not_vouch_for_what_another_command_was_offered_meanwhile() {
        let until = NOW.plus(Duration::from_secs(OFFER_SECONDS)).millis();
        let offered_now = || vec![message(1, Priority::Normal, Some(("a", until)))];
        let asked_before = Timestamp::from_millis(NOW.millis() - 1);
        assert_eq!(reading(offered_now(), "a", asked_before, NOW), Reading::default());
        assert_eq!(reading(offered_now(), "a", NOW, NOW).read, [1]);
    }

    #[test]
    fn a_lapsed_offer_comes_again_to_whoever_reads() {
        for reader in ["a", "b"] {
            let again = reading(vec![message(1, Priority::Normal, Some(("a", 100)))], reader, NOW, NOW);
            assert_eq!((again.read.len(), ids(&again.offered)), (0, vec![1]), "{reader}");
        }
    }

    #[test]
    fn what_is_too_late_is_not_offered_and_a_pile_is_taken_in_parts() {
        let late = Message { expires_at: Some(NOW), ..message(1, Priority::System, None) };
        assert_eq!(reading(vec![late], "a", NOW, NOW), Reading::default());
        let pile = (0..i64::try_from(MOST).unwrap() + 3).map(|id| message(id, Priority::Normal, None)).collect();
        let part = reading(pile, "a", NOW, NOW);
        assert_eq!((part.offered.len(), part.more), (MOST, 3));
    }
}
