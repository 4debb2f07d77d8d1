//! `fairway init`

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::common::TestProject;

#[test]
fn project_is_made_once() {
    let world = TestProject::uninitialized();
    insta::assert_snapshot!(world.transcript(&[
        "fairway task list",
        "fairway init",
        "fairway init",
        "fairway task list",
        "fairway init --root nowhere",
    ]), @"
    $ fairway task list
    error: there is no Fairway project at [world]/project or above
    hint: connect this repository and your agents: fairway setup
    [exit 3]
    $ fairway init
    initialised [world]/project: .fairway.toml, .fairway/.gitignore, .fairway/AGENTS.md, .fairway/config.schema.json, .fairway/fairway.db
    next: fairway setup, or add this line to AGENTS.md or CLAUDE.md: This project uses Fairway. Run `fairway guide` before you start; claim work with `fairway claim`.
    then add a task: fairway task add 'Fix the total'
    $ fairway init
    unchanged: [world]/project is already a Fairway project
    next: fairway setup, or add this line to AGENTS.md or CLAUDE.md: This project uses Fairway. Run `fairway guide` before you start; claim work with `fairway claim`.
    $ fairway task list
    no tasks
    $ fairway init --root nowhere
    error: root [world]/project/nowhere is not a directory
    [exit 2]
    ");
    insta::assert_snapshot!(fs::read_to_string(world.root().join(".fairway.toml")).unwrap(), @r#"
    #:schema .fairway/config.schema.json
    # Every key and its default: fairway config example
    [project]
    name = "project"
    base_branch = "main"
    "#);
    let files = ["fairway.db", "AGENTS.md", "config.schema.json", ".gitignore"].map(|name| (name, 0o600));
    for (name, mode) in [("", 0o700)].into_iter().chain(files) {
        let found = fs::metadata(world.root().join(".fairway").join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{name}");
    }
}

#[test]
fn schema_of_another_version_is_replaced() {
    let world = TestProject::new();
    let schema = world.root().join(".fairway/config.schema.json");
    let printed = world.run(["config", "schema"]).exits(0).stdout;
    assert_eq!(fs::read_to_string(&schema).unwrap(), printed);
    fs::write(&schema, "{}").unwrap();
    let said = world.run(["init"]).exits(0).stdout;
    assert_eq!(world.redacted(&said), "updated [world]/project: .fairway/config.schema.json\n");
    assert_eq!(fs::read_to_string(&schema).unwrap(), printed);
}
