//! The configuration of background jobs.

use std::time::Duration;

use super::{
    section::{Form, section},
    values::{AtLeastOne, SpanOrOff, reader},
};

section! {
    /// The settings of background jobs.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct JobSettings {
        /// Maximum number of jobs that run at the same time; further jobs wait.
        pub parallel: usize as AtLeastOne = 256,
        /// How long a finished job and its output are kept; "off" for ever.
        pub keep_for: Option<Duration> as SpanOrOff = "14d",
        /// Maximum number of finished jobs that are kept.
        pub keep_runs: usize as Count = 10000,
        /// Maximum size of the output of finished jobs; "off" for no limit.
        pub keep_bytes: Option<u64> as BytesOrOff = "1GiB",
    }
}

reader! {
    Count(i64) -> usize, Form::Number { least: Some(0), most: None };
    |number: &i64| usize::try_from(*number).map_err(|_| "must not be below 0")
}
reader! {
    BytesOrOff(String) -> Option<u64>, Form::Size { none: Some("off") };
    |text: &String| if text == "off" { Ok(None) } else { parse_bytes(text).map(Some) }
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
