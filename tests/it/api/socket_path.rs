//! Where it listens: only a socket is ever removed, and a path that is too long for one is no hindrance.

use std::os::unix::net::UnixListener;

use super::*;

#[test]
fn non_socket_file_at_the_path_is_kept() {
    let world = world();
    let path = runtime(&world).join("worker.sock");
    fs::create_dir_all(runtime(&world)).unwrap();
    fs::write(&path, "mine").unwrap();
    let refused: CommandOutput = world.fairway(["serve", "--json"]).output().unwrap().into();
    refused.refuses(4, "exists");
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let refused: CommandOutput = world.fairway(["serve", "--json"]).output().unwrap().into();
    refused.refuses(4, "exists");
    assert!(path.is_dir());
    fs::remove_dir(&path).unwrap();
    let target = world.root().join("target");
    fs::write(&target, "mine").unwrap();
    std::os::unix::fs::symlink(&target, &path).unwrap();
    let refused: CommandOutput = world.fairway(["serve", "--json"]).output().unwrap().into();
    refused.refuses(4, "exists");
    assert_eq!((fs::read_to_string(&target).unwrap(), path.is_symlink()), ("mine".into(), true));
}

#[test]
fn listener_without_the_lock_is_kept() {
    let world = world();
    fs::create_dir_all(runtime(&world)).unwrap();
    let path = runtime(&world).join("worker.sock");
    let _listener = UnixListener::bind(&path).unwrap();
    let refused: CommandOutput = world.fairway(["serve", "--json"]).output().unwrap().into();
    refused.refuses(4, "serve_running");
    assert!(UnixStream::connect(&path).is_ok());
}

#[test]
fn long_path_moves_the_socket_behind_a_pointer() {
    let mut world = TestProject::uninitialized();
    world.real_time();
    let long = world.root().join("x".repeat(100));
    fs::create_dir(&long).unwrap();
    let sockets = world.dir().join("run");
    fs::create_dir(&sockets).unwrap();
    let in_it = |world: &TestProject, args: &[&str]| {
        let mut command = world.fairway(args);
        command.current_dir(&long);
        command
    };
    CommandOutput::from(in_it(&world, &["init", "--quiet"]).output().unwrap()).exits(0);
    let refused: CommandOutput = in_it(&world, &["serve", "--json"]).output().unwrap().into();
    refused.refuses(2, "invalid_value");
    world.set("XDG_RUNTIME_DIR", &sockets);
    let server = Server::of(&mut in_it(&world, &["serve", "--json"]));
    let runtime = long.join(".fairway/runtime");
    let at = server.at["socket"].as_str().unwrap().to_owned();
    assert!(PathBuf::from(&at).starts_with(&sockets), "{at}");
    assert_eq!(fs::read_to_string(runtime.join("worker.socket")).unwrap(), format!("{at}\n"));
    assert!(!runtime.join("worker.sock").exists());
    assert_eq!(ApiClient::connect(&runtime, WAIT_TIMEOUT).unwrap().get("/health").unwrap().status, 200);
    let words = ["session", "launch", "--role", "r", "--dry-run", "--json", "--", "true"];
    let launch = CommandOutput::from(in_it(&world, &words).output().unwrap()).exits(0).json();
    assert_eq!(launch["environment"]["FAIRWAY_SOCKET"], json!(at));
    assert_eq!(server.end().code, Some(0));
    assert!(!PathBuf::from(&at).exists() && !runtime.join("worker.socket").exists());
}

#[test]
fn serve_outside_a_project_is_refused() {
    let world = TestProject::uninitialized();
    let refused: CommandOutput = world.fairway(["serve", "--json"]).output().unwrap().into();
    refused.refuses(3, "no_project");
}
