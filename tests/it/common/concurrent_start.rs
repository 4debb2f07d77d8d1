//! N processes behind a barrier: they start together, not one after the other.

use std::process::{Command, Output};
use std::sync::Barrier;
use std::thread;

/// Starts `count` commands at the same moment, from as many threads; answers with their outputs in order.
pub fn race(count: usize, command: impl Fn(usize) -> Command + Sync) -> Vec<Output> {
    let barrier = Barrier::new(count);
    thread::scope(|scope| {
        let runners: Vec<_> = (0..count)
            .map(|number| {
                let (barrier, command) = (&barrier, &command);
                scope.spawn(move || {
                    let mut command = command(number);
                    barrier.wait();
                    command.output().unwrap()
                })
            })
            .collect();
        runners.into_iter().map(|runner| runner.join().unwrap()).collect()
    })
}
