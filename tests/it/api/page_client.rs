//! A client of the page that speaks HTTP over a plain connection, and a reader of its stream.

use super::*;

/// A client of the page.
pub(crate) struct Client {
    pub(crate) port: u16,
    pub(crate) origin: String,
    /// The name and value of its cookie.
    pub(crate) cookie: String,
}

pub(crate) struct Page {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Page {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")))
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The code of a refusal.
    pub(crate) fn code(&self) -> (u16, String) {
        (self.status, self.json()["error"]["code"].as_str().unwrap().to_owned())
    }
}

pub(crate) fn request(port: u16, method: &str, path: &str, headers: &str, body: &str) -> Page {
    let length = body.len();
    let text =
        format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}");
    let answer = said(local(port), text.as_bytes());
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text}: {answer}"));
    Page { status: head[9..12].parse().unwrap(), head: head.to_owned(), body: body.to_owned() }
}

/// The path with the code of an address that can be opened once.
pub(crate) fn code_path(url: &str) -> String {
    format!("/{}", url.splitn(4, '/').nth(3).unwrap())
}

impl Client {
    pub(crate) fn new(server: &Server) -> Self {
        Self::with_url(server, server.at["open_url"].as_str().unwrap())
    }

    pub(crate) fn with_url(server: &Server, url: &str) -> Self {
        let origin = server.at["page"].as_str().unwrap().to_owned();
        let mut client = Self { port: server.port(), origin, cookie: String::new() };
        let opened = client.get(&code_path(url));
        assert_eq!((opened.status, opened.header("location")), (303, Some("./")), "{}", opened.body);
        opened.header("set-cookie").unwrap().split(';').next().unwrap().clone_into(&mut client.cookie);
        client
    }

    /// A further browser, paired by a code that the page of this one makes.
    pub(crate) fn pair(&self, access: &str) -> Self {
        let own = format!("origin: {}\r\n", self.origin);
        let page = self.post_with("/device", &own, &[("access", access)]);
        let link = page.body.split("<code class=\"address\">").nth(1).unwrap().split('<').next().unwrap().to_owned();
        let code = link.split_once("code=").unwrap().1;
        let other = Self { port: self.port, origin: self.origin.clone(), cookie: String::new() };
        let paired = other.post_with("/pair", &own, &[("code", code)]);
        let cookie = paired.header("set-cookie").unwrap_or_else(|| panic!("{}", paired.body));
        Self { cookie: cookie.split(';').next().unwrap().to_owned(), ..other }
    }

    pub(crate) fn headers(&self) -> String {
        let host = self.origin.strip_prefix("http://").unwrap();
        let cookie = if self.cookie.is_empty() { String::new() } else { format!("cookie: a=b; {}\r\n", self.cookie) };
        format!("host: {host}\r\n{cookie}")
    }

    pub(crate) fn get(&self, path: &str) -> Page {
        request(self.port, "GET", path, &self.headers(), "")
    }

    pub(crate) fn post_with(&self, path: &str, headers: &str, fields: &[(&str, &str)]) -> Page {
        let body: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let form = "content-type: application/x-www-form-urlencoded\r\n";
        request(self.port, "POST", path, &format!("{}{form}{headers}", self.headers()), &body.join("&"))
    }

    /// Sends a form as the page's script does.
    pub(crate) fn act(&self, fields: &[(&str, &str)]) -> Page {
        let own = format!("origin: {}\r\nsec-fetch-site: same-origin\r\naccept: application/json\r\n", self.origin);
        self.post_with("/act", &own, fields)
    }

    /// The stream of changes from a version on.
    pub(crate) fn events(&self, since: &str) -> Events {
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

pub(crate) fn encoded(value: &str) -> String {
    value.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

/// A reader of the page's stream.
pub(crate) struct Events {
    pub(crate) lines: BufReader<TcpStream>,
}

impl Events {
    /// The id and the parts of the next change.
    pub(crate) fn next(&mut self) -> (String, Value) {
        let mut id = String::new();
        let mut is_board = false;
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "the stream has ended");
            if let Some(text) = line.strip_prefix("id: ") {
                text.trim_end().clone_into(&mut id);
            } else if let Some(kind) = line.strip_prefix("event: ") {
                is_board = kind.trim_end() == "board";
            } else if let Some(data) = line.strip_prefix("data: ").filter(|_| is_board) {
                return (id, serde_json::from_str::<Value>(data).unwrap()["parts"].clone());
            }
        }
    }

    /// The next beat.
    pub(crate) fn beat(&mut self) -> Value {
        let mut is_beat = false;
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "the stream has ended");
            if let Some(kind) = line.strip_prefix("event: ") {
                is_beat = kind.trim_end() == "beat";
            } else if let Some(data) = line.strip_prefix("data: ").filter(|_| is_beat) {
                return serde_json::from_str(data).unwrap();
            }
        }
    }

    /// The changes until one contains this text; all of them.
    pub(crate) fn until(&mut self, text: &str) -> Vec<(String, Value)> {
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
pub(crate) fn open(world: &TestProject, args: &[&str]) -> (Server, Client) {
    let server = Server::start(world, &[&["--http", "--open"], args].concat());
    let client = Client::new(&server);
    (server, client)
}
