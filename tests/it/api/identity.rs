//! `/identity`: credentials reach the runtime, and nothing and nobody else.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use super::*;

const CANARY: &str = "canary-7f3a91c2d8e64b5f-credential";

fn tell(world: &TestProject, run: &str, value: &str, expires_at: &Value) -> (u16, Value) {
    let body = json!({
        "run_id": run, "role": "worker", "rig": "r", "agent_name": "a",
        "credentials": { "type": "api_key", "value": value, "expires_at": expires_at },
        "env": { "ACME_KEY": format!("env-{value}") },
    });
    post(world, "/identity", &body)
}

/// Every file below a folder that holds the text.
fn holding(folder: &Path, text: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => holding(&path, text, found),
            Ok(kind) if kind.is_file() => {
                let bytes = fs::read(&path).unwrap_or_default();
                if bytes.windows(text.len()).any(|window| window == text.as_bytes()) {
                    found.push(path);
                }
            }
            _ => {}
        }
    }
}

#[test]
fn credential_reaches_only_its_runtime() {
    let world = world();
    let server = Server::start(&world, &["--http"]);
    let run = run_of(&world, "s1");
    // Whoever looks at what runs on this machine, all the time.
    let (stop, hits) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let sampler = {
        let (stop, hits, own) = (Arc::clone(&stop), Arc::clone(&hits), std::process::id().to_string());
        thread::spawn(move || {
            while !stop.load(Relaxed) {
                for entry in fs::read_dir("/proc").unwrap().flatten() {
                    if entry.file_name().to_string_lossy() == own {
                        continue;
                    }
                    for file in ["cmdline", "environ"] {
                        let bytes = fs::read(entry.path().join(file)).unwrap_or_default();
                        if bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes()) {
                            hits.store(true, Relaxed);
                        }
                    }
                }
                poll_until::poll_until(Duration::from_millis(5), Duration::from_millis(5), || None::<()>);
            }
        })
    };
    let mut heard = String::new();
    let mut ask = |answer: (u16, Value)| {
        heard.push_str(&answer.1.to_string());
        answer
    };
    let (status, told) = ask(tell(&world, &run, CANARY, &json!("2100-01-01T00:00:00Z")));
    assert_eq!((status, &told["rotated"], &told["credentials"]["type"]), (200, &json!(false), &json!("api_key")));
    let (status, told) = ask(get(&world, &format!("/identity?run_id={run}")));
    assert_eq!(
        (status, &told["credentials"]["value"], &told["env"]),
        (200, &json!("•••"), &json!({ "ACME_KEY": "•••" }))
    );
    let mut stream = Reader::of(&world, &format!("/stream?run_id={run}"), None);
    let item = stream.next().unwrap();
    assert_eq!((item.id, item.event.as_str()), (None, "identity"));
    assert_eq!(item.data["credentials"]["value"], CANARY);
    assert_eq!(item.data["env"]["ACME_KEY"], format!("env-{CANARY}"));
    // A new one takes its place without a restart.
    let next = format!("{CANARY}-2");
    assert_eq!(ask(tell(&world, &run, &next, &json!(null))).1["rotated"], true);
    assert_eq!(stream.next().unwrap().data["credentials"]["value"], next.as_str());
    // Everything that can be wrong about it.
    let wrong = |mut body: Value, field: &str, value: Value| {
        body[field] = value;
        body
    };
    let body = json!({ "run_id": run, "role": "worker", "credentials": { "type": "token", "value": CANARY } });
    for (body, status) in [
        (wrong(body.clone(), "role", json!("king")), 409),
        (wrong(body.clone(), "session_id", json!("s2")), 409),
        (wrong(body.clone(), "run_id", json!("nobody")), 404),
        (wrong(body.clone(), "credentials", json!(CANARY)), 400),
        (wrong(body.clone(), "credentials", json!({ "type": CANARY, "value": CANARY })), 400),
        (wrong(body.clone(), "credentials", json!({ "type": "token", "value": [CANARY] })), 400),
        (wrong(body.clone(), "credentials", json!({ "type": "token", "value": CANARY, "expires_at": CANARY })), 400),
        (wrong(body.clone(), "env", json!({ "A": { "b": CANARY } })), 400),
        (wrong(body.clone(), "env", json!([CANARY])), 400),
    ] {
        assert_eq!(ask(post(&world, "/identity", &body)).0, status, "{body}");
    }
    let cut = body.to_string();
    let reply = link(&world).post("/identity", &cut.as_bytes()[..cut.len() - 1]).unwrap();
    heard.push_str(&String::from_utf8(reply.body).unwrap());
    let huge = wrong(body.clone(), "env", json!({ "A": format!("{CANARY}{}", "x".repeat(2 << 20)) }));
    let reply = link(&world).post("/identity", huge.to_string().as_bytes()).unwrap();
    assert_eq!(reply.status, 413);
    heard.push_str(&String::from_utf8(reply.body).unwrap());
    // Nothing may look into its memory, nor does it leave it behind.
    let limits = fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().nth(4), Some("0"), "{core}");
    // The control: what looks for it would find it.
    fs::write(world.dir().join("control"), &next).unwrap();
    let mut found = Vec::new();
    holding(world.dir(), CANARY, &mut found);
    assert_eq!(found, [world.dir().join("control")]);
    assert!(!heard.contains(CANARY), "{heard}");
    world.run(["session", "end", "s1"]).exits(0);
    eventually("the identity of a session that has ended is forgotten", || {
        (get(&world, &format!("/identity?run_id={run}")).0 == 404).then_some(())
    });
    let ended = server.end();
    assert_eq!(ended.code, Some(0));
    assert!(!ended.stdout.contains(CANARY) && !ended.stderr.contains(CANARY), "{ended:?}");
    stop.store(true, Relaxed);
    sampler.join().unwrap();
    assert!(!hits.load(Relaxed), "in a command line or an environment");
    let events = world.run(["events", "--json"]).exits(0).stdout;
    assert!(!events.contains(CANARY), "{events}");
    let (mut left, tmp) = (Vec::new(), std::env::temp_dir());
    for entry in fs::read_dir(tmp).unwrap().flatten().filter(|entry| entry.path() != world.dir()) {
        if entry.file_name().to_string_lossy().starts_with("fairway") {
            holding(&entry.path(), CANARY, &mut left);
        }
    }
    assert_eq!(left, Vec::<PathBuf>::new());
}

