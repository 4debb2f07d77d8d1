//! Paired devices, as attackers meet them: by raw HTTP, over restarts of the server.

use super::page_client::{Client, Events, Page, code_path, open, request};
use super::*;
use crate::common::fixtures::add_approval;
use crate::common::require;

/// A server at a port of 127.0.0.1, and a browser that knows nothing.
fn serve(world: &TestProject, args: &[&str]) -> (Server, Client) {
    let server = Server::start(world, &[&["--http"], args].concat());
    let origin = server.at["page"].as_str().unwrap().to_owned();
    let client = Client { port: server.port(), origin, cookie: String::new() };
    (server, client)
}

/// Makes a code: the path of its link and the typed code.
fn new_code(world: &TestProject, args: &[&str]) -> (String, String) {
    let pairing = world.json([&["device", "pair"], args].concat());
    let link = pairing["links"][0].as_str().unwrap();
    (code_path(link), pairing["code"].as_str().unwrap().to_owned())
}

fn own(client: &Client) -> String {
    format!("origin: {}\r\nsec-fetch-site: same-origin\r\n", client.origin)
}

fn post_code(client: &Client, code: &str, name: &str) -> Page {
    client.post_with("/pair", &own(client), &[("code", code), ("name", name)])
}

/// The browser after it was paired.
fn paired(client: &Client, code: &str, name: &str) -> Client {
    let answer = post_code(client, code, name);
    assert_eq!((answer.status, answer.header("location")), (303, Some("./")), "{}", answer.body);
    let cookie = answer.header("set-cookie").unwrap();
    Client { cookie: cookie.split(';').next().unwrap().to_owned(), origin: client.origin.clone(), port: client.port }
}

fn code_of(path: &str) -> &str {
    path.split_once("code=").unwrap().1
}

fn file(world: &TestProject) -> PathBuf {
    world.root().join(".fairway/devices.json")
}

fn names(world: &TestProject) -> Vec<String> {
    let listed = world.json(["device", "list"]);
    listed.as_array().unwrap().iter().map(|device| device["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn browser_is_paired_once_and_stays_paired_when_the_server_is_started_again() {
    let world = world();
    world.run(["device", "pair", "--json"]).refuses(3, "no_page_server");
    let (server, client) = serve(&world, &[]);
    let inside = { world.fairway(["device", "pair", "--json"]) }.env("FAIRWAY_SESSION_ID", "s1").output().unwrap();
    CommandOutput::from(inside).refuses(5, "inside_session");
    let (path, code) = new_code(&world, &["--expires", "30d"]);
    // The link shows a form and uses nothing up; only the page's own form does.
    for headers in [client.headers(), format!("{}sec-purpose: prefetch\r\n", client.headers())] {
        let form = request(client.port, "GET", &path, &headers, "");
        assert_eq!((form.status, form.header("set-cookie")), (200, None));
        assert!(form.body.contains("<form method=\"post\" action=\"pair\">"), "{}", form.body);
    }
    for headers in [
        "",
        "origin: null\r\n",
        "origin: http://evil.example\r\n",
        &format!("origin: http://localhost:{}\r\n", client.port),
    ] {
        assert_eq!(client.post_with("/pair", headers, &[("code", &code)]).status, 403, "{headers}");
    }
    assert_eq!(post_code(&client, "0000-0000", "").status, 403);
    assert_eq!(post_code(&client, &code, "no name!").status, 400);
    let answer = post_code(&client, &code.to_lowercase().replace('-', " "), "phone");
    let cookie = answer.header("set-cookie").unwrap_or_else(|| panic!("{}", answer.body)).to_owned();
    let (_, attributes) = cookie.split_once("; Max-Age=").unwrap();
    let (age, attributes) = attributes.split_once("; ").unwrap();
    assert!((2_590_000..=2_592_000).contains(&age.parse::<u32>().unwrap()), "{cookie}");
    assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Strict");
    let phone = Client { cookie: cookie.split(';').next().unwrap().to_owned(), ..client };
    assert_eq!(phone.get("/").status, 200);
    // Both codes are used up together, and no secret is kept.
    for again in [code.as_str(), code_of(&path)] {
        assert_eq!(post_code(&phone, again, "").status, 403);
    }
    let kept = fs::read_to_string(file(&world)).unwrap();
    let key = phone.cookie.split_once('=').unwrap().1;
    for secret in [key, code.as_str(), &code.replace('-', ""), code_of(&path)] {
        assert!(!kept.contains(secret), "{secret} in {kept}");
    }
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&fs::metadata(file(&world)).unwrap()) & 0o777, 0o600);
    let ended = server.end();
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""));
    // At another port the page has the host of before, and takes the key.
    let (server, again) = serve(&world, &[]);
    let host = |client: &Client| client.origin.rsplit_once(':').unwrap().0.to_owned();
    assert_eq!(host(&again), host(&phone));
    let phone = Client { cookie: phone.cookie, ..again };
    assert_eq!(phone.get("/").status, 200);
    let listed = &world.json(["device", "list"])[0];
    assert_eq!(
        (&listed["name"], &listed["access"], &listed["way"]),
        (&json!("phone"), &json!("full"), &json!("local"))
    );
    // The worker API does not know it, and a server of a session does not take it.
    let api = format!("host: 127.0.0.1:{}\r\ncookie: {}\r\n", phone.port, phone.cookie);
    assert_eq!(request(phone.port, "GET", "/health", &api, "").status, 401);
    if require::root() {
        let mut other = world.command("setpriv");
        other.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "curl", "--silent", "--max-time", "20"]);
        let address = format!("http://127.0.0.1:{}/", phone.port);
        other.args(["--header", &format!("cookie: {}", phone.cookie), "--header"]);
        other.arg(format!("host: {}", phone.origin.strip_prefix("http://").unwrap()));
        other.args(["--write-out", "%{http_code}", "--output", "/dev/null", &address]);
        assert_eq!(CommandOutput::from(other.output().unwrap()).exits(0).stdout, "401", "another user has the key");
    }
    assert_eq!(server.end().code, Some(0));
    let mut command = world.fairway(["serve", "--json", "--http"]);
    let server = Server::of(command.env("FAIRWAY_SESSION_ID", "s1"));
    let origin = server.at["page"].as_str().unwrap().to_owned();
    assert_ne!(host(&Client { port: 0, origin: origin.clone(), cookie: String::new() }), host(&phone));
    assert_eq!(Client { port: server.port(), origin, cookie: phone.cookie }.get("/").status, 401);
}

