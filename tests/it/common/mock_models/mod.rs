//! Models that run in the test: they speak enough of the three interfaces for the agents' command lines, do what a marker in
//! the newest text asks for, and keep what they were told.
//!
//! A text that holds `RUN[[a command]]` makes the model ask for that shell call, once for each marker, and `TOOL[[name {…}]]` for
//! a call of that tool of Fairway's own server with these arguments; a canary is obeyed, and everything else answered with a
//! counted line.

mod claude;
mod codex;
mod gemini;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// The end of a command that Codex is to run outside of its sandbox: a comment for the shell.
pub const ESCALATED: &str = " #escalated";

/// The command of a canary.
const CANARY: &str = "touch fairway-canary";

/// The usage that each answer of a model states: input, its cached part, and output.
pub const USED: (u64, u64, u64) = (1_000, 600, 20);

/// A text that holds this is answered late.
pub const SLOW: &str = "take your time";
/// A text that holds this is answered at once, whatever stands before it.
pub const AT_ONCE: &str = "at once";
const SLOW_ANSWER: Duration = Duration::from_secs(120);

/// A listening model. It goes with the test's process.
pub struct MockModels {
    address: String,
    heard: Arc<Mutex<Vec<ModelRequest>>>,
}

/// A request that an agent sent for its conversation.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The new texts in it: every one since the model's last word.
    pub new: Vec<String>,
    /// The whole of it, as text.
    pub whole: String,
}

impl ModelRequest {
    /// How often a text stands in the whole request.
    pub fn count(&self, text: &str) -> usize {
        self.whole.matches(text).count()
    }

    /// Whether a text is among what is new.
    pub fn has_new(&self, text: &str) -> bool {
        self.new.iter().any(|new| new.contains(text))
    }
}

impl MockModels {
    /// Listens on a free port of this machine alone.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let heard = Arc::new(Mutex::new(Vec::new()));
        let ears = Arc::clone(&heard);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let ears = Arc::clone(&ears);
                thread::spawn(move || serve(&stream, &ears));
            }
        });
        Self { address, heard }
    }

    /// Where they listen.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The conversation's requests so far.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.heard.lock().unwrap().clone()
    }

    /// How many of the conversation's requests were answered.
    pub fn answered(&self) -> u64 {
        self.heard.lock().unwrap().len() as u64
    }

    /// The answer to the request of this number, from 1, when nothing is to be run.
    pub fn answer(number: usize) -> String {
        format!("the mock has heard text {number}")
    }
}

/// A request in the words that the three interfaces share.
struct ParsedRequest {
    /// Whether the agent's conversation goes on with it; the others are the command line's own questions, a title for example.
    conversation: bool,
    /// The texts so far, in their order, and whether the model said them.
    said: Vec<(bool, Vec<String>)>,
}

impl ParsedRequest {
    fn new_texts(&self) -> Vec<String> {
        let after = self.said.iter().rposition(|(by_model, _)| *by_model).map_or(0, |at| at + 1);
        self.said[after..].iter().flat_map(|(_, texts)| texts.clone()).collect()
    }
}

/// The answer of a model.
struct Answer {
    number: usize,
    text: String,
    commands: Vec<String>,
    tools: Vec<ToolCall>,
}

/// A call of a tool of Fairway's own server.
struct ToolCall {
    name: String,
    arguments: Value,
}

impl Answer {
    /// Whether the model asks for a call.
    fn calls(&self) -> bool {
        !self.commands.is_empty() || !self.tools.is_empty()
    }
}

/// Every text in a value.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// The commands that the markers in texts ask for.
fn commands(texts: &[String]) -> Vec<String> {
    let marked = texts.iter().flat_map(|text| text.split("RUN[[").skip(1));
    let is_canary = texts.iter().any(|text| text.contains(&format!("`{CANARY}`")));
    let canary = is_canary.then(|| CANARY.to_owned());
    marked.filter_map(|rest| Some(rest.split_once("]]")?.0.to_owned())).chain(canary).collect()
}

/// The calls of tools that markers in texts ask for.
fn tools(texts: &[String]) -> Vec<ToolCall> {
    let marked = texts.iter().flat_map(|text| text.split("TOOL[[").skip(1));
    let call = |rest: &str| {
        let (name, arguments) = rest.split_once("]]")?.0.split_once(' ')?;
        Some(ToolCall { name: name.to_owned(), arguments: serde_json::from_str(arguments).unwrap() })
    };
    marked.filter_map(call).collect()
}

/// Events as a server sends them.
fn stream(events: &[Value]) -> String {
    let name = |event: &Value| event["type"].as_str().map(|name| format!("event: {name}\n")).unwrap_or_default();
    events.iter().map(|event| format!("{}data: {event}\n\n", name(event))).collect()
}

/// Answers the requests of one connection.
fn serve(stream: &TcpStream, heard: &Mutex<Vec<ModelRequest>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first).ok()? == 0 {
            return None;
        }
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.split_once(':') else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let request: Value = serde_json::from_slice(&body).unwrap_or_default();
        let path = first.split_whitespace().nth(1).unwrap_or_default();
        let (status, kind, answer) = match answer(path, &request, heard) {
            Some((kind, answer)) => ("200 OK", kind, answer),
            None => ("404 Not Found", "application/json", "{}".to_owned()),
        };
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n", answer.len());
        let mut stream = stream;
        stream.write_all((head + &answer).as_bytes()).ok()?;
    }
}

/// The answer to a request, and of what kind it is; `None` where nothing is.
fn answer(path: &str, request: &Value, heard: &Mutex<Vec<ModelRequest>>) -> Option<(&'static str, String)> {
    let (asked, write): (ParsedRequest, fn(&Value, &Answer) -> Value) = match path {
        _ if path.starts_with("/v1/messages/count_tokens") => {
            return Some(("application/json", r#"{"input_tokens":10}"#.to_owned()));
        }
        _ if path.starts_with("/v1/messages") => (claude::asked(request), claude::events),
        _ if path.starts_with("/v1/responses") => (codex::asked(request), codex::events),
        _ if path.contains("enerateContent") => (gemini::asked(request), gemini::events),
        _ => return None,
    };
    let new = asked.new_texts();
    let (commands, tools) = if asked.conversation { (commands(&new), tools(&new)) } else { (Vec::new(), Vec::new()) };
    let has = |word: &str| new.iter().any(|text| text.contains(word));
    let is_slow = asked.conversation && has(SLOW) && !has(AT_ONCE);
    let number = {
        let mut heard = heard.lock().unwrap();
        if asked.conversation {
            heard.push(ModelRequest { new, whole: request.to_string() });
        }
        heard.len()
    };
    if is_slow {
        thread::sleep(SLOW_ANSWER);
    }
    let answer = Answer { number, text: MockModels::answer(number), commands, tools };
    let events = write(request, &answer);
    let streams = request["stream"] == true || path.contains("streamGenerateContent");
    let events = events.as_array().unwrap();
    Some(if streams {
        ("text/event-stream", stream(events))
    } else if path.starts_with("/v1/messages") {
        ("application/json", claude::whole(request, &answer).to_string())
    } else {
        ("application/json", events.last().unwrap().to_string())
    })
}