#[test]
fn credential_is_refreshed_before_it_expires() {
    let world = world();
    // It is asked on stdin, and answers on stdout.
    let script = "read -r asked; case $asked in *api_key*) ;; *) exit 9 ;; esac; \
                  printf '{\"role\":\"worker\",\"credentials\":{\"type\":\"api_key\",\"value\":\"%s\"}}' next-canary";
    configure(&world, &format!("[identity]\nrefresh = '''{script}'''"));
    let server = Server::start(&world, &[]);
    let run = run_of(&world, "s1");
    let mut stream = Reader::of(&world, &format!("/stream?run_id={run}"), None);
    // It has less than five minutes left: that is now.
    let soon = world_now() + 60_000;
    assert_eq!(tell(&world, &run, CANARY, &json!(soon)).0, 200);
    let mut seen = Vec::new();
    while !seen.iter().any(|item: &Item| item.data["credentials"]["value"] == "next-canary") {
        seen.push(stream.next().unwrap());
    }
    let event = eventually("the event", || {
        let events = world.run(["events", "--json"]).exits(0).stdout;
        Some(events.lines().find(|line| line.contains("credential.expiring"))?.to_owned())
    });
    let event: Value = serde_json::from_str(&event).unwrap();
    assert_eq!((&event["session_id"], &event["data"]["type"]), (&json!("s1"), &json!("api_key")));
    assert!(!event.to_string().contains("canary"), "{event}");
    assert_eq!(get(&world, &format!("/identity?run_id={run}")).1["credentials"]["expires_at"], json!(null));
    assert_eq!(server.end().stderr, "");
}

#[test]
fn untrusted_refresh_command_is_not_run() {
    let world = world();
    let path = world.root().join(".fairway.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}\n[identity]\nrefresh = \"touch ran\"\n")).unwrap();
    let server = Server::start(&world, &[]);
    let run = run_of(&world, "s1");
    let mut stream = Reader::of(&world, &format!("/stream?run_id={run}"), None);
    assert_eq!(tell(&world, &run, CANARY, &json!(world_now() + 60_000)).0, 200);
    while stream.next().unwrap().event != "credential_expiring" {}
    eventually("it was tried", || {
        let events = world.run(["events", "--json"]).exits(0).stdout;
        events.contains("credential.expiring").then_some(())
    });
    let said = server.end().stderr;
    assert!(!world.root().join("ran").exists());
    assert!(!said.contains(CANARY), "{said}");
}

/// Now, in milliseconds since 1970.
fn world_now() -> i64 {
    fairway_core::env::Clock::System.now().millis()
}
