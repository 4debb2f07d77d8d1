//! `fairway serve`; what it serves is told in `tests/it/api`.

use crate::common::World;

#[test]
fn it_says_where_it_listens_and_leaves_nothing_behind() {
    let world = World::new();
    let mut command = world.fairway(["serve", "--for", "10ms"]);
    let child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let pid = child.id().to_string();
    let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    insta::assert_snapshot!(world.redacted(&said).replace(&pid, "[pid]"), @"serving at [world]/project/.fairway/runtime/worker.sock; to end it: INT or TERM to [pid]");
    assert!(!world.root().join(".fairway/runtime/worker.sock").exists());
    insta::assert_snapshot!(world.transcript(&[
        "fairway serve --for 10ms --quiet",
        "fairway serve --for never",
        "fairway serve --http 70000",
        "fairway serve --session 'no session'",
    ]));
}
