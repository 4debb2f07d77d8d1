//! `fairway serve`; what it serves is told in `tests/it/api`.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, require};

#[test]
fn serve_prints_its_address_and_cleans_up() {
    let world = TestProject::new();
    let mut command = world.fairway(["serve", "--for", "10ms"]);
    let child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let pid = child.id().to_string();
    let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    insta::assert_snapshot!(world.redacted(&said).replace(&pid, "[pid]"), @"serving at [world]/project/.fairway/runtime/worker.sock; to end it: INT or TERM to [pid]");
    assert!(!world.root().join(".fairway/runtime/worker.sock").exists());
    insta::assert_snapshot!(world.transcript(&[
        "fairway serve --for 10ms --quiet",
        "fairway serve --for never",
        "fairway serve --http 70000",
        "fairway serve --session 'no session'",
    ]), @"
    $ fairway serve --for 10ms --quiet
    [world]/project/.fairway/runtime/worker.sock
    $ fairway serve --for never
    error: invalid value 'never' for '--exit-after <DURATION>': 'never' is not a span of time such as 30s, 10m or 2h
    hint: read the help: fairway serve --help
    [exit 2]
    $ fairway serve --http 70000
    error: invalid value '70000' for '--http [<PORT>]': 70000 is not in 0..=65535
    hint: read the help: fairway serve --help
    [exit 2]
    $ fairway serve --session 'no session'
    error: invalid value 'no session' for '--session <ID>': session id 'no session' must start with a-z, A-Z or 0-9 and contain only these, '_' and '-', at most 64 characters
    hint: read the help: fairway serve --help
    [exit 2]
    ");
}

/// A project whose path has what a unit of systemd would expand, split or end.
fn awkward_project(world: &TestProject) -> PathBuf {
    let root = world.dir().join("a b\"c'd%h$HOME\\n;e");
    fs::create_dir(&root).unwrap();
    let made = CommandOutput::from(world.fairway(["init", "--quiet"]).arg("--root").arg(&root).output().unwrap());
    made.exits(0);
    root
}

#[test]
fn unit_of_the_server_is_valid_wherever_the_project_is_and_is_removed_again() {
    if !require::program("systemd-analyze") {
        return;
    }
    let world = TestProject::new();
    let root = awkward_project(&world);
    let serve = |args: &[&str]| {
        let mut command = world.fairway([&["serve", "--json"], args].concat());
        CommandOutput::from(command.arg("--root").arg(&root).env("FAIRWAY_STORE_URL", "").output().unwrap())
    };
    let written = serve(&["--install"]).exits(0).json();
    let (file, port) = (PathBuf::from(written["file"].as_str().unwrap()), written["port"].as_u64().unwrap());
    let unit = written["unit"].as_str().unwrap();
    assert!(file.ends_with(format!(".config/systemd/user/{unit}")) && written["changed"] == true, "{written}");
    assert_eq!(written["commands"][1], json!(format!("systemctl --user enable --now {unit}")));
    let mut verify = world.command("systemd-analyze");
    verify.env("XDG_RUNTIME_DIR", world.dir());
    let verified = CommandOutput::from(verify.args(["--user", "verify"]).arg(&file).output().unwrap()).exits(0);
    assert_eq!((verified.stdout.as_str(), verified.stderr.as_str()), ("", ""));
    // What systemd reads of the command is the command.
    let text = fs::read_to_string(&file).unwrap();
    let start = text.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let words = shell_words::split(&start.replace("%%", "%").replace("$$", "\\$")).unwrap();
    assert_eq!(words[1..], ["--root", root.to_str().unwrap(), "serve", "--http", &port.to_string()]);
    // Once more changes nothing; another port does, and stays.
    let again = serve(&["--install"]).exits(0).json();
    assert_eq!((&again["changed"], &again["port"]), (&json!(false), &json!(port)));
    let moved = serve(&["--install", "--http", "7999"]).exits(0).json();
    assert_eq!((&moved["changed"], &moved["port"]), (&json!(true), &json!(7999)));
    assert_eq!(serve(&["--install"]).exits(0).json()["port"], 7999);
    serve(&["--install", "--listen", "10.0.0.1"]).refuses(2, "invalid_value");
    // Another file is left alone.
    let ours = fs::read(&file).unwrap();
    fs::write(&file, "[Service]\nExecStart=/bin/true\n").unwrap();
    serve(&["--install"]).refuses(4, "exists");
    serve(&["--uninstall"]).refuses(4, "exists");
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("/dev/null", &file).unwrap();
    serve(&["--install"]).refuses(4, "exists");
    fs::remove_file(&file).unwrap();
    fs::write(&file, ours).unwrap();
    let wanted = file.with_file_name("default.target.wants").join(unit);
    fs::create_dir(wanted.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&file, &wanted).unwrap();
    assert_eq!(serve(&["--uninstall"]).exits(0).json()["changed"], true);
    assert!(!file.exists() && wanted.symlink_metadata().is_err());
    assert_eq!(serve(&["--uninstall"]).exits(0).json()["commands"], json!([]));
    let inside = { world.fairway(["serve", "--install", "--json"]) }.env("FAIRWAY_SESSION_ID", "s1").output().unwrap();
    CommandOutput::from(inside).refuses(5, "inside_session");
}
