//! The soak profile: `just soak` runs tests longer, and alone asserts how long something takes. The other runs share their
//! processors with whatever else the machine does, so they assert outcomes and orders only.

use std::{env, ops::RangeBounds, time::Duration};

/// Whether this is a soak run.
pub fn is_on() -> bool {
    env::var_os("FAIRWAY_SOAK").is_some()
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
