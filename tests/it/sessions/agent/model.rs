//! A model that runs in the test: it speaks enough of the messages interface for an agent's command line, answers each text
//! with a counted line, and keeps what it was told.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::{Value, json};

/// A listening model. It goes with the test's process.
pub struct Model {
    address: String,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Model {
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

    /// Where it listens.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The last text of the user in every request so far.
    pub fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    /// What it answers to the text of this number, from 1.
    pub fn answer(number: usize) -> String {
        format!("the mock has heard text {number}")
    }
}

/// Answers the requests of one connection.
fn serve(stream: &TcpStream, heard: &Mutex<Vec<String>>) -> Option<()> {
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
        let is_message = first.starts_with("POST /v1/messages") && !first.contains("count_tokens");
        let (status, kind, answer) = if is_message {
            let mut heard = heard.lock().unwrap();
            heard.push(last_text(&request));
            let text = Model::answer(heard.len());
            if request["stream"] == true {
                ("200 OK", "text/event-stream", events(&request["model"], &text))
            } else {
                ("200 OK", "application/json", message(&request["model"], Some(&text)).to_string())
            }
        } else {
            ("404 Not Found", "application/json", "{}".to_owned())
        };
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n", answer.len());
        let mut stream = stream;
        stream.write_all((head + &answer).as_bytes()).ok()?;
    }
}

/// What the user said last, without what the command line adds by itself.
fn last_text(request: &Value) -> String {
    let said = request["messages"].as_array().into_iter().flatten().filter(|message| message["role"] == "user");
    let parts = |content: &Value| match content {
        Value::String(text) => vec![text.clone()],
        other => {
            other.as_array().into_iter().flatten().filter_map(|part| Some(part["text"].as_str()?.to_owned())).collect()
        }
    };
    let mut texts = said.flat_map(|message| parts(&message["content"]));
    texts.rfind(|text| !text.trim_start().starts_with("<system-reminder>")).unwrap_or_default()
}

fn message(model: &Value, text: Option<&str>) -> Value {
    let content: Vec<Value> = text.iter().map(|text| json!({ "type": "text", "text": text })).collect();
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": content,
        "stop_reason": text.map(|_| "end_turn"), "stop_sequence": null,
        "usage": { "input_tokens": 10, "output_tokens": 5 },
    })
}

fn events(model: &Value, text: &str) -> String {
    let events = [
        json!({ "type": "message_start", "message": message(model, None) }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": text } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({
            "type": "message_delta", "delta": { "stop_reason": "end_turn", "stop_sequence": null },
            "usage": { "output_tokens": 5 },
        }),
        json!({ "type": "message_stop" }),
    ];
    let name = |event: &Value| event["type"].as_str().unwrap_or_default().to_owned();
    events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", name(event))).collect()
}
