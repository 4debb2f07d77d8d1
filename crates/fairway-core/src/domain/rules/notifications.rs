//! Which items are due at which sink now, and when the next ones are.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::domain::id::SinkName;
use crate::domain::notification::{NotifySink, Receipt, ReceiptState};
use crate::env::Timestamp;

/// How often an item is tried at a sink.
pub const MAX_ATTEMPTS: i64 = 5;
/// More items than this are sent as one summary.
pub const MAX_SINGLE: usize = 5;
/// The delay after the first failure; each further failure triples it.
const FIRST_RETRY_DELAY: Duration = Duration::from_secs(10);

/// Items for one sink, to be sent together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    pub sink: SinkName,
    /// The keys of the items, in the order of the board.
    pub items: Vec<String>,
}

/// The next steps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The items that must wait for the end of the quiet window and have no receipt that says so yet.
    pub hold: Vec<(String, SinkName)>,
    /// The items to send, in this order. A batch of several is a summary.
    pub send: Vec<Batch>,
    /// Whether there is a receipt of an item that is no longer on the board.
    pub has_gone: bool,
    /// When something is due next, if no event comes before.
    pub next: Option<Timestamp>,
}

impl Plan {
    fn wait_until(&mut self, at: Timestamp) {
        self.next = Some(self.next.map_or(at, |next| next.min(at)));
    }
}

/// How long a sink waits for its next attempt after this many failed ones.
pub fn retry_delay(attempts: i64) -> Duration {
    let exponent = u32::try_from(attempts.saturating_sub(1).clamp(0, MAX_ATTEMPTS)).unwrap_or_default();
    FIRST_RETRY_DELAY * 3_u32.pow(exponent)
}

/// Whether the notification of a receipt was not sent and will not be tried again.
pub fn is_given_up(receipt: &Receipt, now: Timestamp) -> bool {
    let is_abandoned = || {
        receipt.state == ReceiptState::Claimed
            && receipt.attempts >= MAX_ATTEMPTS
            && receipt.retry_at.is_some_and(|at| at <= now)
    };
    receipt.state == ReceiptState::Failed || is_abandoned()
}

/// A sink and the items that it wants now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkWish {
    pub sink: SinkName,
    /// The keys of the items of its kinds, in the order of the board.
    pub wanted: Vec<String>,
    /// The items of these that are sent in the quiet window too.
    pub urgent: BTreeSet<String>,
    /// The end of its quiet window, while it lasts.
    pub quiet_until: Option<Timestamp>,
}

/// Plans the next notifications. `present` are the keys of all items on the board. Each of `wishes` lists the items that one sink
/// is to send. In a quiet window only urgent items are sent.
///
/// After a failure the whole sink waits for the next attempt, so that a service that does not answer is not called again for each
/// item.
pub fn plan(present: &BTreeSet<String>, receipts: &[Receipt], wishes: &[SinkWish], now: Timestamp) -> Plan {
    let mut plan =
        Plan { has_gone: receipts.iter().any(|receipt| !present.contains(&receipt.item)), ..Plan::default() };
    for wish in wishes {
        let sink = &wish.sink;
        let known: BTreeMap<&str, &Receipt> = receipts
            .iter()
            .filter(|receipt| receipt.sink == *sink)
            .map(|receipt| (receipt.item.as_str(), receipt))
            .collect();
        match wish.quiet_until {
            Some(end) => {
                let (now_due, later): (Vec<String>, Vec<String>) =
                    wish.wanted.iter().cloned().partition(|item| wish.urgent.contains(item));
                send(&mut plan, sink, &now_due, &known, now);
                hold(&mut plan, sink, &later, &known, end);
            }
            None => send(&mut plan, sink, &wish.wanted, &known, now),
        }
    }
    plan
}

