//! `fairway adapter list` and `install`.

use std::fs;

use crate::common::World;

#[test]
fn what_is_known_and_where_it_is_written() {
    let world = World::new();
    let config = world.root().join(".fairway.toml");
    fs::write(config, "[backends.mine]\nscript = \"/opt/mine.sh\"\n").unwrap();
    insta::assert_snapshot!(world.transcript(&[
        "fairway adapter list",
        "fairway adapter list --json",
        "fairway adapter install scripts",
        "fairway adapter install scripts",
        "fairway adapter install .fairway.toml",
    ]), @r#"
    $ fairway adapter list
    NAME   SOURCE      SCRIPT        ABOUT
    shell  built_in    shell.sh      a process of its own, output to the transcript; needs nothing
    mine   configured  /opt/mine.sh  -
    $ fairway adapter list --json
    [{"name":"shell","source":"built_in","script":"shell.sh","about":"a process of its own, output to the transcript; needs nothing"},{"name":"mine","source":"configured","script":"/opt/mine.sh","about":null}]
    $ fairway adapter install scripts
    wrote [world]/project/scripts/shell.sh, [world]/project/scripts/provider-event.sh
    $ fairway adapter install scripts
    unchanged: [world]/project/scripts has every script already
    $ fairway adapter install .fairway.toml
    error: the folder [world]/project/.fairway.toml is none
    [exit 2]
    "#);
}
