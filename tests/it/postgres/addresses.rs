//! Addresses and servers that cannot be used.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Stdio;
use std::{fs, thread};

use super::wait_for;
use crate::common::TestProject;
use crate::common::postgres_proxy::{Fault, FaultProxy};
use crate::common::test_project::CommandOutput;

#[test]
fn a_server_that_does_not_answer_is_told_with_a_retry() {
    let Some(mut world) = TestProject::on_postgres() else { return };
    let nowhere = format!("postgres://ann:s3cret@/team?host={}", world.dir().join("tmp").display());
    world.on_server = None;
    world.set("FAIRWAY_STORE_URL", nowhere);
    let answer = world.run(["ready", "--json"]).refuses(8, "store_unreachable");
    assert_eq!(answer.error()["retryable"], true);
    assert!(!format!("{answer:?}").contains("s3cret"));
    assert!(answer.error()["message"].as_str().unwrap().contains("postgres://ann@/team?host="), "{answer:?}");
    // No file takes the place of the store.
    assert!(!world.store().exists());
}

#[test]
fn an_address_that_cannot_be_used_is_refused_without_its_password() {
    let Some(mut world) = TestProject::on_postgres() else { return };
    world.on_server = None;
    for address in ["postgres://ann:s3cret@/", "mysql://ann:s3cret@db/team", "postgres://ann:s3cret@db:x/team"] {
        world.set("FAIRWAY_STORE_URL", address);
        let answer = world.run(["ready", "--json"]).refuses(2, "store_address");
        assert!(!format!("{answer:?}").contains("s3cret"), "{answer:?}");
    }
    assert!(!world.store().exists());
}

#[test]
fn what_only_a_file_can_do_names_the_servers_own_tools() {
    let Some(world) = TestProject::on_postgres() else { return };
    let answer = world.run(["backup", "copy.db", "--json"]).refuses(5, "store_on_server");
    assert!(answer.error()["hint"].as_str().unwrap().contains("pg_dump"), "{answer:?}");
    assert!(!fs::exists(world.root().join("copy.db")).unwrap());
    assert!(world.run(["doctor"]).exits(0).stdout.lines().count() < 5);
}

/// A restored file would be a second store, and the jobs of the one on the server would be marked as lost.
#[test]
fn restore_of_a_store_on_a_server_is_refused_and_makes_no_file() {
    let Some(world) = TestProject::on_postgres() else { return };
    let other = TestProject::new();
    let backup = other.dir().join("backup.db");
    other.run(["backup", backup.to_str().unwrap()]).exits(0);
    for from in [backup.to_str().unwrap(), "--latest"] {
        let answer = world.run(["restore", from, "--yes", "--json"]).refuses(5, "store_on_server");
        assert!(answer.error()["hint"].as_str().unwrap().contains("fairway store restored"), "{answer:?}");
    }
    let mut restore = world.fairway(["restore", backup.to_str().unwrap(), "--yes", "--json"]);
    fs::remove_file(world.root().join(".fairway/local.toml")).unwrap();
    let without_address: CommandOutput = restore.env_remove("FAIRWAY_STORE_URL").output().unwrap().into();
    without_address.refuses(3, "no_store_address");
    assert!(!world.store().exists());
}

/// A new role of the server, and the address of the world's schema for it.
fn role(world: &TestProject, name: &str, statements: &str) -> (String, String) {
    let (server, schema) = world.on_server.as_ref().unwrap();
    let role = format!("{name}_{schema}");
    server.query(schema, &format!("CREATE ROLE {role} LOGIN; {}", statements.replace("ROLE", &role)));
    let address = server.network_address("127.0.0.1", server.port(), schema).replace("fairway@", &format!("{role}@"));
    (role, address)
}

fn run_at(world: &TestProject, address: &str, args: &[&str]) -> CommandOutput {
    world.fairway(args).env("FAIRWAY_STORE_URL", address).output().unwrap().into()
}

#[test]
fn login_without_rights_is_told_and_one_with_the_rights_of_the_tables_may_work() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    let (_, none) = role(&world, "none", "");
    for verb in [&["ready", "--json"][..], &["task", "add", "one", "--json"], &["store", "migrate", "--json"]] {
        let error = run_at(&world, &none, verb).refuses(7, "store_read_only").error();
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(&format!("permission denied for schema {schema}")), "{error}");
        assert!(message.contains("postgres://none_"), "{error}");
        assert!(error["hint"].as_str().unwrap().contains("GRANT OWNER TO USER"), "{error}");
    }
    // The rights that the guide on several machines names.
    let rights = format!(
        "GRANT USAGE ON SCHEMA {schema} TO ROLE; \
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO ROLE"
    );
    let (user, address) = role(&world, "user", &rights);
    // The schema is there, so none is created.
    let mut other = TestProject::uninitialized();
    other.set("FAIRWAY_STORE_URL", &address);
    other.run(["init", "--quiet"]).exits(0);
    other.run(["task", "add", "one"]).exits(0);
    for line in [&["ready"][..], &["claim"], &["status"], &["doctor"], &["host", "list"]] {
        other.run(line).exits(0);
    }
    let missing = address.replace(&format!("schema={schema}"), "schema=not_there");
    let error =
        run_at(&TestProject::uninitialized(), &missing, &["init", "--json"]).refuses(7, "store_read_only").error();
    assert!(error["hint"].as_str().unwrap().contains("GRANT CREATE ON DATABASE"), "{error}");

    let read_only = format!("ALTER ROLE {user} SET default_transaction_read_only = on");
    server.query("public", &read_only);
    let error =
        run_at(&TestProject::uninitialized(), &missing, &["init", "--json"]).refuses(7, "store_read_only").error();
    assert!(error["message"].as_str().unwrap().contains("postgres://user_"), "{error}");
}

