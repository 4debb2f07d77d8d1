//! Prints so many lines `tick KIND NANOSECONDS`, one each so many milliseconds: sixteen kinds in turn, and the time at which
//! the line is printed, of the monotonic clock.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::print_stdout, reason = "a measuring program")]

use std::thread;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

fn main() {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<u32>().unwrap());
    let (count, pause) = (numbers.next().unwrap(), numbers.next().unwrap());
    for number in 0..count {
        thread::sleep(Duration::from_millis(pause.into()));
        let now: Duration = clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap().into();
        println!("tick {} {}", number % 16, now.as_nanos());
    }
}
