//! `fairway mcp` and `fairway skill` at the command line; what the server answers is told in `tests/it/mcp`.

use crate::common::TestProject;

#[test]
fn server_ends_with_its_input_and_takes_no_session_as_a_flag() {
    let world = TestProject::new();
    insta::assert_snapshot!(world.transcript(&["fairway mcp", "fairway mcp --session s1", "fairway skill --quiet"]), @"
    $ fairway mcp
    $ fairway mcp --session s1
    error: the tools act for the session of the environment; of the global options only --root applies
    [exit 2]
    $ fairway skill --quiet
    ");
}

#[test]
fn schema_of_the_configuration_is_one_document() {
    let world = TestProject::uninitialized();
    let printed = world.transcript(&["fairway config schema"]);
    assert!(printed.contains("\"$schema\": \"https://json-schema.org/draft/2020-12/schema\""), "{printed}");
    let schema = world.json(["config", "schema"]);
    assert_eq!(schema["properties"]["claims"]["properties"]["lease"]["default"], "none");
    assert_eq!(schema["properties"]["roles"]["additionalProperties"]["properties"]["env"]["type"], "object");
    assert_eq!(schema["properties"]["guard"]["properties"]["rules"]["items"]["additionalProperties"], false);
}
