//! Many processes that take tasks from one queue.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::measure::median;

/// The outcome of a storm.
pub struct Storm {
    pub per_second: f64,
    pub median: Duration,
    pub worst: Duration,
    /// Jain's index of the workers' shares: 1 when all got the same.
    pub fairness: f64,
}

/// Lets workers take all of so many tasks. Each says that it is ready, begins when its stdin is closed, and prints the
/// microseconds of each task.
pub fn run(workers: impl Iterator<Item = Command>, tasks: usize) -> Storm {
    let mut workers: Vec<(Child, BufReader<ChildStdout>)> = workers
        .map(|mut command| {
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            let mut out = BufReader::new(child.stdout.take().unwrap());
            out.read_line(&mut String::new()).unwrap();
            (child, out)
        })
        .collect();
    let start = Instant::now();
    for (child, _) in &mut workers {
        drop(child.stdin.take());
    }
    let (mut waits, mut shares) = (Vec::new(), Vec::new());
    for (mut child, mut out) in workers {
        let mut text = String::new();
        out.read_to_string(&mut text).unwrap();
        assert!(child.wait().unwrap().success());
        let of_one: Vec<u64> = text.lines().map(|line| line.parse().unwrap()).collect();
        shares.push(of_one.len() as f64);
        waits.extend(of_one.into_iter().map(Duration::from_micros));
    }
    let span = start.elapsed();
    assert_eq!(waits.len(), tasks, "each task exactly once");
    let (sum, squares): (f64, f64) = (shares.iter().sum(), shares.iter().map(|share| share * share).sum());
    Storm {
        per_second: tasks as f64 / span.as_secs_f64(),
        worst: *waits.iter().max().unwrap(),
        median: median(waits),
        fairness: sum * sum / (shares.len() as f64 * squares),
    }
}

impl Storm {
    /// How many times as many tasks it takes in a second as the other one.
    pub fn rate(&self, other: &Self) -> String {
        let times = self.per_second / other.per_second;
        format!("{times:.2} × ({:.0} claims/s against {:.0})", self.per_second, other.per_second)
    }
}

/// The fastest of several: what is asked is what a scheme can do, not what else the machine was doing.
pub fn best(storms: Vec<Storm>) -> Storm {
    storms.into_iter().max_by(|a, b| a.per_second.total_cmp(&b.per_second)).unwrap()
}
