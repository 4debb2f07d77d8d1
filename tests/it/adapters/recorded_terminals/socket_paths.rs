//! Where the sockets of a session are.

use super::*;

with_each! {
    state_directory_too_deep_for_a_socket_has_one_elsewhere
    named_directory_of_sockets_is_used
}

fn state_directory_too_deep_for_a_socket_has_one_elsewhere(caller: &Caller) {
    let state = caller.world.dir().join("deep $HOME ".repeat(12)).join("state");
    let call = |args: &[&str], stdin: &[u8]| {
        let mut command = caller.command(args);
        command.env("GC_EXEC_STATE_DIR", &state);
        called(command, stdin).exits(0).stdout
    };
    let report: Value = serde_json::from_str(&call(&["start", "x"], br#"{"command":"echo up; exec cat"}"#)).unwrap();
    let folder = Path::new(report["socket"].as_str().unwrap());
    assert!(folder.starts_with("/tmp") && folder.as_os_str().len() < 48, "{report}");
    assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(call(&["is-running", "x"], b""), "true\n");
    eventually("it is shown", || (call(&["peek", "x", "0"], b"") == "up\n").then_some(()));
    let own = server(caller, &report);
    call(&["stop", "x"], b"");
    assert_ne!(own.status(), ProcessStatus::Alive);
    let _ = fs::remove_dir_all(folder.parent().unwrap());
}

fn named_directory_of_sockets_is_used(caller: &Caller) {
    let folder = caller.folder("own");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    let mut command = caller.command(&["start", "x"]);
    command.env("FAIRWAY_BACKEND_SOCKET", &folder);
    let report = called(command, br#"{"command":"echo up; exec cat"}"#).exits(0).json();
    assert_eq!(report["socket"], json!(folder));
    // Later calls find it again by themselves.
    eventually("it is shown", || (caller.said(&["peek", "x", "0"]) == "up\n").then_some(()));
    assert_eq!(caller.said(&["list-running", ""]), "x\n");
    caller.said(&["stop", "x"]);
    assert!(process_tree::with_env_entry("FAIRWAY_RUN_ID=nobody").unwrap().is_empty());
    eventually("nothing runs", || naming(caller.world.dir()).is_empty().then_some(()));
    let mut command = caller.command(&["start", "x"]);
    command.env("FAIRWAY_BACKEND_SOCKET", "relative/path");
    let run = called(command, b"{}").exits(1);
    assert!(run.stderr.contains("neither 'default' nor an absolute path"), "{run:?}");
    assert!(!caller.state.join("s-x").exists());
}
