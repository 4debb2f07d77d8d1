//! The board in the browser, by raw requests: who gets in, what an answer allows the browser, what the page can do.

use std::time::Instant;

use fairway::os::lock::SharedLock;
use nix::sys::socket::{setsockopt, sockopt};

use super::*;
use crate::common::{
    fixtures::{add_approval, add_lane, add_session, discard_store},
    require,
};

/// A client of the page.
struct Client {
    port: u16,
    origin: String,
    /// The name and value of its cookie.
    cookie: String,
}

struct Page {
    status: u16,
    head: String,
    body: String,
}

impl Page {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")))
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The code of a refusal.
    fn code(&self) -> (u16, String) {
        (self.status, self.json()["error"]["code"].as_str().unwrap().to_owned())
    }
}

fn request(port: u16, method: &str, path: &str, headers: &str, body: &str) -> Page {
    let length = body.len();
    let text =
        format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}");
    let answer = said(local(port), text.as_bytes());
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text}: {answer}"));
    Page { status: head[9..12].parse().unwrap(), head: head.to_owned(), body: body.to_owned() }
}

/// The path with the code of an address that can be opened once.
fn code_path(url: &str) -> String {
    format!("/{}", url.splitn(4, '/').nth(3).unwrap())
}

impl Client {
    fn new(server: &Server) -> Self {
        Self::with_url(server, server.at["open_url"].as_str().unwrap())
    }

    fn with_url(server: &Server, url: &str) -> Self {
        let origin = server.at["page"].as_str().unwrap().to_owned();
        let mut client = Self { port: server.port(), origin, cookie: String::new() };
        let opened = client.get(&code_path(url));
        assert_eq!((opened.status, opened.header("location")), (303, Some("/")), "{}", opened.body);
        opened.header("set-cookie").unwrap().split(';').next().unwrap().clone_into(&mut client.cookie);
        client
    }

    fn headers(&self) -> String {
        let host = self.origin.strip_prefix("http://").unwrap();
        let cookie = if self.cookie.is_empty() { String::new() } else { format!("cookie: a=b; {}\r\n", self.cookie) };
        format!("host: {host}\r\n{cookie}")
    }

    fn get(&self, path: &str) -> Page {
        request(self.port, "GET", path, &self.headers(), "")
    }

    fn post_with(&self, path: &str, headers: &str, fields: &[(&str, &str)]) -> Page {
        let body: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let form = "content-type: application/x-www-form-urlencoded\r\n";
        request(self.port, "POST", path, &format!("{}{form}{headers}", self.headers()), &body.join("&"))
    }

    /// Sends a form as the page's script does.
    fn act(&self, fields: &[(&str, &str)]) -> Page {
        let own = format!("origin: {}\r\nsec-fetch-site: same-origin\r\naccept: application/json\r\n", self.origin);
        self.post_with("/act", &own, fields)
    }

    /// The stream of changes from a version on.
    fn events(&self, since: &str) -> Events {
        let mut stream = local(self.port);
        let head = format!("GET /events HTTP/1.1\r\n{}last-event-id: {since}\r\n\r\n", self.headers());
        stream.write_all(head.as_bytes()).unwrap();
        let mut lines = BufReader::new(stream);
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 200"), "{line}");
        Events { lines }
    }
}

fn encoded(value: &str) -> String {
    value.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

/// A reader of the page's stream.
struct Events {
    lines: BufReader<TcpStream>,
}

impl Events {
    /// The id and the parts of the next change.
    fn next(&mut self) -> (String, Value) {
        let mut id = String::new();
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "the stream has ended");
            if let Some(text) = line.strip_prefix("id: ") {
                text.trim_end().clone_into(&mut id);
            } else if let Some(data) = line.strip_prefix("data: ") {
                return (id, serde_json::from_str::<Value>(data).unwrap()["parts"].clone());
            }
        }
    }

    /// The changes until one contains this text; all of them.
    fn until(&mut self, text: &str) -> Vec<(String, Value)> {
        let mut seen = Vec::new();
        loop {
            seen.push(self.next());
            if seen.last().is_some_and(|(_, parts)| parts.to_string().contains(text)) {
                return seen;
            }
        }
    }
}

