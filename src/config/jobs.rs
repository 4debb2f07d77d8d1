//! The configuration of background jobs.

use std::time::Duration;

use serde::{Deserialize, Deserializer, de::Error};

use super::values;

/// The settings of background jobs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct JobSettings {
    /// How many go on at once on one host.
    #[serde(rename = "parallel", deserialize_with = "at_least_one")]
    pub max_parallel: i64,
    /// How long a finished one is kept; `None` for ever.
    #[serde(deserialize_with = "span_or_off")]
    pub keep_for: Option<Duration>,
    /// How many finished ones are kept.
    #[serde(rename = "keep_runs", deserialize_with = "count")]
    pub keep_jobs: usize,
    /// How many bytes of the output of finished ones are kept; `None` for all.
    #[serde(deserialize_with = "bytes_or_off")]
    pub keep_bytes: Option<u64>,
}

impl Default for JobSettings {
    fn default() -> Self {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        Self { max_parallel: 256, keep_for: Some(14 * DAY), keep_jobs: 10_000, keep_bytes: Some(1 << 30) }
    }
}

fn at_least_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    values::checked(
        deserializer,
        |number| {
            if *number < 1 { Err(format!("must be at least 1, not {number}")) } else { Ok(()) }
        },
    )
}

fn span_or_off<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    values::span_or("off", deserializer)
}

fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    usize::try_from(i64::deserialize(deserializer)?).map_err(|_| D::Error::custom("must not be below 0"))
}

fn bytes_or_off<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    values::parsed(deserializer, |text| if text == "off" { Ok(None) } else { parse_bytes(text).map(Some) })
}

/// Reads a number of bytes: `4096`, `64KiB`, `1GiB`.
///
/// # Errors
/// A sentence that says what was expected.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    const UNITS: &[(&str, u32)] =
        &[("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40), ("K", 10), ("M", 20), ("G", 30), ("B", 0)];
    let unit = UNITS.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)));
    let (number, shift) = unit.unwrap_or((text, 0));
    let read = number.trim().parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    read.filter(|_| number.trim().bytes().all(|byte| byte.is_ascii_digit()))
        .ok_or_else(|| format!("'{}' is not a number of bytes such as 4096, 64KiB or 1GiB", text.escape_debug()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units_and_nothing_else() {
        for (text, want) in
            [("0", 0), ("4096", 4096), ("64KiB", 65_536), ("1 MiB", 1 << 20), ("1GiB", 1 << 30), ("2M", 2 << 20)]
        {
            assert_eq!(parse_bytes(text), Ok(want), "{text}");
        }
        for bad in ["", "x", "-1", "+1", "1.5M", "KiB", "99999999999TiB", "1 PiB"] {
            assert!(parse_bytes(bad).is_err(), "{bad}");
        }
    }
}
