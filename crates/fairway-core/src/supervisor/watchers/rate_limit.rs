//! Limits the reports of one watcher in a burst of matches: the first matches get items of their own and one item stands for the
//! rest; one notification is sent at once and another one for the rest.

use std::time::Duration;

use crate::domain::job::ItemType;

/// How long the matches after a first one are reported together.
const COOLDOWN: Duration = Duration::from_secs(1);
/// How many matches have items of their own within that time.
const MAX_ITEMS: i64 = 20;

/// How much of a line is kept, in bytes: more than an item shows.
const MAX_KEPT_LINE_BYTES: usize = 16 * 1024;

/// How a match is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reporting {
    /// With an item, and a notification at once.
    Immediate,
    /// With an item; one notification for several matches follows at the end of the cooldown.
    ItemOnly,
    /// Together with others, in the item that ends the cooldown.
    Summarized,
}

/// The matches that a cooldown has held back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Suppressed {
    /// How many matches had no notification of their own.
    pub unnotified: i64,
    /// How many of these had no item either.
    pub without_item: i64,
    /// The last match without an item: its stream and the beginning of its line.
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
    /// Starts the cooldown after a first match, which was reported at once.
    pub fn start(now: Duration) -> Self {
        Self { until: now + COOLDOWN, items: 1, suppressed: Suppressed { unnotified: 0, without_item: 0, last: None } }
    }

    pub fn is_over(&self, now: Duration) -> bool {
        now >= self.until
    }

    /// When the cooldown must be ended so that the matches that it held back are reported; `None` when it held back none.
    pub fn due(&self) -> Option<Duration> {
        (self.suppressed.unnotified > 0).then_some(self.until)
    }

    /// Counts another match during the cooldown and decides how it is reported. When it gets no item of its own, only the
    /// beginning of its line is kept, and secrets in the line are masked only at the end of the cooldown.
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

    /// Ends the cooldown and returns the matches that it held back; `None` when there were none.
    pub fn finish(self) -> Option<Suppressed> {
        (self.suppressed.unnotified > 0).then_some(self.suppressed)
    }
}
