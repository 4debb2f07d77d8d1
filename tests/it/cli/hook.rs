//! `fairway hook …`, typed by a person: what vendors send is in `tests/it/hooks`.

use std::fs;

use crate::common::TestProject;

#[test]
fn hooks_are_entered_and_taken_out() {
    let world = TestProject::new();
    fs::write(world.root().join("mine.json"), "{\n  \"description\": \"mine\" // and only mine\n}\n").unwrap();
    fs::write(world.root().join("broken.json"), "{ \"hooks\": ").unwrap();
    insta::assert_snapshot!(world.transcript(&[
        "fairway hook install claude",
        "fairway hook install claude --quiet",
        "fairway hook install codex --file mine.json",
        "fairway hook install gemini --user",
        "fairway hook uninstall gemini --user",
        "fairway hook uninstall gemini --user",
        "fairway hook uninstall codex --file mine.json",
        "fairway hook install codex --file broken.json",
        "fairway hook install codex --file .",
        "fairway hook install codex --user --file mine.json",
        "fairway hook install acme",
        "fairway doctor hooks gemini",
        "fairway hook uninstall claude",
        "fairway doctor hooks",
    ]), @"
    $ fairway hook install claude
    entered the hooks of claude in [world]/project/.claude/settings.json
    a worktree of its own has them when the file is committed; --user enters them for all
    to see that they hold: fairway doctor hooks claude
    $ fairway hook install claude --quiet
    [world]/project/.claude/settings.json
    $ fairway hook install codex --file mine.json
    entered the hooks of codex in [world]/project/mine.json
    [world]/project/mine.json has comments or a comma at an end, and codex does not load such a file: none of its hooks run
    codex skips them in silence until you have trusted them: start it and type /hooks
    to see that they hold: fairway doctor hooks codex
    $ fairway hook install gemini --user
    entered the hooks of gemini in [world]/home/.gemini/settings.json
    to see that they hold: fairway doctor hooks gemini
    $ fairway hook uninstall gemini --user
    took out the hooks of gemini in [world]/home/.gemini/settings.json
    $ fairway hook uninstall gemini --user
    unchanged: [world]/home/.gemini/settings.json
    $ fairway hook uninstall codex --file mine.json
    took out the hooks of codex in [world]/project/mine.json
    $ fairway hook install codex --file broken.json
    error: [world]/project/broken.json is no JSON: expected value after colon in object property on line 1 column 12; it was not changed
    [exit 2]
    $ fairway hook install codex --file .
    error: [world]/project/. is no file; it was not changed
    [exit 2]
    $ fairway hook install codex --user --file mine.json
    error: the argument '--user' cannot be used with '--file <FILE>'
    hint: fairway hook install --user <PROVIDER>
    [exit 2]
    $ fairway hook install acme
    error: invalid value 'acme' for '<PROVIDER>' [possible values: claude, codex, gemini]
    hint: fairway --help
    [exit 2]
    $ fairway doctor hooks gemini
    SEVERITY  CODE           FIX                          MESSAGE
    warning   not_installed  fairway hook install gemini  no hooks of ours are in the settings of gemini
    [exit 1]
    $ fairway hook uninstall claude
    took out the hooks of claude in [world]/project/.claude/settings.json
    $ fairway doctor hooks
    SEVERITY  CODE           FIX                            MESSAGE
    note      not_installed  fairway hook install PROVIDER  no provider's settings have hooks of ours
    ");
}

#[test]
fn without_the_vendors_json_a_tool_call_is_denied_and_nothing_else_is_stopped() {
    let world = TestProject::new();
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
    error: invalid value 'nobody' for '<PROVIDER>' [possible values: claude, codex, gemini]
    hint: fairway --help
    [exit 2]
    $ fairway hook claude
    error: the following required arguments were not provided: <EVENT>
    hint: fairway hook <PROVIDER> <EVENT>
    [exit 2]
    ");
}
