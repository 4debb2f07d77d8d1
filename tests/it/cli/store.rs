//! `fairway store …`, and where the configuration says that the store is. On a server: `postgres::moves`.

use std::fs;

use crate::common::TestProject;

/// The refusal of a store on a server by this build.
const NO_SERVER: (i32, &str) = if cfg!(feature = "postgres") { (3, "no_store_address") } else { (1, "no_postgres") };

fn configure(world: &TestProject, file: &str, text: &str) {
    let path = world.root().join(file);
    let old = fs::read_to_string(&path).unwrap_or_default();
    fs::write(path, format!("{old}\n{text}")).unwrap();
}

#[test]
fn store_in_a_file_is_shown_with_its_versions_and_size() {
    let world = TestProject::new();
    let shown = world.json(["store", "show"]);
    assert_eq!(shown["engine"], "sqlite");
    assert_eq!(shown["path"], world.store().to_str().unwrap());
    assert_eq!(shown["schema_version"], shown["needed_schema"]);
    assert_eq!(shown["bytes"], fs::metadata(world.store()).unwrap().len());
    assert!(shown["address"].is_null() && shown["connections"].is_null() && shown["latency_ms"].is_number());
    let text = world.run(["store", "show"]).exits(0).stdout;
    assert!(text.starts_with("engine      sqlite 3.") && text.contains("\nschema      "), "{text}");
    let migrated = world.run(["store", "migrate"]).exits(0).stdout;
    assert!(migrated.starts_with("unchanged: the store has schema"), "{migrated}");
}

/// Both need a server; the rest of their life is told in `postgres::moves`.
#[test]
fn verbs_about_a_store_in_a_file_say_what_they_did() {
    let world = TestProject::new();
    let told = world.transcript(&[
        "fairway store migrate",
        "fairway store restored --yes",
        "fairway store copy --to sqlite --yes",
    ]);
    for words in [
        "lifted: claims have epoch 1000000, and events go on at 1000001",
        "error: the store is in the project's file already",
    ] {
        assert!(told.contains(words), "{told}");
    }
    assert!(world.transcript(&["fairway store show"]).contains("\nfile        [world]/project/.fairway/fairway.db\n"));
}

#[test]
fn missing_store_is_shown_and_not_made() {
    let world = TestProject::uninitialized();
    fs::write(world.root().join(".fairway.toml"), "").unwrap();
    assert!(world.json(["store", "show"])["schema_version"].is_null());
    for verb in [&["store", "migrate", "--json"][..], &["store", "restored", "--yes", "--json"]] {
        world.run(verb).refuses(3, "not_found");
    }
    assert!(!world.store().exists());
}

/// A file in the place of the server would go on with another backlog.
#[test]
fn server_without_an_address_is_never_replaced_by_a_file() {
    let world = TestProject::uninitialized();
    fs::write(world.root().join(".fairway.toml"), "[store]\nengine = \"postgres\"\n").unwrap();
    for verb in ["ready", "claim", "status", "init"] {
        world.run([verb, "--json"]).refuses(NO_SERVER.0, NO_SERVER.1);
    }
    assert!(!world.store().exists());
}

/// Also where a file is left from before.
#[test]
fn file_that_is_left_from_before_is_not_used_for_a_server() {
    let world = TestProject::new();
    world.run(["task", "add", "before"]).exits(0);
    configure(&world, ".fairway.toml", "[store]\nengine = \"postgres\"\n");
    let answer = world.run(["task", "list", "--json"]).refuses(NO_SERVER.0, NO_SERVER.1);
    assert!(answer.error()["hint"].is_string(), "{answer:?}");
}

/// Neither an agent nor a pull changes what was trusted, but the engine goes on to count: otherwise work would go on in the file.
#[test]
fn engine_of_a_text_that_is_not_trusted_yet_counts() {
    let world = TestProject::new();
    configure(&world, ".fairway.toml", "[land]\nchecks = [\"true\"]\n");
    world.run(["trust"]).exits(0);
    configure(&world, ".fairway.toml", "[store]\nengine = \"postgres\"\n");
    world.run(["ready", "--json"]).refuses(NO_SERVER.0, NO_SERVER.1);
}

#[test]
fn address_in_the_committed_file_is_refused_without_being_shown() {
    let world = TestProject::new();
    configure(&world, ".fairway.toml", "[store]\nurl = \"postgres://ann:s3cret@db/team\"\n");
    let answer = world.run(["ready", "--json"]).refuses(2, "config_invalid");
    assert!(answer.error()["message"].as_str().unwrap().contains(".fairway/local.toml"), "{answer:?}");
    assert!(!format!("{answer:?}").contains("s3cret"), "{answer:?}");
}

