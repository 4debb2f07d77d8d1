//! The least server: a blocking loop on one connection of a Unix socket, which reads a request and writes a fixed answer.
#![allow(clippy::unwrap_used, reason = "a measuring program")]

use std::env;
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;

const BODY: &str = r#"{"allowed":true,"granted":false,"opinion":true,"reason":"nothing forbids it","rule":null}"#;

fn main() {
    let listener = UnixListener::bind(env::args().nth(1).unwrap()).unwrap();
    let answer =
        format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{BODY}", BODY.len());
    for stream in listener.incoming() {
        let (mut stream, mut buffer, mut held) = (stream.unwrap(), [0; 4_096], 0);
        loop {
            let read = stream.read(&mut buffer[held..]).unwrap();
            if read == 0 {
                break;
            }
            held += read;
            let text = &buffer[..held];
            let Some(head) = text.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
            let length = String::from_utf8_lossy(&text[..head]).to_ascii_lowercase();
            let length =
                length.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next()?.parse().ok());
            if held >= head + 4 + length.unwrap_or(0) {
                stream.write_all(answer.as_bytes()).unwrap();
                held = 0;
            }
        }
    }
}
