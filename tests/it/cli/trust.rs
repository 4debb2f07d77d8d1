//! `fairway trust`.

use std::fs;

use crate::common::TestProject;

#[test]
fn trust_says_what_it_covers() {
    let world = TestProject::new();
    let mut shown = world.transcript(&["fairway trust --show"]);
    let config = world.root().join(".fairway.toml");
    fs::write(config, "[providers.p]\ncommand = \"p --fast\"\nenv = { P_TOKEN = \"x\", P_MODE = \"y\" }\n").unwrap();
    shown.push_str(&world.transcript(&[
        "fairway trust --show",
        "fairway session launch --role r --provider p",
        "fairway trust",
        "fairway trust --show --json",
    ]));
    insta::assert_snapshot!(shown, @r#"
    $ fairway trust --show
    [world]/project names no programs; no trust is needed
    $ fairway trust --show
    not trusted: [world]/project/.fairway.toml has changed since it was trusted
    providers.p.command             p --fast
    providers.p.env.P_MODE          y
    providers.p.env.P_TOKEN         •••
    $ fairway session launch --role r --provider p
    error: [world]/project/.fairway.toml has changed since it was trusted
    hint: look at it, then: fairway trust
    [exit 9]
    $ fairway trust
    trusted [world]/project: .fairway.toml
    $ fairway trust --show --json
    {"root":"[world]/project","trust":"trusted","why":null,"files":{"[world]/project/.fairway.toml":"69e77fc4744a4c2213c7b3fdf648dc351aafa2c48060ce2c880ef24ed3ee4492"},"scripts":{},"names":[{"key":"providers.p.command","value":"p --fast"},{"key":"providers.p.env.P_MODE","value":"y"},{"key":"providers.p.env.P_TOKEN","value":"•••"}]}
    "#);
}
