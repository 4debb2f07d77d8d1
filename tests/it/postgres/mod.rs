//! A store on a PostgreSQL server: the same commands give the same answers as on a SQLite file, and many hosts may give them at
//! once.

mod addresses;
mod claimants;
mod day;
mod doctor;
mod example;
mod faults;
mod followers;
mod guide;
mod hosts;
mod imports;
mod launch_faults;
mod moves;
mod outages;
mod pooler;
mod reconnect;
mod same_answers;
mod schema;
mod sessions;
mod shared_base;
mod silent_hosts;
mod soak;
mod storm;
mod storm_with_faults;
mod tls;
mod transactions;
mod waiting;

use std::time::Duration;

use fairway_core::os::poll_until;

use crate::common::TestProject;

/// Asks until there is an answer.
#[track_caller]
fn wait_for<T>(look: impl FnMut() -> Option<T>) -> T {
    poll_until::poll_until(Duration::from_secs(30), Duration::from_millis(10), look).expect("nothing came")
}

/// Another checkout with the store at this address, and with a runtime directory of its own, as on another host.
fn host_at(address: &str) -> TestProject {
    let mut host = TestProject::uninitialized();
    host.set("FAIRWAY_STORE_URL", address);
    host.run(["init", "--quiet"]).exits(0);
    host
}

/// A host with an id of its own beside that of `world`, on the same store.
fn another_host(world: &TestProject) -> TestProject {
    let (server, schema) = world.on_server.as_ref().unwrap();
    let other = host_at(&server.address(schema));
    other.run(["host", "renew", "--yes"]).exits(0);
    other
}
