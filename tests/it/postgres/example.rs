//! The example of several machines, with the binary under test.

use std::path::Path;
use std::process::Command;

use crate::common::postgres_server;
use crate::common::test_project::FAIRWAY;

#[test]
fn two_checkouts_work_on_one_queue_as_the_example_says() {
    // The script starts a server of its own; without PostgreSQL there is none for it either.
    if postgres_server::shared().is_none() {
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/several-machines/run.sh");
    let output = Command::new(script).env("FAIRWAY", FAIRWAY).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("Every step held"), "{said}");
}
