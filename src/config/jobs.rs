//! The configuration of background jobs.

use std::time::Duration;

use serde::Deserialize;

use super::duration;

/// The settings of background runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSettings {
    /// How many go on at once on one host.
    pub max_parallel: i64,
    /// How long a finished one is kept; `None` for ever.
    pub keep_for: Option<Duration>,
    /// How many finished ones are kept.
    pub keep_jobs: usize,
    /// How many bytes of what finished ones printed are kept; `None` for all.
    pub keep_bytes: Option<u64>,
}

impl Default for JobSettings {
    fn default() -> Self {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        Self { max_parallel: 256, keep_for: Some(14 * DAY), keep_jobs: 10_000, keep_bytes: Some(1 << 30) }
    }
}

/// The section as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Raw {
    parallel: Option<i64>,
    keep_for: Option<String>,
    keep_runs: Option<i64>,
    keep_bytes: Option<String>,
}

impl Raw {
    /// The settings; what is not set has its default.
    ///
    /// # Errors
    /// The key below `exec`, and why its value is invalid.
    pub(super) fn into_settings(self) -> Result<JobSettings, (&'static str, String)> {
        let usual = JobSettings::default();
        let at_least_one = |key, number: i64| {
            if number < 1 { Err((key, format!("must be at least 1, not {number}"))) } else { Ok(number) }
        };
        let runs = self
            .keep_runs
            .map(|number| usize::try_from(number).map_err(|_| ("keep_runs", "must not be below 0".into())));
        Ok(JobSettings {
            max_parallel: at_least_one("parallel", self.parallel.unwrap_or(usual.max_parallel))?,
            keep_for: match self.keep_for.as_deref() {
                None => usual.keep_for,
                Some("off") => None,
                Some(text) => Some(duration::parse(text).map_err(|why| ("keep_for", why))?),
            },
            keep_jobs: runs.transpose()?.unwrap_or(usual.keep_jobs),
            keep_bytes: match self.keep_bytes.as_deref() {
                None => usual.keep_bytes,
                Some("off") => None,
                Some(text) => Some(parse_bytes(text).map_err(|why| ("keep_bytes", why))?),
            },
        })
    }
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
