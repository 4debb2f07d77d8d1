//! The soak profile: `just soak` runs tests longer, and alone asserts how long something takes. The other runs share their
//! processors with whatever else the machine does, so they assert outcomes and orders only.

use std::env;
use std::ops::RangeBounds;
use std::time::Duration;

/// Whether this is a soak run.
pub fn is_on() -> bool {
    env::var_os("FAIRWAY_SOAK").is_some()
}

/// How often something is repeated: as this variable says, else so often in a soak run, else `usually`.
pub fn count(variable: &str, in_soak: usize, usually: usize) -> usize {
    let wanted = env::var(variable).ok().and_then(|text| text.parse().ok());
    wanted.unwrap_or(if is_on() { in_soak } else { usually })
}

/// Asserts in a soak run that a span lies in these limits; prints it otherwise.
#[track_caller]
pub fn took(span: Duration, limits: impl RangeBounds<Duration> + std::fmt::Debug, subject: &str) {
    if is_on() {
        assert!(limits.contains(&span), "{subject} took {span:?}, not {limits:?}");
    } else {
        println!("{subject} took {span:?}; only a soak run asserts {limits:?}");
    }
}
