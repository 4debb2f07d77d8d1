//! The type of a moment, and the clock that tells the time.

use std::ffi::OsString;
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{
    DateTime, Datelike, Days, Local, Month, NaiveDate, NaiveDateTime, NaiveTime, SecondsFormat, TimeZone, Timelike, Utc,
};

/// The characters of `2026-01-31`.
const DATE_CHARS: usize = 10;

/// A moment: milliseconds since 1970, UTC. Shown as RFC 3339 with milliseconds and `Z`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    pub fn from_system_time(time: SystemTime) -> Option<Self> {
        let since = time.duration_since(UNIX_EPOCH).ok()?;
        i64::try_from(since.as_millis()).ok().map(Self)
    }

    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Parses a time in the form of RFC 3339, in any offset, with or without fractions of a second; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        DateTime::parse_from_rfc3339(text.trim()).ok().map(|time| Self(time.timestamp_millis()))
    }

    /// Parses the next moment with which a sentence of a provider begins: `1:14am (UTC)`, `Apr 1 at 9am (Asia/Tokyo)` or
    /// `Nov 28th, 2026 1:10 AM`. Without a zone it is that of this machine, which is `own_zone`. `None` for any other text, another
    /// zone, and a time that the clock skips.
    pub fn parse_spoken(text: &str, now: Self, own_zone: Option<&str>) -> Option<Self> {
        let (text, zone) = match text.split_once('(') {
            Some((text, rest)) => (text, Some(rest.split_once(')')?.0)),
            None => (text, None),
        };
        let mut words = text.split([' ', ',']).filter(|word| !word.is_empty() && *word != "at").peekable();
        let month = words.next_if(|word| word.parse::<Month>().is_ok()).and_then(|word| word.parse::<Month>().ok());
        let day = if month.is_some() { words.next()?.trim_end_matches(char::is_alphabetic).parse().ok() } else { None };
        let year = words.next_if(|word| word.len() == 4 && month.is_some()).and_then(|word| word.parse::<i32>().ok());
        let word = words.next()?;
        let (clock, half) = word.split_at(word.find(char::is_alphabetic).unwrap_or(word.len()));
        let half = if half.is_empty() { words.next()? } else { half };
        let noon = match half.get(..2)?.to_ascii_lowercase().as_str() {
            "am" => 0,
            "pm" => 12,
            _ => return None,
        };
        let (hour, minute) = clock.split_once(':').unwrap_or((clock, "0"));
        let time = NaiveTime::from_hms_opt(hour.parse::<u32>().ok()? % 12 + noon, minute.parse().ok()?, 0)?;
        let is_utc = zone == Some("UTC");
        if !is_utc && zone.is_some_and(|zone| own_zone != Some(zone)) {
            return None;
        }
        let utc = DateTime::<Utc>::from_timestamp_millis(now.0)?;
        let today = if is_utc { utc.date_naive() } else { utc.with_timezone(&Local).date_naive() };
        let (first, next) = match (month, year) {
            (None, _) => (today, today.succ_opt()?),
            (Some(month), year) => {
                let of_year = |year| NaiveDate::from_ymd_opt(year, month.number_from_month(), day?);
                (of_year(year.unwrap_or(today.year()))?, of_year(year.unwrap_or(today.year() + 1))?)
            }
        };
        let moment = |date: NaiveDate| {
            let at = date.and_time(time);
            let at =
                if is_utc { Utc.from_utc_datetime(&at) } else { Local.from_local_datetime(&at).earliest()?.to_utc() };
            Some(Self(at.timestamp_millis())).filter(|at| *at > now)
        };
        moment(first).or_else(|| moment(next))
    }

    /// Date and time of day in the time zone of this machine, for people: `2026-01-31 12:00:00`.
    pub fn to_local(self) -> String {
        match DateTime::<Utc>::from_timestamp_millis(self.0) {
            Some(time) => time.with_timezone(&Local).format("%Y-%m-%d %H:%M:%S").to_string(),
            None => self.0.to_string(),
        }
    }

    /// The time of day in the time zone of this machine, for people: `12:00:00`.
    pub fn local_time(self) -> String {
        let time = DateTime::<Utc>::from_timestamp_millis(self.0).unwrap_or_default();
        time.with_timezone(&Local).format("%H:%M:%S").to_string()
    }

    /// The minute in the time zone of this machine, for people: `12:00`, and of another day than `now` with its date.
    pub fn local_minute_or_day(self, now: Self) -> String {
        let (text, today) = (self.to_local(), now.to_local());
        let is_today = text.get(..DATE_CHARS) == today.get(..DATE_CHARS);
        let from = if is_today { DATE_CHARS + 1 } else { 0 };
        text.get(from..text.len() - ":00".len()).unwrap_or(&text).to_owned()
    }

    /// The beginning of this moment's day, in UTC.
    #[must_use]
    pub const fn start_of_day(self) -> Self {
        const DAY_MS: i64 = 24 * 60 * 60 * 1000;
        Self(self.0 - self.0.rem_euclid(DAY_MS))
    }

    /// The minute of the day in the time zone of this machine, 0 to 1439.
    pub fn local_minute(self) -> u32 {
        let local = DateTime::<Utc>::from_timestamp_millis(self.0).unwrap_or_default().with_timezone(&Local);
        local.hour() * 60 + local.minute()
    }

    /// The next moment after this one at which the clock in this machine's time zone shows `minute`, a minute of the day. Where
    /// the clock skips that minute, it is the first moment after the gap.
    #[must_use]
    pub fn next_local_minute(self, minute: u32) -> Self {
        let local = DateTime::<Utc>::from_timestamp_millis(self.0).unwrap_or_default().with_timezone(&Local);
        let time = NaiveTime::from_hms_opt(minute / 60 % 24, minute % 60, 0).unwrap_or_default();
        let dates = (0..3).filter_map(|days| local.date_naive().checked_add_days(Days::new(days)));
        let moments = dates.filter_map(|date| first_at(date.and_time(time)));
        moments.map(|moment| Self(moment.timestamp_millis())).find(|moment| *moment > self).unwrap_or(self)
    }

    /// The moment that is `span` later; the last possible one, when that is too late for a timestamp.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The moment that is `span` earlier; the first possible one, when that is too early for a timestamp.
    #[must_use]
    pub fn minus(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The span from an earlier moment to this one; zero when `earlier` is later than this one, as it may be after a step of the
    /// clock.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// The first moment at which the local clock shows this time, or the first one after a gap that contains it.
fn first_at(shown: NaiveDateTime) -> Option<DateTime<Local>> {
    const QUARTERS_OF_A_DAY: u64 = 24 * 4;
    (0..QUARTERS_OF_A_DAY)
        .filter_map(|quarter| {
            shown.checked_add_signed(chrono::TimeDelta::from_std(Duration::from_secs(quarter * 900)).ok()?)
        })
        .find_map(|shown| Local.from_local_datetime(&shown).earliest())
}

impl serde::Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Gives a type that is a text in JSON documents the schema of a text.
#[cfg(feature = "schemas")]
macro_rules! text_schema {
    ($name:ident) => {
        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                "String".into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                String::json_schema(generator)
            }
        }
    };
}
#[cfg(feature = "schemas")]
pub(crate) use text_schema;
#[cfg(feature = "schemas")]
text_schema!(Timestamp);

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match DateTime::<Utc>::from_timestamp_millis(self.0) {
            Some(time) => f.write_str(&time.to_rfc3339_opts(SecondsFormat::Millis, true)),
            // Outside chrono's years: the number itself is still the truth.
            None => write!(f, "{}", self.0),
        }
    }
}