/// Opens the page of a server with these further flags.
fn open(world: &TestProject, args: &[&str]) -> (Server, Client) {
    let server = Server::start(world, &[&["--http", "--open"], args].concat());
    let client = Client::new(&server);
    (server, client)
}

#[test]
fn code_is_exchanged_once_for_a_cookie_and_no_address_has_a_secret() {
    let world = world();
    let server = Server::start(&world, &["--http", "--open"]);
    let url = server.at["open_url"].as_str().unwrap();
    let path = code_path(url);
    let before =
        Client { port: server.port(), origin: server.at["page"].as_str().unwrap().into(), cookie: String::new() };
    assert!(url.starts_with(&before.origin) && before.origin.contains(".localhost:"), "{url}");
    for path in ["/", "/events", "/open?code=", &path[..path.len() - 1]] {
        assert_eq!(before.get(path).status, 401, "{path}");
    }
    // Neither a look at the head nor a prefetch uses the code up.
    assert_eq!(request(server.port(), "HEAD", &path, &before.headers(), "").status, 405);
    let prefetch = format!("{}sec-purpose: prefetch\r\n", before.headers());
    assert_eq!(request(server.port(), "GET", &path, &prefetch, "").status, 403);
    let opened = before.get(&path);
    let cookie = opened.header("set-cookie").unwrap();
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{cookie}");
    assert_eq!((opened.status, opened.header("location")), (303, Some("/")));
    let again = before.get(&path);
    assert_eq!((again.status, again.header("set-cookie")), (401, None));
    let client = Client { cookie: cookie.split(';').next().unwrap().to_owned(), ..before };
    let board = client.get("/");
    assert_eq!(board.status, 200);
    let (code, key) = (path.split('=').nth(1).unwrap(), client.cookie.split('=').nth(1).unwrap());
    assert!(!board.body.contains(code) && !board.body.contains(key));
    let wrong = Client { cookie: format!("{}x", &client.cookie[..client.cookie.len() - 1]), ..client };
    assert_eq!(wrong.get("/").status, 401);
    // No file of the state has either, and the server says no more than where it is.
    for entry in fs::read_dir(runtime(&world)).unwrap().flatten().filter(|entry| entry.path().is_file()) {
        let bytes = fs::read(entry.path()).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(code) && !text.contains(key), "{:?}", entry.path());
    }
    let ended = server.end();
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""));
}

