//! Writes the time of its first step, in nanoseconds of the monotonic clock, into the file that its argument names.
#![allow(clippy::unwrap_used, reason = "a measuring program")]

use std::fs;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

fn main() {
    let now: Duration = clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap().into();
    fs::write(std::env::args_os().nth(1).unwrap(), now.as_nanos().to_string()).unwrap();
}
