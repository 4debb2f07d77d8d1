//! The server between calls and at its end.

use std::fs;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use super::{Client, at_work};
use crate::sessions::eventually;

fn pid(client: &Client) -> i32 {
    i32::try_from(client.child.id()).unwrap()
}

/// Ticks of the processor that a process has used.
fn ticks(pid: i32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
fn server_holds_no_store_between_calls_and_uses_no_processor() {
    let world = at_work();
    let mut client = Client::of_session(&world, "s1");
    client.call("note", json!({ "text": "half done" })).succeeds();
    client.call("task", json!({})).succeeds();
    let pid = pid(&client);
    // A connection that has read or written has the log open; the file itself stays open without a lock.
    let open: Vec<String> = fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .filter_map(|entry| Some(fs::read_link(entry.unwrap().path()).ok()?.display().to_string()))
        .filter(|path| path.contains("fairway.db-"))
        .collect();
    assert_eq!(open, [""; 0]);
    let locks = fs::read_to_string("/proc/locks").unwrap();
    let held: Vec<&str> =
        locks.lines().filter(|lock| lock.split_whitespace().nth(4) == Some(&pid.to_string())).collect();
    assert_eq!(held, [""; 0]);
    eventually("nothing happens, and it does nothing", || {
        let before = ticks(pid);
        std::thread::sleep(Duration::from_millis(300));
        (ticks(pid) == before).then_some(())
    });
    assert!(client.end().success());
}

#[test]
fn requests_before_the_end_of_the_input_are_answered() {
    let world = at_work();
    let mut client = Client::of_session(&world, "s1");
    for number in 0..20 {
        let params = json!({ "name": "task", "arguments": {} });
        client.send(&json!({ "jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params }));
    }
    // The last message has no end of its line.
    client.write("{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"ping\"}");
    client.close_input();
    let mut answers: Vec<String> = (0..21).map(|_| client.receive()["id"].to_string()).collect();
    answers.sort();
    assert_eq!(answers.len(), 21);
    assert!(answers.contains(&"\"last\"".to_owned()));
    assert!(client.child.wait().unwrap().success());
    // A message that is cut off is answered too.
    let mut client = Client::of_session(&world, "s1");
    client.write("{\"jsonrpc\":\"2.0\",\"id\":1,\"meth");
    client.close_input();
    assert_eq!(client.receive()["error"]["code"], -32700);
    assert!(client.child.wait().unwrap().success());
}

#[test]
fn signal_ends_the_server_and_the_program_of_a_check() {
    let world = at_work();
    let mut client = Client::of_session(&world, "s1");
    let program = json!(["sh", "-c", "echo $$ >running; sleep 600"]);
    let params = json!({ "name": "verify", "arguments": { "command": program } });
    client.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }));
    let running = eventually("the program runs", || {
        fs::read_to_string(world.root().join("running")).ok().filter(|text| text.ends_with('\n'))
    });
    kill(Pid::from_raw(pid(&client)), Signal::SIGTERM).unwrap();
    // The call is answered, and nothing was recorded.
    let answer = client.receive();
    assert_eq!(answer["result"]["structuredContent"]["error"]["code"], "interrupted", "{answer}");
    assert!(client.child.wait().unwrap().success());
    assert!(!std::path::Path::new(&format!("/proc/{}", running.trim())).exists());
    assert_eq!(world.json(["evidence", "list", "T-1"]), json!([]));
}

#[test]
fn client_that_reads_no_more_ends_the_server() {
    let world = at_work();
    let mut command = world.fairway(["mcp"]);
    command.env("FAIRWAY_SESSION_ID", "s1");
    let mut client = Client::of(command);
    let (reader, _) = std::io::pipe().unwrap();
    let stdout = std::mem::replace(&mut client.stdout, std::io::BufReader::new(fd_of(reader)));
    drop(stdout);
    client.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }));
    assert!(client.child.wait().unwrap().success());
}

fn fd_of(reader: std::io::PipeReader) -> std::process::ChildStdout {
    std::process::ChildStdout::from(std::os::fd::OwnedFd::from(reader))
}
