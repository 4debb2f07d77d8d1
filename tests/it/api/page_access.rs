//! Access to the page: who gets in, and what an answer allows the browser.

use super::page_client::{Client, code_path, open, request};
use super::*;
use crate::common::fixtures::add_approval;
use crate::common::require;

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
    assert_eq!((opened.status, opened.header("location")), (303, Some("./")));
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
        client.get("/clock.js"),
        client.get("/tasks"),
        client.get("/review"),
        client.get("/usage"),
        client.get("/search"),
        client.get("/page.css"),
        anonymous.get("/icon.svg"),
        anonymous.get("/manifest.json"),
        client.get("/nothing"),
        anonymous.get("/"),
        anonymous.get("/open?code=x"),
        client.act(&[("command", "rm")]),
        client.post_with("/device", &format!("origin: {}\r\n", client.origin), &[("access", "full")]),
        request(server.port(), "DELETE", "/", &client.headers(), ""),
    ];
    assert_eq!(
        answers.each_ref().map(|answer| answer.status),
        [200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 404, 401, 401, 400, 200, 405]
    );
    for answer in &answers {
        // Addresses are relative: a proxy may show the page below a path of its own.
        assert!(!answer.body.contains("=\"/") && !answer.body.contains("\"/."), "{}", answer.body);
        let policy = answer.header("content-security-policy").unwrap();
        for rule in [
            "default-src 'none'", "script-src 'self'", "style-src 'self'", "manifest-src 'self'",
            "frame-ancestors 'none'", "base-uri 'none'",
        ] {
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
    assert_eq!(answers[15].header("allow"), Some("GET,HEAD"));
    // A phone puts it on its home screen; browsers ask for it without the cookie.
    assert_eq!(answers[9].json()["icons"][0]["src"], "icon.svg");
    let page = &answers[0].body;
    assert!(page.contains("<link rel=\"manifest\" href=\"manifest.json\">"), "{page}");
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
    // A target that is a whole address names the host, whatever the header says.
    let name = host.split_once(": ").unwrap().1;
    for (named, page, api) in [(name, 200, 403), ("evil.example", 403, 403), (&format!("127.0.0.1:{port}"), 403, 200)] {
        let target = |path: &str| format!("http://{named}{path}");
        assert_eq!(request(port, "GET", &target("/"), &client.headers(), "").status, page, "{named}");
        let headers = format!("host: 127.0.0.1:{port}\r\n{bearer}");
        assert_eq!(request(port, "GET", &target("/health"), &headers, "").status, api, "{named}");
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

/// Behind a proxy, which another user of this machine runs, the page has the address that `serve.hosts` names, and nothing else has.
#[test]
fn page_is_reached_through_a_proxy_by_its_named_host_alone() {
    let world = world();
    configure(&world, "[serve]\nhosts = [\"board.example.org\", \"http://10.1.2.3:8080/tools/board\"]");
    let server = Server::start(&world, &["--http", "--open"]);
    assert_eq!(server.at["listen_url"], "https://board.example.org");
    let links = world.json(["device", "pair"]);
    assert!(links["links"][0].as_str().unwrap().starts_with("https://board.example.org/pair?code="), "{links}");
    let code = links["code"].as_str().unwrap();
    let through = |host: &str, method: &str, path: &str, headers: &str, body: &str| {
        let headers = format!("host: {host}\r\naccept: text/html\r\n{headers}");
        request(server.port(), method, path, &headers, body)
    };
    // A code that other users can see in the arguments of a browser is for this machine alone.
    let once = code_path(server.at["open_url"].as_str().unwrap());
    assert_eq!(through("board.example.org", "GET", &once, "", "").status, 401);
    let own = "origin: https://board.example.org\r\ncontent-type: application/x-www-form-urlencoded\r\n";
    let wrong = own.replace("https", "http");
    let form = format!("code={code}&name=desk");
    assert_eq!(through("board.example.org", "POST", "/pair", &wrong, &form).status, 403);
    let paired = through("board.example.org", "POST", "/pair", own, &form);
    let cookie = paired.header("set-cookie").unwrap_or_else(|| panic!("{}", paired.body));
    assert!(cookie.contains("; Secure;"), "{cookie}");
    let key = format!("cookie: {}\r\n", cookie.split(';').next().unwrap());
    for host in ["board.example.org", "BOARD.example.org", "10.1.2.3:8080"] {
        assert_eq!(through(host, "GET", "/", &key, "").status, 200, "{host}");
    }
    assert_eq!(through("board.example.org", "GET", "/health", &key, "").status, 404);
    // A person who comes by another way reads why; a program gets JSON as before.
    let port = server.port();
    for host in ["evil.example.org", &format!("127.0.0.1:{port}")] {
        let page = through(host, "GET", "/", &key, "");
        assert_eq!((page.status, page.header("content-type")), (403, Some("text/html; charset=utf-8")), "{host}");
        assert!(page.body.contains("invalid Host header") && page.body.contains("serve.hosts"), "{}", page.body);
        let program = request(port, "GET", "/", &format!("host: {host}\r\n{key}"), "");
        assert_eq!(program.header("content-type"), Some("application/json"), "{host}");
    }
    let head = request(port, "HEAD", "/events", &format!("host: board.example.org\r\n{key}"), "");
    assert_eq!(head.header("x-accel-buffering"), Some("no"));
}
