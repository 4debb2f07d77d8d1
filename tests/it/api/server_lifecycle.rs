//! A server's life: one at a time, an end that finishes what was begun, and nothing to do while nobody asks.

use std::os::unix::fs::FileTypeExt;
use std::time::Instant;

use super::*;

#[test]
fn second_server_refuses_to_start() {
    let world = world();
    let first = Server::start(&world, &["--http"]);
    let second: CommandOutput = world.fairway(["serve", "--http", "--json"]).output().unwrap().into();
    second.refuses(4, "serve_running");
    assert_eq!(get(&world, "/health").1["pid"], first.pid());
    assert_eq!(fs::read_to_string(runtime(&world).join("worker.port")).unwrap(), format!("{}\n", first.port()));
    assert_eq!(first.end().code, Some(0));
}

#[test]
fn concurrent_servers_leave_one_serving() {
    let world = world();
    let mut all: Vec<Child> = (0..8)
        .map(|_| {
            let mut command = world.fairway(["serve", "--json"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    eventually("all but one have ended", || {
        (all.iter_mut().filter_map(|child| child.try_wait().unwrap()).count() == 7).then_some(())
    });
    let pid = get(&world, "/health").1["pid"].as_u64().unwrap();
    for mut child in all {
        if u64::from(child.id()) == pid {
            kill(Pid::from_raw(i32::try_from(pid).unwrap()), Signal::SIGINT).unwrap();
            assert_eq!(child.wait().unwrap().code(), Some(0));
        } else {
            CommandOutput::from(child.wait_with_output().unwrap()).refuses(4, "serve_running");
        }
    }
}

#[test]
fn socket_of_a_killed_server_is_taken_over() {
    let world = world();
    let mut first = Server::start(&world, &["--http"]);
    let path = runtime(&world).join("worker.sock");
    first.signal(Signal::SIGKILL);
    assert_eq!(first.ended().code, None);
    assert!(fs::symlink_metadata(&path).unwrap().file_type().is_socket());
    assert!(ApiClient::connect(&runtime(&world), WAIT_TIMEOUT).is_none());
    let second = Server::start(&world, &[]);
    assert_eq!(get(&world, "/health").1["pid"], second.pid());
    // The port of the dead one is not to be found any more.
    assert!(!runtime(&world).join("worker.port").exists());
    assert!(!runtime(&world).join("worker.token").exists());
}

#[test]
fn shutdown_finishes_requests_and_ends_streams() {
    let world = world();
    let mut server = Server::start(&world, &[]);
    let run = run_of(&world, "s1");
    let mut events = Reader::of(&world, "/events", None);
    let mut stream = Reader::of(&world, &format!("/stream?run_id={run}"), None);
    let slow = json!({ "command": "echo begun >begun; until test -e go; do sleep 0.05; done; echo done" });
    let world = std::sync::Arc::new(world);
    let asking = {
        let world = std::sync::Arc::clone(&world);
        thread::spawn(move || post(&world, "/exec", &slow))
    };
    eventually("the request is being answered", || world.root().join("begun").exists().then_some(()));
    let idle = socket(&world);
    server.signal(Signal::SIGTERM);
    eventually("nobody is let in any more", || {
        ApiClient::connect(&runtime(&world), WAIT_TIMEOUT).is_none().then_some(())
    });
    fs::write(world.root().join("go"), "").unwrap();
    let (status, answer) = asking.join().unwrap();
    assert_eq!(status, 200, "{answer}");
    assert!(answer.to_string().contains("done"), "{answer}");
    while events.next().is_some() {}
    assert_eq!(stream.next(), None);
    assert_eq!(said(idle, b""), "");
    let ended = server.ended();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert!(!runtime(&world).join("worker.sock").exists());
    // Nobody who waits for the store's changes is left behind either.
    assert_eq!(fs::read_dir(runtime(&world).join("wake")).unwrap().count(), 0);
}

#[test]
fn slow_request_does_not_delay_shutdown() {
    let world = world();
    let mut server = Server::start(&world, &[]);
    let mut stream = socket(&world);
    stream.write_all(b"POST /prompt HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n{").unwrap();
    let _ = get(&world, "/health");
    let start = Instant::now();
    server.signal(Signal::SIGTERM);
    assert_eq!(server.ended().code, Some(0));
    crate::common::soak::took(start.elapsed(), ..Duration::from_secs(9), "the shutdown");
}

#[test]
#[ignore = "it measures time; `just soak` runs it"]
fn idle_server_uses_no_cpu() {
    let world = world();
    let server = Server::start(&world, &["--http"]);
    let run = run_of(&world, "s1");
    let _events = Reader::of(&world, "/events?since=1000000", None);
    let _stream = Reader::of(&world, &format!("/stream?run_id={run}"), None);
    assert_eq!(get(&world, "/health").0, 200);
    // Time in user and kernel mode, and how often it was put to sleep: what it does is seen in either.
    let stat = || {
        let text = fs::read_to_string(format!("/proc/{}/stat", server.pid())).unwrap();
        let fields: Vec<u64> =
            text.rsplit(')').next().unwrap().split_whitespace().filter_map(|one| one.parse().ok()).collect();
        (fields[10], fields[11])
    };
    let sleeps = || {
        let tasks = fs::read_dir(format!("/proc/{}/task", server.pid())).unwrap();
        let one = |path: PathBuf| {
            let status = fs::read_to_string(path.join("status")).ok()?;
            let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches"))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok()
        };
        tasks.filter_map(|task| one(task.unwrap().path())).sum::<u64>()
    };
    // The requests are still being recorded.
    let mut before = (stat(), sleeps());
    eventually("it is quiet", || {
        poll_until::poll_until(Duration::from_millis(500), Duration::from_millis(500), || None::<()>);
        let now = (stat(), sleeps());
        (std::mem::replace(&mut before, now) == now).then_some(())
    });
    poll_until::poll_until(Duration::from_secs(5), Duration::from_secs(5), || None::<()>);
    let (ticks, slept) = (stat(), sleeps());
    assert_eq!(ticks, before.0);
    // Streams are told that they stand now and then.
    assert!(slept - before.1 <= 4, "{} wake-ups in 5 s", slept - before.1);
}