#[test]
fn wrong_codes_are_bounded_and_the_link_is_not() {
    let world = world();
    let (_server, client) = serve(&world, &[]);
    let (path, code) = new_code(&world, &["--read-only"]);
    for _ in 0..5 {
        assert_eq!(post_code(&client, "ZZZZ-ZZZZ", "").status, 403);
    }
    assert_eq!(post_code(&client, &code, "").status, 403);
    let tablet = paired(&client, code_of(&path), "tablet");
    let page = tablet.get("/");
    assert!(page.body.contains("This browser may only look."), "{}", page.body);
    assert!(!page.body.contains("method=\"post\"") && !page.body.contains("<button"), "{}", page.body);
    // It changes nothing, whatever it sends.
    let id = add_approval(&world, "s1", "Bash", true);
    let command = format!("fairway approvals answer {id} allow");
    assert_eq!(tablet.act(&[("command", &command)]).code(), (403, "not_admitted".into()));
    assert_eq!(tablet.post_with("/device", &own(&tablet), &[("access", "full")]).status, 403);
    assert_eq!(world.json(["approvals", "list"])[0]["status"], "pending");
}

#[test]
fn revoked_and_expired_devices_are_refused_and_their_streams_end() {
    let world = world();
    let (_server, client) = serve(&world, &[]);
    let (path, _) = new_code(&world, &["--name", "phone"]);
    let phone = paired(&client, code_of(&path), "");
    // A device that it pairs ends with it.
    let page = phone.post_with("/device", &own(&phone), &[("access", "read-only"), ("name", "tablet")]);
    assert!(page.body.contains("Other devices cannot open this address"), "{}", page.body);
    let link = page.body.split("<code class=\"address\">").nth(1).unwrap().split('<').next().unwrap();
    let tablet = paired(&client, code_of(link), "");
    let (path, _) = new_code(&world, &["--name", "other"]);
    let other = paired(&client, code_of(&path), "");
    assert_eq!(names(&world), ["phone", "tablet", "other"]);
    let mut streams = [phone.events(""), tablet.events(""), other.events("")];
    for stream in &mut streams {
        stream.next();
    }
    let ends = |stream: &mut Events| {
        // The last chunk is an empty one.
        let is_last = |line: std::io::Result<String>| line.unwrap().trim_end() == "0";
        assert!(stream.lines.by_ref().lines().any(is_last), "the stream goes on");
    };
    let listed = other.get("/devices").body;
    assert!(listed.contains(">tablet</h2>") && listed.contains(">other (this browser)</h2>"), "{listed}");
    assert!(listed.contains("<header><nav aria-label=\"pages\"><a href=\"./\">board</a>"), "{listed}");
    assert_eq!(tablet.get("/devices").status, 403);
    assert_eq!(tablet.post_with("/devices", &own(&tablet), &[("revoke", "phone")]).status, 403);
    assert_eq!(other.post_with("/devices", "", &[("revoke", "phone")]).status, 403);
    let revoked = other.post_with("/devices", &own(&other), &[("revoke", "phone")]).body;
    assert!(revoked.contains("revoked phone, and 1 device that were paired from it: tablet"), "{revoked}");
    let [of_phone, of_tablet, of_other] = &mut streams;
    for (stream, gone) in [(of_phone, &phone), (of_tablet, &tablet)] {
        ends(stream);
        assert_eq!((gone.get("/").status, gone.get("/events").status), (401, 401));
    }
    // The other one still hears what changes, until its time is over.
    world.run(["task", "add", "N-1", "title"]).exits(0);
    of_other.until("counts");
    let text = fs::read_to_string(file(&world)).unwrap();
    let mut content: Value = serde_json::from_str(&text).unwrap();
    content["devices"][0]["expires_at"] = json!(1);
    let draft = file(&world).with_file_name("draft");
    fs::write(&draft, content.to_string()).unwrap();
    fs::set_permissions(&draft, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    fs::rename(&draft, file(&world)).unwrap();
    ends(of_other);
    assert_eq!(other.get("/").status, 401);
    assert_eq!(names(&world), Vec::<String>::new());
    world.run(["device", "revoke", "phone", "--json"]).refuses(3, "not_found");
}

#[test]
fn page_in_the_network_speaks_https_and_its_certificate_has_the_printed_fingerprint() {
    if !require::program("curl") || !require::program("openssl") {
        return;
    }
    let world = world();
    let (server, _) = open(&world, &["--listen", "0.0.0.0"]);
    let listen = server.at["listen"].as_str().unwrap();
    let port: u16 = listen.rsplit(':').next().unwrap().parse().unwrap();
    let fingerprint = server.at["fingerprint"].as_str().unwrap().to_owned();
    let origin = format!("https://127.0.0.1:{port}");
    let file = world.root().join(".fairway/page-certificate.json");
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&fs::metadata(&file).unwrap()) & 0o777, 0o600);
    let mut openssl = world.command("sh");
    let script = format!(
        "openssl s_client -connect 127.0.0.1:{port} </dev/null 2>/dev/null | openssl x509 -noout -fingerprint -sha256"
    );
    let shown = CommandOutput::from(openssl.args(["-c", &script]).output().unwrap()).exits(0).stdout;
    assert!(shown.trim_end().ends_with(&format!("={fingerprint}")), "{shown} {fingerprint}");
    let curl = |args: &[&str], path: &str| {
        let mut command = world.command("curl");
        command.args(["--silent", "--insecure", "--max-time", "20", "--include"]).args(args);
        let answer = CommandOutput::from(command.arg(format!("{origin}{path}")).output().unwrap()).exits(0).stdout;
        let status: u16 = answer[9..12].parse().unwrap();
        (status, answer)
    };
    let (path, code) = new_code(&world, &[]);
    let (form, origin_header) = (format!("code={code}&name=phone"), format!("origin: {origin}"));
    assert_eq!(curl(&[], &path).0, 200);
    let plain = format!("origin: http://127.0.0.1:{port}");
    assert_eq!(curl(&["--header", &plain, "--data", &form], "/pair").0, 403);
    let (status, answer) = curl(&["--header", &origin_header, "--data", &form], "/pair");
    assert_eq!(status, 303, "{answer}");
    let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    assert!(cookie.contains("; Secure; HttpOnly; SameSite=Strict"), "{cookie}");
    let cookie = format!("cookie: {}", cookie.split(';').next().unwrap());
    assert_eq!(curl(&["--header", &cookie], "/").0, 200);
    // The worker API is not there, a wrong host is refused, and the key is none at the address of this machine.
    assert_eq!(curl(&["--header", &cookie], "/health").0, 404);
    assert_eq!(curl(&["--header", &cookie, "--header", &format!("host: evil.example:{port}")], "/").0, 403);
    let host = server.at["page"].as_str().unwrap().strip_prefix("http://").unwrap();
    assert_eq!(request(server.port(), "GET", "/", &format!("host: {host}\r\n{cookie}\r\n"), "").status, 401);
    // A client without TLS is told, and a silent one is dropped by the limits of every connection.
    let plain = said(local(port), format!("GET / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n").as_bytes());
    assert!(
        plain.starts_with("HTTP/1.1 400") && plain.ends_with("this address speaks HTTPS: use https://\n"),
        "{plain}"
    );
    // The certificate stays.
    assert_eq!(server.end().code, Some(0));
    let (server, _) = open(&world, &["--listen", "0.0.0.0"]);
    assert_eq!(server.at["fingerprint"], json!(fingerprint));
}
