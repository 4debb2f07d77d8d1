//! Prints so many lines of 64 bytes, each with a write of its own, as programs do that say what they are about; with a second
//! argument so many a second.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a measuring program")]

use std::io::{LineWriter, Write};
use std::thread;
use std::time::{Duration, Instant};

fn main() {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<u32>().unwrap());
    let (count, per_second) = (numbers.next().unwrap(), numbers.next());
    let mut out = LineWriter::new(std::io::stdout().lock());
    let start = Instant::now();
    for number in 0..count {
        if let Some(per_second) = per_second {
            let due = Duration::from_secs(1) * number / per_second;
            thread::sleep(due.saturating_sub(start.elapsed()));
        }
        writeln!(out, "line {number:>10} of a program that says what it is doing, at length").unwrap();
    }
}