#[test]
fn every_answer_forbids_the_browser_what_the_page_does_not_need() {
    let world = world();
    let (server, client) = open(&world, &[]);
    let anonymous = Client { cookie: String::new(), origin: client.origin.clone(), port: client.port };
    let answers = [
        client.get("/"),
        client.get("/page.js"),
        client.get("/page.css"),
        client.get("/icon.svg"),
        client.get("/nothing"),
        anonymous.get("/"),
        anonymous.get("/open?code=x"),
        client.act(&[("command", "rm")]),
        client.post_with("/device", &format!("origin: {}\r\n", client.origin), &[("access", "full")]),
        request(server.port(), "DELETE", "/", &client.headers(), ""),
    ];
    assert_eq!(answers.each_ref().map(|answer| answer.status), [200, 200, 200, 200, 404, 401, 401, 400, 200, 405]);
    for answer in &answers {
        let policy = answer.header("content-security-policy").unwrap();
        for rule in
            ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"]
        {
            assert!(policy.contains(rule), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("cache-control", "no-store"),
            ("referrer-policy", "same-origin"),
            ("x-frame-options", "DENY"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{}", answer.head);
        }
    }
    assert_eq!(answers[9].header("allow"), Some("GET,HEAD"));
    let page = &answers[0].body;
    let inline = regex::Regex::new(r"<style|\sstyle=|\son[a-z]+=|javascript:").unwrap();
    assert!(!inline.is_match(page), "{page}");
    assert_eq!(page.matches("<script").count(), 1);
    assert!(!page.replace(&client.origin, "").contains("http://"), "{page}");
}

#[test]
fn page_and_worker_api_are_two_hosts_at_one_port() {
    let world = world();
    let (server, client) = open(&world, &[]);
    let port = server.port();
    let token = fs::read_to_string(runtime(&world).join("worker.token")).unwrap();
    let bearer = format!("authorization: Bearer {token}\r\n");
    // The token is none of the page's keys, and the page's key opens no route of the worker API.
    let host = client.headers().lines().next().unwrap().to_owned();
    assert_eq!(request(port, "GET", "/", &format!("{host}\r\n{bearer}"), "").status, 401);
    let local = format!("host: 127.0.0.1:{port}\r\ncookie: {}\r\n", client.cookie);
    assert_eq!(request(port, "GET", "/health", &local, "").status, 401);
    assert_eq!(client.get("/health").status, 404);
    // A name that its owner points to this machine is no host of the server.
    for evil in ["evil.example", &format!("evil.example:{port}"), &format!("x.localhost:{port}"), "127.0.0.1"] {
        let headers = format!("host: {evil}\r\ncookie: {}\r\n{bearer}", client.cookie);
        assert_eq!(request(port, "GET", "/", &headers, "").status, 403, "{evil}");
    }
    // The runtimes' token reads permission requests and answers none.
    let api = format!("host: 127.0.0.1:{port}\r\n{bearer}");
    assert_eq!(request(port, "GET", "/approvals", &api, "").status, 200);
    let id = add_approval(&world, "s1", "Bash", true);
    let answer = request(port, "POST", &format!("/approvals/{id}"), &api, r#"{"decision":"allow"}"#);
    assert_eq!(answer.code(), (403, "not_admitted".into()));
    assert_eq!(world.json(["approvals", "list"])[0]["status"], "pending");
}

#[test]
fn change_wants_full_access_and_the_pages_own_origin() {
    let world = world();
    let id = add_approval(&world, "s1", "Bash", true);
    let (_server, client) = open(&world, &[]);
    let item = format!("approval:{id}");
    let command = format!("fairway approvals answer {id} allow");
    let fields = [("item", item.as_str()), ("command", command.as_str())];
    let own = format!("origin: {}\r\n", client.origin);
    let port = client.port;
    for headers in [
        String::new(),
        "origin: null\r\n".to_owned(),
        format!("origin: http://127.0.0.1:{port}\r\n"),
        format!("origin: http://localhost:{port}\r\n"),
        "origin: http://evil.example\r\n".to_owned(),
        format!("{own}{own}"),
        format!("{own}sec-fetch-site: cross-site\r\n"),
        format!("{own}sec-fetch-site: same-site\r\n"),
        "sec-fetch-site: same-origin\r\n".to_owned(),
    ] {
        assert_eq!(client.post_with("/act", &headers, &fields).status, 403, "{headers}");
    }
    let no_form = request(port, "POST", "/act", &format!("{}{own}content-type: text/plain\r\n", client.headers()), "");
    assert_eq!(no_form.status, 400);
    assert_eq!(request(port, "GET", "/act", &client.headers(), "").status, 405);
    // Another device may only look, and nothing on its page changes anything.
    let device = client.post_with("/device", &own, &[("access", "read-only")]);
    let url = device.body.split("<code class=\"address\">").nth(1).unwrap().split('<').next().unwrap().to_owned();
    let reader = Client { cookie: String::new(), origin: client.origin.clone(), port };
    let opened = reader.get(&code_path(&url));
    let reader =
        Client { cookie: opened.header("set-cookie").unwrap().split(';').next().unwrap().to_owned(), ..reader };
    let page = reader.get("/");
    assert!(page.body.contains(&format!("<code>{command}</code>")), "{}", page.body);
    assert!(!page.body.contains("<form") && !page.body.contains("<button"), "{}", page.body);
    assert_eq!(reader.act(&fields).code(), (403, "not_admitted".into()));
    assert_eq!(reader.post_with("/device", &own, &[("access", "full")]).status, 403);
    assert_eq!(world.json(["approvals", "list"])[0]["status"], "pending");
    // A form works without the script too, and the answer is the person's.
    let done = client.post_with("/act", &own, &fields);
    assert!(done.status == 200 && done.body.contains("allowed Bash of s1"), "{}", done.body);
    let approval = &world.json(["approvals", "list", "--all"])[0];
    let person = format!("{}@{}", fairway::os::user::name(), fairway::os::host::name());
    assert_eq!((&approval["status"], &approval["answered_by"]), (&json!("allowed"), &json!(person)));
}

#[test]
fn items_are_settled_by_the_commands_that_the_board_names() {
    let world = world();
    add_lane(&world, "api", None, None);
    for (task, session) in [("T-1", "s1"), ("T-2", "s2")] {
        world.run(["task", "add", task, "Fix it"]).exits(0);
        world.run(["session", "upsert", "--id", session, "--role", "worker", "--lane", "api"]).exits(0);
        world.run(["--session", session, "claim", task]).exits(0);
    }
    let id = add_approval(&world, "s2", "Bash", true);
    world.run(["session", "end", "s1", "--status", "failed", "--reason", "gone"]).exits(0);
    let (_server, client) = open(&world, &[]);
    // The board names them, and the page shows the whole command with each.
    let board = world.json(["status"]);
    let page = client.get("/").body;
    for need in board["needs_you"].as_array().unwrap() {
        for next in need["commands"].as_array().unwrap() {
            assert!(page.contains(next["command"].as_str().unwrap()), "{next}: {page}");
        }
    }
    let release = "fairway release T-1 --force --reason TEXT";
    let fields = [("item", "dead:s1"), ("command", release), ("text", "it is dead")];
    assert_eq!(client.act(&fields).code(), (403, "not_confirmed".into()));
    let confirmed = [&fields[..], &[("confirm", "yes")]].concat();
    assert_eq!(client.act(&[confirmed[0], confirmed[1], confirmed[3]]).code(), (400, "usage".into()), "no reason");
    assert_eq!(client.act(&[confirmed[1], confirmed[2], confirmed[3]]).code(), (404, "not_found".into()), "no item");
    let done = client.act(&confirmed);
    assert_eq!((done.status, &done.json()["line"]), (200, &json!("released T-1: in_progress → todo")), "{}", done.body);
    assert_eq!(world.json(["task", "show", "T-1"])["status"], "todo");
    // Settled: the same form of a page that is not current releases nobody's claim.
    world.run(["--session", "s2", "claim", "T-1"]).exits(0);
    assert_eq!(client.act(&confirmed).code(), (404, "not_found".into()));
    // A refusal of the use case comes with its code and its hint.
    let item = format!("approval:{id}");
    let deny = format!("fairway approvals answer {id} deny");
    assert_eq!(client.act(&[("item", &item), ("command", &deny)]).status, 200);
    let prompt = "fairway prompt s2 TEXT";
    let sent = client.act(&[("command", prompt), ("text", "run <b>the tests\r\nnow")]);
    assert_eq!(sent.status, 200, "{}", sent.body);
    let outbox = world.json(["outbox", "list", "--to-session", "s2"]);
    assert_eq!((&outbox[0]["content"], &outbox[0]["source"]), (&json!("run <b>the tests\nnow"), &json!("nudge")));
    assert_eq!(client.act(&[("command", "fairway prompt nobody TEXT"), ("text", "x")]).code().0, 404);
    for other in ["fairway trust", "fairway session attach s2", "sh -c true", ""] {
        assert_eq!(
            client.act(&[("command", other), ("confirm", "yes")]).code(),
            (400, "invalid_value".into()),
            "{other}"
        );
    }
}

/// Texts that a browser must not take for markup, and what a person would not see.
const HOSTILE: &str = "\"'><script src=//evil>canary</script><img src=x onerror=canary()>&lt;\u{202e}\u{200b}";

#[test]
fn hostile_text_of_every_field_is_shown_as_text() {
    let world = world();
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    add_lane(&world, "api", None, None);
    for (session, lane) in [("s2", Some("api")), ("s3", None)] {
        add_session(&world, session, "worker", lane);
    }
    for (task, session) in [("T-1", "s2"), ("T-2", "s3"), ("T-3", "s2")] {
        world.run(["task", "add", task, "x"]).exits(0);
        world.run(["--session", session, "claim", task]).exits(0);
    }
    world
        .run(["--session", "s2", "checkpoint", "record", "T-1", "--state", "awaiting_input", "--summary", "x"])
        .exits(0);
    world.run(["--session", "s2", "task", "block", "T-3", "--reason", "x"]).exits(0);
    let id = add_approval(&world, "s3", "Bash", true);
    let text = format!("{HOSTILE}'");
    let input = json!({ "command": text, HOSTILE: { "deep": [text] } }).to_string();
    conn.execute("UPDATE approvals SET input = ?1, tool = ?2 WHERE id = ?3", (&input, HOSTILE, id)).unwrap();
    conn.execute("UPDATE tasks SET title = ?1", [HOSTILE]).unwrap();
    conn.execute("UPDATE tasks SET blocked_reason = ?1 WHERE id = 'T-3'", [HOSTILE]).unwrap();
    conn.execute("UPDATE agent_sessions SET waiting_for = ?1, activity = 'requires_action', activity_source = ?1, activity_at = started_at", [HOSTILE]).unwrap();
    conn.execute("UPDATE checkpoints SET summary = ?1", [HOSTILE]).unwrap();
    drop(conn);
    let (_server, client) = open(&world, &[]);
    let page = client.get("/").body;
    assert!(page.matches("&lt;img src=x onerror=canary()&gt;&amp;lt;\\u{202e}\\u{200b}").count() >= 10, "{page}");
    for live in ["<script src=//", "<img", "\u{202e}", "\u{200b}", "'><"] {
        assert!(!page.contains(live), "{live}: {page}");
    }
    let (_, parts) = client.events("").next();
    let events = parts.to_string();
    assert!(events.contains("&lt;img") && !events.contains("<img"), "{events}");
    // An answer names what it is about, as text.
    let done = client
        .act(&[("item", &format!("approval:{id}")), ("command", &format!("fairway approvals answer {id} allow"))]);
    assert_eq!(done.status, 200, "{}", done.body);
    // What a person has not seen whole is not allowed from the page.
    let long = add_approval(&world, "s3", "Bash", true);
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    let cut = json!({ "command": format!("{}…", "x".repeat(2_000)) }).to_string();
    conn.execute("UPDATE approvals SET input = ?1 WHERE id = ?2", (&cut, long)).unwrap();
    let page = client.get("/").body;
    assert!(page.contains("longer than what is stored"), "{page}");
    let button = |answer: &str| format!("name=\"command\" value=\"fairway approvals answer {long} {answer}\"");
    assert!(!page.contains(&button("allow")) && page.contains(&button("deny")), "{page}");
}

#[test]
fn stream_has_what_changed_and_goes_on_where_the_client_was() {
    let world = world();
    add_lane(&world, "quiet", None, None);
    let (_server, client) = open(&world, &[]);
    let page = client.get("/").body;
    let since = page.split("data-since=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let mut events = client.events(&since);
    world.run(["task", "add", "T-1", "Fix the total"]).exits(0);
    world.run(["--session", "s1", "claim", "T-1"]).exits(0);
    let seen = events.until("Fix the total");
    let (id, parts) = seen.last().unwrap();
    let names: Vec<&str> = parts.as_array().unwrap().iter().map(|part| part["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"sessions") && !names.contains(&"lanes") && !names.contains(&"jobs"), "{parts}");
    drop(events);
    // A client that was away gets what it missed, and one of another server gets everything.
    world.run(["--session", "s1", "task", "block", "T-1", "--reason", "no key"]).exits(0);
    let (_, missed) = client.events(id).until("no key").pop().unwrap();
    assert!(!missed.to_string().contains("\"lanes\""), "{missed}");
    let (_, whole) = client.events("00000000-7").next();
    assert_eq!(whole.as_array().unwrap().len(), 7, "{whole}");
    // A task that no part shows changes a number alone.
    let mut events = client.events("");
    let (_, before) = events.next();
    world.run(["task", "add", "T-2", "Later"]).exits(0);
    let (_, parts) = events.next();
    assert_eq!(parts[0]["name"], "counts", "{before} {parts}");
    assert_eq!(parts.as_array().unwrap().len(), 1, "{parts}");
}

#[test]
fn open_page_sees_a_death_and_costs_nothing_while_nothing_happens() {
    let world = world();
    add_lane(&world, "api", None, None);
    let launch =
        ["session", "launch", "--json", "--role", "dev", "--lane", "api", "--name", "d1", "--", "sleep", "300"];
    let launched = world.run(launch).exits(0).json();
    let pid = i32::try_from(launched["pid"].as_i64().unwrap()).unwrap();
    world.run(["task", "add", "T-1", "Fix the total"]).exits(0);
    world.run(["--session", "d1", "claim", "T-1"]).exits(0);
    let (server, client) = open(&world, &[]);
    let mut events = client.events("");
    events.until("Fix the total");
    let switches = || -> u64 {
        let threads = fs::read_dir(format!("/proc/{}/task", server.pid())).unwrap().flatten();
        let of = |path: PathBuf| fs::read_to_string(path.join("status")).unwrap_or_default();
        let count = |text: String| -> u64 {
            text.lines()
                .filter_map(|line| line.split_once("voluntary_ctxt_switches:"))
                .map(|(_, n)| n.trim().parse::<u64>().unwrap())
                .sum()
        };
        threads.map(|thread| count(of(thread.path()))).sum()
    };
    // Once nothing moves any more, no thread runs: nothing is polled.
    let mut last = switches();
    eventually("an idle server", || {
        thread::sleep(Duration::from_millis(300));
        let now = switches();
        (std::mem::replace(&mut last, now) == now).then_some(())
    });
    // A page counts as a person who watches.
    let is_watched = || SharedLock::is_locked(&runtime(&world).join("attended/approvals")).unwrap();
    assert!(is_watched(), "the page does not count");
    let start = Instant::now();
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    let seen = events.until("dead");
    // A second, and what a busy machine may take besides.
    assert!(!seen.is_empty() && start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    // The first item says who, why, since when and what to do.
    let page = client.get("/").body;
    let first = page.split("<li data-key").nth(1).unwrap();
    for part in [
        "dead",
        "d1",
        "T-1: process ",
        "Fix the total",
        "<time datetime=\"20",
        "fairway release T-1 --force --reason TEXT",
    ] {
        assert!(first.contains(part), "{part}: {first}");
    }
    drop(events);
    eventually("the end of the watch", || (!is_watched()).then_some(()));
}

#[test]
fn browser_that_reads_nothing_delays_nothing_else_and_is_current_once_it_reads() {
    let world = world();
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    conn.execute_batch(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
         INSERT INTO tasks (id, title, status, priority, created_at, updated_at, claimant, epoch, claimed_at, blocked_reason)
         SELECT 'B-' || i, 'blocked', 'blocked', 2, i, i, 'me', 1, i, 'why' FROM n;
         INSERT INTO claims (task_id, epoch, claimant, claimed_at) SELECT id, 1, 'me', 1 FROM tasks;",
    )
    .unwrap();
    let (server, client) = open(&world, &[]);
    let mut hung = client.events("");
    let (id, _) = hung.next();
    setsockopt(hung.lines.get_ref(), sockopt::RcvBuf, &8_192).unwrap();
    let mut vanished = client.events("");
    vanished.next();
    let mut other = client.events("");
    other.next();
    drop(vanished);
    let change = |text: &str, which: &str| {
        let update = format!("UPDATE tasks SET blocked_reason = ?1 WHERE status = 'blocked' AND id LIKE '{which}'");
        conn.execute(&update, [text]).unwrap();
        world.run(["session", "heartbeat", "s1"]).exits(0);
    };
    // More than a connection takes unread, and then small changes.
    change(&"long ".repeat(10_000), "%");
    other.until("long long");
    change("short", "%");
    other.until("short");
    let start = Instant::now();
    for number in 0..5 {
        let text = format!("round {number}.");
        change(&text, "B-1");
        other.until(&text);
    }
    assert_eq!(get(&world, "/health").0, 200);
    assert_eq!(client.get("/").status, 200);
    assert!(start.elapsed() < WAIT_TIMEOUT, "{:?}", start.elapsed());
    // The one that was away comes back, skips versions and misses nothing.
    drop(hung);
    let (_, parts) = client.events(&id).next();
    let parts = parts.to_string();
    assert!(parts.contains("round 4.") && parts.contains("short") && !parts.contains("round 3."), "{parts:.500}");
    assert_eq!(server.end().code, Some(0));
    discard_store(&world);
}

#[test]
fn browser_gets_the_address_as_an_argument() {
    let world = world();
    let file = world.dir().join("opened");
    let script = world.dir().join("browser");
    fs::write(
        &script,
        format!("#!/bin/sh\nprintf '%s\\n' \"$#\" \"$@\" >'{0}.part' && mv '{0}.part' '{0}'\n", file.display()),
    )
    .unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = world.fairway(["serve", "--open", "--read-only", "--json"]);
    let server = Server::of(command.env("BROWSER", format!("/no/such/browser:{} --new %s", script.display())));
    assert_eq!(server.at["open_url"], json!(null), "the address was given to the browser and is printed too");
    let said = eventually("the browser", || fs::read_to_string(&file).ok());
    let words: Vec<&str> = said.lines().collect();
    assert_eq!((words[0], words[1]), ("2", "--new"));
    let client = Client::with_url(&server, words[2]);
    assert!(client.get("/").body.contains("This browser may only look."));
}

#[test]
fn page_is_opened_by_a_person_and_in_the_network_only_on_request() {
    let world = world();
    let mut inside = world.fairway(["serve", "--open", "--json", "--for", "10ms"]);
    CommandOutput::from(inside.env("FAIRWAY_SESSION_ID", "s1").output().unwrap()).refuses(5, "inside_session");
    let refused = world.run(["serve", "--listen", "192.0.2.1:0", "--for", "10ms"]).exits(2);
    assert!(
        refused.stderr.contains("without encryption") && refused.stderr.contains("--unencrypted"),
        "{}",
        refused.stderr
    );
    // The address in the network has the page alone.
    let (server, client) = open(&world, &["--listen", "0.0.0.0", "--unencrypted"]);
    let listen = server.at["listen"].as_str().unwrap();
    let port: u16 = listen.rsplit(':').next().unwrap().parse().unwrap();
    let token = fs::read_to_string(runtime(&world).join("worker.token")).unwrap();
    let api = format!("host: 127.0.0.1:{port}\r\nauthorization: Bearer {token}\r\n");
    assert_eq!(request(port, "GET", "/health", &api, "").status, 404);
    assert_eq!(request(port, "GET", "/", &api, "").status, 401);
    assert_eq!(request(port, "GET", "/", &format!("host: evil.example:{port}\r\n"), "").status, 403);
    assert_eq!(request(port, "GET", "/", &client.headers(), "").status, 403);
    assert_eq!(request(port, "GET", "/page.css", &format!("host: 127.0.0.1:{port}\r\n"), "").status, 200);
}

#[test]
fn another_user_who_sees_the_code_does_not_get_in() {
    if !require::root() {
        return;
    }
    let world = world();
    let server = Server::start(&world, &["--http", "--open"]);
    let url = server.at["open_url"].as_str().unwrap();
    let host = url.split('/').nth(2).unwrap();
    let address = format!("http://127.0.0.1:{}{}", server.port(), code_path(url));
    let mut command = world.command("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "curl", "--silent", "--max-time", "20"]);
    command.args([
        "--header",
        &format!("host: {host}"),
        "--write-out",
        "%{http_code}",
        "--output",
        "/dev/null",
        &address,
    ]);
    let other = CommandOutput::from(command.output().unwrap());
    assert_eq!(other.exits(0).stdout, "401");
    // The person's own browser still does.
    assert_eq!(Client::new(&server).get("/").status, 200);
}
