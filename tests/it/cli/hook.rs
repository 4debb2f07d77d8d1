//! `fairway hook VENDOR EVENT`, typed by a person: what vendors send is in `tests/it/hooks`.

use crate::common::World;

#[test]
fn without_the_vendors_json_a_tool_call_is_denied_and_nothing_else_is_stopped() {
    let world = World::new();
    insta::assert_snapshot!(world.transcript(&[
        "fairway hook claude PreToolUse",
        "fairway hook gemini BeforeTool",
        "fairway --root . hook codex PreToolUse",
        "fairway hook claude Stop",
        "fairway hook claude wait",
        "fairway hook claude EventOfTomorrow",
        "fairway hook nobody PreToolUse",
        "fairway hook claude",
    ]), @"
    $ fairway hook claude PreToolUse
    fairway hook: nothing came on stdin; the vendor's JSON is expected there; the tool call is denied
    [exit 2]
    $ fairway hook gemini BeforeTool
    fairway hook: nothing came on stdin; the vendor's JSON is expected there; the tool call is denied
    [exit 2]
    $ fairway --root . hook codex PreToolUse
    fairway hook: nothing came on stdin; the vendor's JSON is expected there; the tool call is denied
    [exit 2]
    $ fairway hook claude Stop
    fairway hook: nothing came on stdin; the vendor's JSON is expected there
    [exit 1]
    $ fairway hook claude wait
    fairway hook: nothing came on stdin; the vendor's JSON is expected there
    [exit 1]
    $ fairway hook claude EventOfTomorrow
    $ fairway hook nobody PreToolUse
    error: invalid value 'nobody' for '<PROVIDER>': provider 'nobody' is none of claude, codex, gemini
    hint: fairway --help
    [exit 2]
    $ fairway hook claude
    error: the following required arguments were not provided: <EVENT>
    hint: fairway hook <PROVIDER> <EVENT>
    [exit 2]
    ");
}
