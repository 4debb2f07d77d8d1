//! `fairway top` without a terminal; `tests/it/top` has the rest.

use crate::common::TestProject;

#[test]
fn top_without_a_terminal_names_status() {
    let world = TestProject::new();
    world.run(["top", "--json"]).refuses(2, "usage");
    world.run(["top", "--once", "--json"]).refuses(2, "usage");
    insta::assert_snapshot!(world.transcript(&["fairway top"]), @"
    $ fairway top
    error: top draws on a terminal, at stdin and stdout; for a program: fairway status --json
    [exit 2]
    ");
}
