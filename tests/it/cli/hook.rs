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
    installed the hooks of claude in [world]/project/.claude/settings.json
    other worktrees have the hooks once the file is committed; --user installs them for all projects
    check the hooks: fairway doctor hooks claude
    $ fairway hook install claude --quiet
    [world]/project/.claude/settings.json
    $ fairway hook install codex --file mine.json
    installed the hooks of codex in [world]/project/mine.json
    [world]/project/mine.json has comments or a trailing comma, and codex does not load such a file: none of its hooks run
    codex skips the hooks without a message until you trust them: start codex and enter /hooks
    check the hooks: fairway doctor hooks codex
    $ fairway hook install gemini --user
    installed the hooks of gemini in [world]/home/.gemini/settings.json
    check the hooks: fairway doctor hooks gemini
    $ fairway hook uninstall gemini --user
    removed the hooks of gemini in [world]/home/.gemini/settings.json
    $ fairway hook uninstall gemini --user
    unchanged: [world]/home/.gemini/settings.json
    $ fairway hook uninstall codex --file mine.json
    removed the hooks of codex in [world]/project/mine.json
    $ fairway hook install codex --file broken.json
    error: [world]/project/broken.json is not valid JSON: expected value after colon in object property on line 1 column 12; it was not changed
    [exit 2]
    $ fairway hook install codex --file .
    error: [world]/project/. is not a regular file; it was not changed
    [exit 2]
    $ fairway hook install codex --user --file mine.json
    error: the argument '--user' cannot be used with '--file <FILE>'
    hint: write it as: fairway hook install --user <PROVIDER>
    [exit 2]
    $ fairway hook install acme
    error: invalid value 'acme' for '<PROVIDER>' [possible values: claude, codex, gemini]
    hint: read the help: fairway hook install --help
    [exit 2]
    $ fairway doctor hooks gemini
    SEVERITY  CODE                FIX                                 MESSAGE
    warning   not_installed       fairway hook install gemini         no Fairway hooks in the settings of gemini
    note      lane_without_hooks  fairway hook install gemini --user  gemini finds no Fairway hooks in the worktree of a new lane: there the guard is off, and an agent reports no activity and gets no prompts
    [exit 1]
    $ fairway hook uninstall claude
    removed the hooks of claude in [world]/project/.claude/settings.json
    $ fairway doctor hooks
    SEVERITY  CODE           FIX                            MESSAGE
    note      not_installed  fairway hook install PROVIDER  no Fairway hooks in any provider's settings
    ");
}

#[test]
fn hook_without_json_denies_only_tool_calls() {
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
    fairway hook: stdin is empty: expected the provider's JSON; the tool call is denied
    [exit 2]
    $ fairway hook gemini BeforeTool
    fairway hook: stdin is empty: expected the provider's JSON; the tool call is denied
    [exit 2]
    $ fairway --root . hook codex PreToolUse
    fairway hook: stdin is empty: expected the provider's JSON; the tool call is denied
    [exit 2]
    $ fairway hook claude Stop
    fairway hook: stdin is empty: expected the provider's JSON
    [exit 1]
    $ fairway hook claude wait
    fairway hook: stdin is empty: expected the provider's JSON
    [exit 1]
    $ fairway hook claude EventOfTomorrow
    $ fairway hook nobody PreToolUse
    error: invalid value 'nobody' for '<PROVIDER>' [possible values: claude, codex, gemini]
    hint: read the help: fairway hook --help
    [exit 2]
    $ fairway hook claude
    error: the following required arguments were not provided: <EVENT>
    hint: write it as: fairway hook <PROVIDER> <EVENT>
    [exit 2]
    ");
}
