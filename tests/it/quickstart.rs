//! The README's first command, with the binary under test.

use std::path::Path;
use std::process::Command;

use crate::common::test_project::FAIRWAY;

#[test]
fn quickstart_commands_work_as_printed() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quickstart/run.sh");
    let output = Command::new(script).env("FAIRWAY", FAIRWAY).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("Every step held"), "{said}");
}