/// The source of the time: the system's clock, or a clock that stands still for a test.
#[derive(Debug, Clone, Copy)]
pub enum Clock {
    System,
    Fixed(Timestamp),
}

impl Clock {
    /// The clock that `FAIRWAY_TEST_TIME` asks for; the system's when it is absent or cannot be read.
    pub fn from_setting(setting: Option<&OsString>) -> Self {
        setting.and_then(|text| text.to_str()).and_then(Timestamp::parse).map_or(Self::System, Self::Fixed)
    }

    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
    pub fn now(self) -> Timestamp {
        match self {
            Self::Fixed(time) => time,
            Self::System => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_and_reads_rfc3339_with_milliseconds() {
        let time = Timestamp::parse("2026-02-28T05:58:06.25+02:00").unwrap();
        assert_eq!(time.to_string(), "2026-02-28T03:58:06.250Z");
        assert_eq!(Timestamp::parse(&time.to_string()), Some(time));
        assert_eq!(Timestamp::parse("yesterday"), None);
    }

    #[test]
    fn next_local_minute_is_within_a_day_and_shows_the_minute() {
        let now = Timestamp::parse("2026-06-15T12:34:56.789Z").unwrap();
        for minute in [0, 1, 754, 755, 1_439] {
            let next = now.next_local_minute(minute);
            assert_eq!(next.local_minute(), minute);
            assert!(next > now && next.since(now) <= Duration::from_secs(24 * 60 * 60), "{minute}: {next}");
        }
        // A whole day later, not the same moment again.
        let next = now.next_local_minute(60);
        assert_eq!(next.next_local_minute(60).since(next), Duration::from_secs(24 * 60 * 60));
    }

    #[test]
    fn clock_step_backwards_counts_as_no_time() {
        let (early, late) = (Timestamp::from_millis(10), Timestamp::from_millis(30));
        assert_eq!(late.since(early), Duration::from_millis(20));
        assert_eq!(early.since(late), Duration::ZERO);
    }
}
