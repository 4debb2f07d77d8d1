//! A storm of matches of one watcher: some items of their own, then one for the rest; one message at once, then one for the
//! rest.

use std::time::Duration;

use crate::domain::run::ItemType;

/// How long the matches after a first one are told together.
const SECOND: Duration = Duration::from_secs(1);
/// How many matches have items of their own within that time.
const ITEMS: i64 = 20;

/// How much of a line is kept, in bytes: more than is shown of it.
const KEPT: usize = 16 * 1024;

/// What becomes of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// An item, and a message at once.
    AtOnce,
    /// An item; its message comes with those of the others.
    Later,
    /// It is told with others in the item that ends the cooldown.
    WithOthers,
}

/// What ends a cooldown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rest {
    /// How many matches had no message of their own.
    pub unsaid: i64,
    /// How many of these had no item either.
    pub held: i64,
    /// The last of those: its stream and the beginning of its line.
    pub last: Option<(ItemType, String)>,
}

/// The cooldown after a match.
#[derive(Debug)]
pub(super) struct Cooldown {
    until: Duration,
    items: i64,
    rest: Rest,
}

impl Cooldown {
    /// After the first match, which is told at once.
    pub fn after(now: Duration) -> Self {
        Self { until: now + SECOND, items: 1, rest: Rest { unsaid: 0, held: 0, last: None } }
    }

    /// Whether it is over.
    pub fn is_over(&self, now: Duration) -> bool {
        now >= self.until
    }

    /// When there is something to be said at its end.
    pub fn due(&self) -> Option<Duration> {
        (self.rest.unsaid > 0).then_some(self.until)
    }

    /// Another match. Of a line that is told with others only so much is kept; in a storm nothing is done with it yet.
    pub fn another(&mut self, stream: ItemType, line: &str) -> Told {
        self.rest.unsaid += 1;
        if self.items < ITEMS {
            self.items += 1;
            return Told::Later;
        }
        self.rest.held += 1;
        let (last, kept) = self.rest.last.get_or_insert_with(|| (stream, String::new()));
        *last = stream;
        kept.clear();
        kept.push_str(line.get(..line.floor_char_boundary(KEPT)).unwrap_or_default());
        Told::WithOthers
    }

    /// What is to be said at its end.
    pub fn end(self) -> Option<Rest> {
        (self.rest.unsaid > 0).then_some(self.rest)
    }
}
