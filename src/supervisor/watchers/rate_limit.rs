//! A storm of matches of one watcher: some items of their own, then one for the rest; one message at once, then one for the
//! rest.

use std::time::Duration;

use crate::domain::job::ItemType;

/// How long the matches after a first one are told together.
const COOLDOWN: Duration = Duration::from_secs(1);
/// How many matches have items of their own within that time.
const MAX_ITEMS: i64 = 20;

/// How much of a line is kept, in bytes: more than is shown of it.
const MAX_KEPT_LINE_BYTES: usize = 16 * 1024;

/// The way of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reporting {
    /// An item, and a message at once.
    Immediate,
    /// An item; its message comes with those of the others.
    ItemOnly,
    /// It is told with others in the item that ends the cooldown.
    Summarized,
}

/// The end of a cooldown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Suppressed {
    /// How many matches had no message of their own.
    pub unnotified: i64,
    /// How many of these had no item either.
    pub without_item: i64,
    /// The last of those: its stream and the beginning of its line.
    pub last: Option<(ItemType, String)>,
}

/// The cooldown after a match.
#[derive(Debug)]
pub(super) struct Cooldown {
    until: Duration,
    items: i64,
    suppressed: Suppressed,
}

impl Cooldown {
    /// After the first match, which is told at once.
    pub fn start(now: Duration) -> Self {
        Self { until: now + COOLDOWN, items: 1, suppressed: Suppressed { unnotified: 0, without_item: 0, last: None } }
    }

    /// Whether it is over.
    pub fn is_over(&self, now: Duration) -> bool {
        now >= self.until
    }

    /// When there is something to be said at its end.
    pub fn due(&self) -> Option<Duration> {
        (self.suppressed.unnotified > 0).then_some(self.until)
    }

    /// Another match. Of a line that is told with others only so much is kept; in a storm nothing is done with it yet.
    pub fn add_match(&mut self, stream: ItemType, line: &str) -> Reporting {
        self.suppressed.unnotified += 1;
        if self.items < MAX_ITEMS {
            self.items += 1;
            return Reporting::ItemOnly;
        }
        self.suppressed.without_item += 1;
        let (last, kept) = self.suppressed.last.get_or_insert_with(|| (stream, String::new()));
        *last = stream;
        kept.clear();
        kept.push_str(line.get(..line.floor_char_boundary(MAX_KEPT_LINE_BYTES)).unwrap_or_default());
        Reporting::Summarized
    }

    /// The report at its end.
    pub fn finish(self) -> Option<Suppressed> {
        (self.suppressed.unnotified > 0).then_some(self.suppressed)
    }
}
