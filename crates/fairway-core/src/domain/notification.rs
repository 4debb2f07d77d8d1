//! Notifications: items that need a person, on their way to a sink outside of Fairway.

use super::id::SinkName;
use super::string_enum::string_enum;
use crate::env::Timestamp;

string_enum! {
    /// A way to call a person.
    NotifySink {
        /// The bell of the sender's terminal.
        Bell => "bell",
        /// A message of the sender's terminal: OSC 9 or OSC 777.
        Osc => "osc",
        /// The desktop, by `notify-send`.
        Desktop => "desktop",
        /// The program of the configuration.
        Command => "command",
    }
}

impl NotifySink {
    /// The names of the sinks that need no program.
    pub fn built_in() -> Vec<&'static str> {
        Self::ALL.iter().filter(|sink| **sink != Self::Command).map(|sink| sink.as_str()).collect()
    }

    /// The built-in sink of this name; [`Self::Command`] for any other name, which stands for a program that the configuration
    /// sets.
    pub fn of(name: &SinkName) -> Self {
        Self::parse(name.as_str()).unwrap_or(Self::Command)
    }

    /// Whether the sink is the sender's terminal.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Bell | Self::Osc)
    }
}

string_enum! {
    /// The state of an item at a sink.
    ReceiptState {
        /// It waits for the end of the quiet window.
        Held => "held",
        /// A sender has it.
        Claimed => "claimed",
        /// It was not sent and will be tried again.
        Retry => "retry",
        /// It was sent.
        Sent => "sent",
        /// It was not sent and is not tried again.
        Failed => "failed",
    }
}

/// The record of an item at a sink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The key of the item.
    pub item: String,
    pub sink: SinkName,
    pub state: ReceiptState,
    /// How often it was claimed.
    pub attempts: i64,
    /// The time of the last change.
    pub at: Timestamp,
    /// When another attempt may be made.
    pub retry_at: Option<Timestamp>,
    /// Why the last attempt failed.
    pub error: Option<String>,
}

/// A part of the day in which nothing is sent, in local time; it may go over midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuietWindow {
    /// Its first minute of the day.
    pub start: u32,
    /// The minute of the day at which it is over.
    pub end: u32,
}

impl QuietWindow {
    /// Parses a window such as `22:00-07:00`. The error is a sentence about the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let expected = || format!("'{}' is not two times of day such as 22:00-07:00", text.escape_debug());
        let (start, end) = text.split_once('-').ok_or_else(expected)?;
        let (start, end) = minute_of_day(start).zip(minute_of_day(end)).ok_or_else(expected)?;
        if start == end {
            return Err(format!("'{}' begins and ends at the same time", text.escape_debug()));
        }
        Ok(Self { start, end })
    }

    /// Whether a minute of the day lies in the window, which may span midnight. The window's last minute is the one before its
    /// end.
    pub const fn contains(self, minute: u32) -> bool {
        if self.start < self.end {
            self.start <= minute && minute < self.end
        } else {
            self.start <= minute || minute < self.end
        }
    }
}

impl std::fmt::Display for QuietWindow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (start, end) = (self.start, self.end);
        write!(f, "{:02}:{:02}-{:02}:{:02}", start / 60, start % 60, end / 60, end % 60)
    }
}

/// The minute of the day for a time as `HH:MM`.
pub fn minute_of_day(text: &str) -> Option<u32> {
    let (hours, minutes) = text.trim().split_once(':')?;
    let number = |text: &str, limit: u32| {
        let is_number = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u32>().ok().filter(|number| is_number && *number < limit)
    };
    Some(number(hours, 24)? * 60 + number(minutes, 60)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_window_contains_its_minutes_also_over_midnight() {
        let night = QuietWindow::parse("22:00-07:00").unwrap();
        assert_eq!(night.to_string(), "22:00-07:00");
        for (time, inside) in [("21:59", false), ("22:00", true), ("00:00", true), ("06:59", true), ("07:00", false)] {
            assert_eq!(night.contains(minute_of_day(time).unwrap()), inside, "{time}");
        }
        let noon = QuietWindow::parse(" 12:00 - 13:30 ").unwrap();
        for (time, inside) in [("11:59", false), ("12:00", true), ("13:29", true), ("13:30", false), ("00:00", false)] {
            assert_eq!(noon.contains(minute_of_day(time).unwrap()), inside, "{time}");
        }
        for bad in ["", "22-7", "22:00", "22:00-24:00", "22:60-07:00", "7:00-8:00", "+2:00-03:00", "08:00-08:00"] {
            assert!(QuietWindow::parse(bad).is_err(), "{bad}");
        }
    }
}
