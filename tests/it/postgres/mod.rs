//! A store on a PostgreSQL server: the same commands give the same answers as on a SQLite file, and many hosts may give them at
//! once.

mod addresses;
mod example;
mod faults;
mod hosts;
mod moves;
mod reconnect;
mod same_answers;
mod schema;
mod sessions;
mod storm;
mod tls;
mod transactions;
mod waiting;

use std::time::Duration;

use fairway::os::poll_until;

/// Asks until there is an answer.
#[track_caller]
fn wait_for<T>(look: impl FnMut() -> Option<T>) -> T {
    poll_until::poll_until(Duration::from_secs(30), Duration::from_millis(10), look).expect("nothing came")
}
