//! A headless Chromium, driven by chromedriver's HTTP protocol.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::TestProject;

/// The key by which the protocol names an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";
const TIMEOUT: Duration = Duration::from_secs(60);

/// Keys as the protocol writes them.
pub const TAB: &str = "\u{e004}";
pub const ENTER: &str = "\u{e007}";
pub const SHIFT: &str = "\u{e008}";

/// A browser, which ends with this value.
pub struct Chromium {
    driver: Child,
    port: u16,
    session: String,
}

impl Chromium {
    /// Starts a browser with a profile of its own in the world's directory.
    pub fn start(world: &TestProject) -> Self {
        Self::start_with(world, &[])
    }

    /// As [`Chromium::start`], with further flags.
    pub fn start_with(world: &TestProject, flags: &[&str]) -> Self {
        let mut command = world.command("chromedriver");
        let mut driver = command.arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines
            .map_while(Result::ok)
            .find_map(|line| line.rsplit_once("successfully on port ")?.1.trim_end_matches('.').parse().ok())
            .expect("chromedriver says no port");
        let profile = format!("--user-data-dir={}", world.dir().join("chromium").display());
        let args = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            &profile,
        ];
        let args = [&args[..], flags].concat();
        let options = json!({ "args": args });
        let wanted = json!({ "browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": { "browser": "ALL" } });
        let mut browser = Self { driver, port, session: String::new() };
        let started = browser.call("POST", "/session", &json!({ "capabilities": { "alwaysMatch": wanted } }));
        browser.session = format!("/session/{}", started["sessionId"].as_str().unwrap());
        browser
    }

    /// Calls the driver; the value of its answer.
    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let body = if method == "GET" { String::new() } else { body.to_string() };
        let path = format!("{}{path}", self.session);
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nconnection: close\r\ncontent-length: {}\r\n",
            self.port,
            body.len()
        );
        stream.write_all(format!("{head}content-type: application/json\r\n\r\n{body}").as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(reader.read_line(&mut line).unwrap() > 0, "{method} {path}: no answer");
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.trim_end().is_empty() {
                break;
            }
        }
        let mut bytes = vec![0; length];
        reader.read_exact(&mut bytes).unwrap();
        let answer: Value = serde_json::from_slice(&bytes).unwrap();
        assert!(answer["value"]["error"].is_null(), "{method} {path} {body}: {answer}");
        answer["value"].clone()
    }

    /// Goes to a URL.
    pub fn open(&self, url: &str) {
        self.call("POST", "/url", &json!({ "url": url }));
    }

    /// The URL that the browser shows.
    pub fn url(&self) -> String {
        self.call("GET", "/url", &Value::Null).as_str().unwrap().to_owned()
    }

    /// Sets the size of the page, as that of a phone.
    pub fn resize(&self, width: u32, height: u32) {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": true });
        let command = json!({ "cmd": "Emulation.setDeviceMetricsOverride", "params": metrics });
        self.call("POST", "/goog/cdp/execute", &command);
    }

    /// Sets the theme that the person's system has.
    pub fn set_dark(&self, is_dark: bool) {
        let value = if is_dark { "dark" } else { "light" };
        let params = json!({ "features": [{ "name": "prefers-color-scheme", "value": value }] });
        self.call("POST", "/goog/cdp/execute", &json!({ "cmd": "Emulation.setEmulatedMedia", "params": params }));
    }

    /// The value of a JavaScript function's body.
    pub fn run(&self, script: &str) -> Value {
        self.call("POST", "/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Presses keys, one after another.
    pub fn press(&self, keys: &str) {
        let mut actions: Vec<Value> = Vec::new();
        let mut held = Vec::new();
        for key in keys.chars().map(String::from) {
            actions.push(json!({ "type": "keyDown", "value": key }));
            if key == SHIFT { held.push(key) } else { actions.push(json!({ "type": "keyUp", "value": key })) }
        }
        actions.extend(held.iter().map(|key| json!({ "type": "keyUp", "value": key })));
        self.call("POST", "/actions", &json!({ "actions": [{ "type": "key", "id": "keys", "actions": actions }] }));
    }

    /// Clicks the element of a CSS selector.
    pub fn click(&self, selector: &str) {
        let found = self.call("POST", "/element", &json!({ "using": "css selector", "value": selector }));
        self.call("POST", &format!("/element/{}/click", found[ELEMENT].as_str().unwrap()), &json!({}));
    }

    /// The messages of the browser's console since the last call, violations of the policy among them.
    pub fn log(&self) -> Vec<String> {
        let log = self.call("POST", "/se/log", &json!({ "type": "browser" }));
        log.as_array().unwrap().iter().map(|entry| entry["message"].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        if !self.session.is_empty() && !std::thread::panicking() {
            self.call("DELETE", "", &json!({}));
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
