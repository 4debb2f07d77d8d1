//! `fairway serve`; what it serves is told in `tests/it/api`.

use crate::common::TestProject;

#[test]
fn serve_prints_its_address_and_cleans_up() {
    let world = TestProject::new();
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
    ]), @"
    $ fairway serve --for 10ms --quiet
    [world]/project/.fairway/runtime/worker.sock
    $ fairway serve --for never
    error: invalid value 'never' for '--exit-after <DURATION>': 'never' is not a span of time such as 30s, 10m or 2h
    hint: read the help: fairway serve --help
    [exit 2]
    $ fairway serve --http 70000
    error: invalid value '70000' for '--http [<PORT>]': 70000 is not in 0..=65535
    hint: read the help: fairway serve --help
    [exit 2]
    $ fairway serve --session 'no session'
    error: invalid value 'no session' for '--session <ID>': session id 'no session' must start with a-z, A-Z or 0-9 and contain only these, '_' and '-', at most 64 characters
    hint: read the help: fairway serve --help
    [exit 2]
    ");
}