fn hold(plan: &mut Plan, sink: &SinkName, wanted: &[String], known: &BTreeMap<&str, &Receipt>, end: Timestamp) {
    for item in wanted {
        match known.get(item.as_str()).map(|receipt| receipt.state) {
            None => plan.hold.push((item.clone(), sink.clone())),
            Some(ReceiptState::Held | ReceiptState::Retry | ReceiptState::Claimed) => {}
            Some(ReceiptState::Sent | ReceiptState::Failed) => continue,
        }
        plan.wait_until(end);
    }
}

fn send(plan: &mut Plan, sink: &SinkName, wanted: &[String], known: &BTreeMap<&str, &Receipt>, now: Timestamp) {
    let of_wanted = || wanted.iter().filter_map(|item| known.get(item.as_str()).copied());
    let failed_until = of_wanted()
        .filter(|receipt| receipt.state == ReceiptState::Retry)
        .filter_map(|receipt| receipt.retry_at)
        .filter(|at| *at > now)
        .max();
    if let Some(at) = failed_until {
        plan.wait_until(at);
        return;
    }
    let (mut fresh, mut again, mut held) = (Vec::new(), Vec::new(), 0);
    for item in wanted {
        let Some(receipt) = known.get(item.as_str()) else {
            fresh.push(item.clone());
            continue;
        };
        match (receipt.state, receipt.retry_at) {
            (ReceiptState::Held, _) => {
                held += 1;
                fresh.push(item.clone());
            }
            (ReceiptState::Claimed | ReceiptState::Retry, Some(at)) if receipt.attempts < MAX_ATTEMPTS => {
                if at > now {
                    plan.wait_until(at);
                } else {
                    again.push(item.clone());
                }
            }
            _ => {}
        }
    }
    // Items that failed before come last: one that the sink refuses keeps no other one back.
    let due: Vec<String> = fresh.into_iter().chain(again).collect();
    let max_single = if NotifySink::of(sink) == NotifySink::Bell { 1 } else { MAX_SINGLE };
    if held > 1 || due.len() > max_single {
        plan.send.push(Batch { sink: sink.clone(), items: due });
    } else {
        plan.send.extend(due.into_iter().map(|item| Batch { sink: sink.clone(), items: vec![item] }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(NOW.millis() + seconds * 1_000)
    }

    fn sink(name: &str) -> SinkName {
        SinkName::parse(name).unwrap()
    }

    fn receipt(item: &str, state: ReceiptState, attempts: i64, retry: Option<i64>) -> Receipt {
        let sink = sink("command");
        Receipt { item: item.into(), sink, state, attempts, at: NOW, retry_at: retry.map(at), error: None }
    }

    fn wish(name: &str, wanted: &[&str], quiet_until: Option<Timestamp>) -> SinkWish {
        let wanted: Vec<String> = wanted.iter().map(|item| (*item).to_owned()).collect();
        let urgent = wanted.iter().filter(|item| item.starts_with("urgent")).cloned().collect();
        SinkWish { sink: sink(name), wanted, urgent, quiet_until }
    }

    fn planned(wanted: &[&str], receipts: &[Receipt], quiet_until: Option<Timestamp>) -> Plan {
        let present = wanted.iter().map(|item| (*item).to_owned()).collect();
        plan(&present, receipts, &[wish("command", wanted, quiet_until)], NOW)
    }

    fn sent(plan: &Plan) -> Vec<Vec<&str>> {
        plan.send.iter().map(|batch| batch.items.iter().map(String::as_str).collect()).collect()
    }

    #[test]
    fn each_state_of_a_receipt_says_whether_its_item_is_due() {
        use ReceiptState::{Claimed, Failed, Held, Retry, Sent};
        for (state, attempts, retry, is_due, next) in [
            (Sent, 1, None, false, None),
            (Failed, 5, None, false, None),
            (Held, 0, None, true, None),
            (Claimed, 1, Some(30), false, Some(at(30))),
            (Claimed, 1, Some(0), true, None),
            (Claimed, MAX_ATTEMPTS, Some(0), false, None),
            (Retry, 1, Some(10), false, Some(at(10))),
            (Retry, 4, Some(-1), true, None),
        ] {
            let plan = planned(&["a"], &[receipt("a", state, attempts, retry)], None);
            assert_eq!(!plan.send.is_empty(), is_due, "{state}");
            assert_eq!(plan.next, next, "{state}");
        }
    }

    #[test]
    fn many_items_and_several_held_ones_come_as_one_summary() {
        assert_eq!(sent(&planned(&["a", "b"], &[], None)), [["a"], ["b"]]);
        assert_eq!(sent(&planned(&["a", "b", "c", "d", "e", "f"], &[], None)), [["a", "b", "c", "d", "e", "f"]]);
        let held = ["a", "b"].map(|item| receipt(item, ReceiptState::Held, 0, None));
        assert_eq!(sent(&planned(&["a", "b", "c"], &held, None)), [["a", "b", "c"]]);
        assert_eq!(sent(&planned(&["a", "c"], &held[..1], None)), [["a"], ["c"]]);
    }

    #[test]
    fn after_a_failure_the_whole_sink_waits_and_a_failed_item_comes_last() {
        let failed = |retry| [receipt("a", ReceiptState::Retry, 1, Some(retry))];
        let waiting = planned(&["a", "b"], &failed(5), None);
        assert_eq!((waiting.send.len(), waiting.next), (0, Some(at(5))));
        assert_eq!(sent(&planned(&["a", "b"], &failed(0), None)), [["b"], ["a"]]);
        // An item that is settled keeps nothing back.
        assert_eq!(sent(&planned(&["b"], &failed(5), None)), [["b"]]);
        let delays: Vec<u64> = (1..MAX_ATTEMPTS).map(|attempts| retry_delay(attempts).as_secs()).collect();
        assert_eq!(delays, [10, 30, 90, 270]);
    }

    #[test]
    fn in_the_quiet_window_items_are_held_and_receipts_of_gone_items_are_seen() {
        let quiet = planned(&["a", "b"], &[receipt("b", ReceiptState::Sent, 1, None)], Some(at(60)));
        assert_eq!(quiet.hold, [("a".to_owned(), sink("command"))]);
        assert_eq!((quiet.send.len(), quiet.next, quiet.has_gone), (0, Some(at(60)), false));
        let held = planned(&["a"], &[receipt("a", ReceiptState::Held, 0, None)], Some(at(60)));
        assert_eq!((held.hold.len(), held.next), (0, Some(at(60))));
        let urgent = planned(&["a", "urgent-1", "urgent-2"], &[], Some(at(60)));
        assert_eq!(sent(&urgent), [["urgent-1"], ["urgent-2"]]);
        assert_eq!((urgent.hold.len(), urgent.next), (1, Some(at(60))));
        let gone = planned(&[], &[receipt("a", ReceiptState::Held, 0, None)], Some(at(60)));
        assert_eq!((gone.has_gone, gone.next), (true, None));
    }

    #[test]
    fn each_sink_has_its_own_wishes_and_its_own_night() {
        let present = ["a", "b"].map(str::to_owned).into();
        let receipts = [receipt("a", ReceiptState::Sent, 1, None)];
        let wishes = [
            wish("command", &["a", "b"], None),
            wish("phone", &["a", "b"], Some(at(60))),
            wish("desktop", &["b"], None),
        ];
        let plan = plan(&present, &receipts, &wishes, NOW);
        let sent: Vec<(&str, &[String])> =
            plan.send.iter().map(|batch| (batch.sink.as_str(), &batch.items[..])).collect();
        assert_eq!(sent, [("command", &["b".to_owned()][..]), ("desktop", &["b".to_owned()][..])]);
        assert_eq!(plan.hold, ["a", "b"].map(|item| (item.to_owned(), sink("phone"))));
    }
}