#[test]
fn login_without_the_right_to_connect_is_denied() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    let (_, address) = role(&world, "outside", "");
    let database = format!("locked_{schema}");
    let psql = |statement: String| {
        let output = server.psql("public").arg("-c").arg(statement).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    psql(format!("CREATE DATABASE {database}"));
    psql(format!("REVOKE CONNECT ON DATABASE {database} FROM public"));
    let address = address.replace("/postgres?", &format!("/{database}?"));
    let answer = run_at(&world, &address, &["ready", "--json"]).refuses(7, "store_denied");
    assert!(answer.error()["message"].as_str().unwrap().contains("permission denied for database"), "{answer:?}");
    assert!(answer.error()["hint"].as_str().unwrap().contains("GRANT CONNECT"), "{answer:?}");
    let missing = address.replace("outside_", "missing_");
    let answer = run_at(&world, &missing, &["ready", "--json"]).refuses(7, "store_denied");
    assert!(answer.error()["hint"].as_str().unwrap().contains("createuser"), "{answer:?}");
    psql(format!("DROP DATABASE {database}"));
}

/// Another program's port: what it says is not PostgreSQL's.
#[test]
fn server_that_is_not_postgresql_is_told() {
    let Some(world) = TestProject::on_postgres() else { return };
    let answers: [(&[u8], &str); 3] = [
        (b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", "store_unreachable"),
        (b"R\xff\xff\xff\xfb rubbish", "store_server"),
        (b"\x01\x00\x00\x00\x00\x00\x00", "store_server"),
    ];
    for (words, code) in answers {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for client in listener.incoming() {
                let mut client = client.unwrap();
                // The end of the connection comes behind the words only when the request was read.
                let _ = client.read(&mut [0; 4096]);
                let _ = client.write_all(words);
            }
        });
        let address = format!("postgres://ann:s3cret@127.0.0.1:{port}/team");
        let answer = run_at(&world, &address, &["ready", "--json"]);
        let error = answer.error();
        assert_eq!(error["code"], code, "{answer:?}");
        assert!(!format!("{answer:?}").contains("s3cret"), "{answer:?}");
    }
}

#[test]
fn init_in_another_checkout_writes_the_address_of_the_environment_without_its_password() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    let other = TestProject::uninitialized();
    let config = other.root().join(".fairway.toml");
    fs::copy(world.root().join(".fairway.toml"), &config).unwrap();
    let committed = fs::read(&config).unwrap();
    let address = server.address(schema);
    run_at(&other, &address.replace("fairway@", "fairway:s3cret@"), &["init"]).exits(0);
    let local = fs::read_to_string(other.root().join(".fairway/local.toml")).unwrap();
    assert!(local.contains(&address) && !local.contains("s3cret"), "{local}");
    assert_eq!(fs::read(&config).unwrap(), committed);
    // A command without the variable finds it.
    other.run(["ready"]).exits(0);
    // An address that is there stays.
    run_at(&other, &format!("{address}&application_name=other"), &["init"]).exits(0);
    assert_eq!(fs::read_to_string(other.root().join(".fairway/local.toml")).unwrap(), local);
}

#[test]
fn a_database_that_is_not_there_is_named_with_the_way_to_make_it() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    let address = server.network_address("127.0.0.1", server.port(), schema).replace("/postgres?", "/nowhere?");
    let answer: CommandOutput =
        world.fairway(["ready", "--json"]).env("FAIRWAY_STORE_URL", address).output().unwrap().into();
    let error = answer.refuses(3, "store_missing").error();
    assert!(error["message"].as_str().unwrap().contains("database \"nowhere\" does not exist"), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("createdb"), "{error}");
}

/// A server that takes no connection now takes one a moment later, or says so in the end.
#[test]
fn a_server_without_a_free_connection_is_asked_again() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    let [soon, never] = ["soon", "never"].map(|name| {
        let role = format!("{name}_{schema}");
        server.query("public", &format!("CREATE ROLE {role} LOGIN CONNECTION LIMIT 0 IN ROLE pg_read_all_data"));
        server.query("public", &format!("GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO {role}"));
        let address = server.address(schema).replace("fairway@", &format!("{role}@"));
        let mut command = world.fairway(["task", "list", "--json"]);
        command.env("FAIRWAY_STORE_URL", address).stdout(Stdio::piped()).stderr(Stdio::piped());
        (role, command.spawn().unwrap())
    });
    // The server writes down each login that it refuses.
    wait_for(|| {
        fs::read_to_string(server.file("log")).unwrap().contains(&format!("role \"{}\"", soon.0)).then_some(())
    });
    server.query("public", &format!("ALTER ROLE {} CONNECTION LIMIT 5", soon.0));
    CommandOutput::from(soon.1.wait_with_output().unwrap()).exits(0);
    let refused = CommandOutput::from(never.1.wait_with_output().unwrap()).refuses(8, "store_busy");
    assert!(refused.error()["message"].as_str().unwrap().contains("too many connections"), "{refused:?}");
}

/// Behind a pooler that lends connections for a transaction each, a waiter would hear nothing.
#[test]
fn a_waiter_whose_notifications_do_not_come_through_is_refused() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    let proxy = FaultProxy::start(server.port(), Fault::NoNotifications);
    let address = server.network_address("127.0.0.1", proxy.port(), schema);
    let mut follow = world.fairway(["events", "--follow", "--json"]);
    let answer: CommandOutput = follow.env("FAIRWAY_STORE_URL", &address).output().unwrap().into();
    let answer = answer.refuses(7, "store_server");
    assert!(answer.error()["message"].as_str().unwrap().contains("pooler"), "{answer:?}");
}
