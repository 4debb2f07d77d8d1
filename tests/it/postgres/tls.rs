//! Encryption and passwords, against a real server with a certificate.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::common::TestProject;
use crate::common::postgres_server::{self, PASSWORD_USER, PostgresServer};
use crate::common::test_project::CommandOutput;

/// The output of `ready` at an address of the world's schema on the network.
fn ready_at(world: &TestProject, user: &str, host: &str, parameters: &str) -> CommandOutput {
    run_at(world, &["ready", "--json"], user, host, parameters)
}

/// The output of a command at an address of the world's schema on the network.
fn run_at(world: &TestProject, words: &[&str], user: &str, host: &str, parameters: &str) -> CommandOutput {
    let (server, schema) = world.on_server.as_ref().unwrap();
    let address = server.network_address(host, server.port(), schema).replace("fairway@", user) + parameters;
    world.fairway(words).env("FAIRWAY_STORE_URL", address).output().unwrap().into()
}

/// `1` on an encrypted connection, as the server sees its own.
fn encrypted(server: &PostgresServer, schema: &str) -> Vec<String> {
    let query = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                 WHERE ssl AND application_name = 'fairway-test'";
    server.query(schema, query)
}

#[test]
fn a_server_is_verified_by_its_authority_and_its_name() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, _) = world.on_server.as_ref().unwrap();
    let root = |name: &str| format!("&sslrootcert={}", server.file(name).display());
    ready_at(&world, "fairway@", "localhost", &root("authority.pem")).exits(0);

    let other = ready_at(&world, "fairway@", "localhost", &root("other.pem")).refuses(7, "store_tls");
    assert!(other.error()["message"].as_str().unwrap().contains("UnknownIssuer"), "{other:?}");
    assert!(other.error()["hint"].as_str().unwrap().contains("sslrootcert=FILE"), "{other:?}");
    // The system's authorities do not know this one.
    ready_at(&world, "fairway@", "localhost", "&sslmode=verify-full").refuses(7, "store_tls");
    let name = ready_at(&world, "fairway@", "127.0.0.1", &root("authority.pem")).refuses(7, "store_tls");
    assert!(name.error()["message"].as_str().unwrap().contains("not valid for name"), "{name:?}");
    let hint = name.error()["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains("as its certificate does") && !hint.contains("sslmode"), "{hint}");
    let missing = ready_at(&world, "fairway@", "localhost", &root("missing.pem")).refuses(7, "store_tls");
    assert!(missing.error()["message"].as_str().unwrap().contains("missing.pem"), "{missing:?}");
    let no_certificate = ready_at(&world, "fairway@", "localhost", &root("names")).refuses(7, "store_tls");
    assert!(no_certificate.error()["message"].as_str().unwrap().contains("no certificate"), "{no_certificate:?}");
}

#[test]
fn store_show_says_whether_the_certificate_is_verified() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, _) = world.on_server.as_ref().unwrap();
    let root = format!("&sslrootcert={}", server.file("authority.pem").display());
    for (host, parameters, is_verified, text) in [
        ("localhost", root.as_str(), json!(true), "encryption  TLSv1.3, certificate verified\n"),
        ("127.0.0.1", "&sslmode=require", json!(false), "encryption  TLSv1.3, certificate not verified\n"),
        ("127.0.0.1", "", Value::Null, "encryption  none\n"),
    ] {
        let shown = run_at(&world, &["store", "show", "--json"], "fairway@", host, parameters).exits(0).json();
        assert_eq!(shown["certificate_verified"], is_verified, "{shown}");
        let shown = run_at(&world, &["store", "show"], "fairway@", host, parameters).exits(0).stdout;
        assert!(shown.contains(text), "{shown}");
    }
}

#[test]
fn sslmode_require_encrypts_without_knowing_the_server() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    for (parameters, expected) in [("&sslmode=require", "1"), ("", "0")] {
        let address = server.network_address("127.0.0.1", server.port(), schema) + parameters;
        let follow = world
            .fairway(["events", "--follow"])
            .env("FAIRWAY_STORE_URL", address + "&application_name=fairway-test")
            .stdout(std::process::Stdio::null())
            .spawn();
        let mut follow = follow.unwrap();
        let query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'fairway-test'";
        super::wait_for(|| (server.query(schema, query) == ["2"]).then_some(()));
        assert_eq!(encrypted(server, schema) != ["0"], expected == "1", "{parameters}");
        follow.kill().unwrap();
        follow.wait().unwrap();
        super::wait_for(|| (server.query(schema, query) == ["0"]).then_some(()));
    }
}

#[test]
fn a_server_without_encryption_gets_no_login() {
    let Some(server) = postgres_server::own() else { return };
    let world = TestProject::on_server_of_its_own(&server);
    for mode in ["require", "verify-full"] {
        let answer = ready_at(&world, "fairway@", "localhost", &format!("&sslmode={mode}")).refuses(7, "store_tls");
        assert!(answer.error()["message"].as_str().unwrap().contains("does not support TLS"), "{answer:?}");
    }
    // On this machine nothing needs encryption.
    ready_at(&world, "fairway@", "localhost", "").exits(0);
}

#[test]
fn a_password_comes_from_the_environment_or_a_file_of_ones_own() {
    let Some(mut world) = TestProject::on_postgres() else { return };
    let (user, password) = PASSWORD_USER;
    let port = world.on_server.as_ref().unwrap().0.port();
    let ask = |world: &TestProject| ready_at(world, &format!("{user}@"), "127.0.0.1", "");
    let no_secret = |answer: CommandOutput| {
        assert!(!format!("{answer:?}").contains("s3cret"), "{answer:?}");
        answer
    };

    let none = no_secret(ask(&world).refuses(7, "store_denied"));
    assert!(none.error()["message"].as_str().unwrap().contains("password missing"), "{none:?}");
    assert!(none.error()["hint"].as_str().unwrap().contains("PGPASSWORD"), "{none:?}");

    let file = world.dir().join("home/.pgpass");
    fs::write(&file, format!("# of the team\nlocalhost:*:*:{user}:other\n127.0.0.1:{port}:*:{user}:{password}\n"))
        .unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let open = no_secret(ask(&world).refuses(7, "store_denied"));
    assert!(open.error()["message"].as_str().unwrap().contains("permissions are 0640, not 0600"), "{open:?}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    ask(&world).exits(0);

    let stated = world.dir().join("passwords");
    fs::rename(&file, &stated).unwrap();
    no_secret(ask(&world).refuses(7, "store_denied"));
    world.set("PGPASSFILE", &stated);
    ask(&world).exits(0);
    // The environment goes before the file.
    world.set("PGPASSWORD", "another-s3cret");
    let wrong = no_secret(ask(&world).refuses(7, "store_denied"));
    assert!(wrong.error()["message"].as_str().unwrap().contains("password authentication failed"), "{wrong:?}");
    world.set("PGPASSWORD", password);
    ask(&world).exits(0);
    // And what the address says goes before both.
    no_secret(ready_at(&world, &format!("{user}:third-s3cret@"), "127.0.0.1", "").refuses(7, "store_denied"));
    world.set("PGPASSWORD", "another-s3cret");
    ready_at(&world, &format!("{user}:{password}@"), "127.0.0.1", "").exits(0);
}