#[test]
fn password_of_an_address_is_shown_by_no_command() {
    let mut world = TestProject::new();
    let address = "postgres://ann:s3cret@/team?host=/nowhere&password=s3cret";
    configure(&world, ".fairway/local.toml", &format!("[store]\nurl = \"{address}\"\n"));
    let all = |world: &TestProject| {
        for args in
            [&["config", "show"][..], &["trust", "--show"], &["store", "show"], &["ready"], &["doctor"], &["init"]]
        {
            let answer = world.run(args);
            assert!(!format!("{answer:?}").contains("s3cret"), "{args:?}: {answer:?}");
        }
    };
    all(&world);
    assert!(world.run(["config", "show"]).exits(0).stdout.contains("postgres://ann:•••@/team"));
    world.set("FAIRWAY_STORE_URL", address);
    all(&world);
}

/// An address with a password in the arguments of a process is readable by every user of the machine.
#[test]
fn password_on_the_command_line_is_refused_and_nothing_is_written() {
    let world = TestProject::uninitialized();
    let address = "postgres://ann:s3cret@/team?host=/nowhere";
    let answer = world.run(["init", "--store", address, "--json"]).refuses(2, "password_in_arguments");
    assert!(!format!("{answer:?}").contains("s3cret"), "{answer:?}");
    assert_eq!(fs::read_dir(world.root()).unwrap().count(), 0);
    world.run(["init"]).exits(0);
    world.run(["store", "copy", "--yes", "--to", address, "--json"]).refuses(2, "password_in_arguments");
}

#[test]
fn text_that_is_no_address_of_a_server_is_refused_in_every_build() {
    let world = TestProject::new();
    for text in ["copy.db", "mysql://db/team", "$(touch canary)", ""] {
        world.run(["init", "--store", text, "--json"]).refuses(2, "store_address");
        world.run(["store", "copy", "--yes", "--to", text, "--json"]).refuses(2, "store_address");
    }
}

#[test]
fn copy_to_a_server_names_the_missing_engine_and_leaves_the_file() {
    let world = TestProject::new();
    world.run(["task", "add", "stays"]).exits(0);
    let (exit, code) = if cfg!(feature = "postgres") { (8, "store_unreachable") } else { (1, "no_postgres") };
    let address = format!("postgres://ann@/team?host={}", world.dir().join("tmp").display());
    world.run(["store", "copy", "--yes", "--to", &address, "--json"]).refuses(exit, code);
    assert_eq!(world.json(["task", "list"]).as_array().unwrap().len(), 1);
    assert!(!fs::read_to_string(world.root().join(".fairway.toml")).unwrap().contains("postgres"));
}

/// Numbers that were given out after a dump must not count once the dump is back.
#[test]
fn restored_store_gives_out_neither_epochs_nor_events_again() {
    let world = TestProject::new();
    world.run(["task", "add", "one"]).exits(0);
    let epoch = world.json(["claim", "T-1"])["task"]["claim"]["epoch"].as_i64().unwrap();
    let last = |world: &TestProject| {
        let events = world.run(["events", "--json"]).exits(0).stdout;
        let event: serde_json::Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
        (event["seq"].as_i64().unwrap(), event["kind"].as_str().unwrap().to_owned())
    };
    let before = last(&world).0;
    let lifted = world.json(["store", "restored", "--yes"]);
    assert_eq!(last(&world), (lifted["event"].as_i64().unwrap(), "store.restored".to_owned()));
    assert!(lifted["event"].as_i64().unwrap() > before + 1_000_000, "{lifted}");
    assert_eq!(lifted["epoch"].as_i64().unwrap(), epoch + 1_000_000);
    world.run(["done", "T-1", "--epoch", &epoch.to_string(), "--json"]).refuses(4, "stale_claim");
    world.run(["release", "T-1", "--epoch", &lifted["epoch"].to_string()]).exits(0);
}

/// A person's command: an agent would make every other one's claim invalid.
#[test]
fn moving_the_store_is_refused_inside_a_session() {
    let mut world = TestProject::new();
    world.add_session("s-1");
    world.set("FAIRWAY_SESSION_ID", "s-1").set("FAIRWAY_RUN_ID", "run-s-1");
    for verb in [&["store", "restored", "--yes", "--json"][..], &["store", "copy", "--yes", "--to", "sqlite", "--json"]]
    {
        world.run(verb).refuses(5, "inside_session");
    }
}
