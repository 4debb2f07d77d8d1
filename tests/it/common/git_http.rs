//! A remote over HTTP: git's own program behind a small server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// Serves the repositories in a directory to everybody who connects, for fetches and pushes, as long as the test runs.
pub fn serve(listener: TcpListener, dir: &Path) {
    let dir = dir.to_owned();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, dir) = (stream.unwrap(), dir.clone());
            // A client that goes away is no failure of the test.
            thread::spawn(move || answer(&stream, &dir));
        }
    });
}

fn answer(stream: &TcpStream, dir: &PathBuf) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?, words.next()?);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut git = Command::new("git");
    git.arg("http-backend").env_clear().env("PATH", std::env::var_os("PATH")?);
    git.env("GIT_PROJECT_ROOT", dir).env("GIT_HTTP_EXPORT_ALL", "1").env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", dir);
    git.env("REQUEST_METHOD", method).env("PATH_INFO", path).env("QUERY_STRING", query).env("REMOTE_USER", "ann");
    let (mut length, mut is_chunked, mut waits) = (0, false, false);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().ok()?,
            "transfer-encoding" => is_chunked = value == "chunked",
            "expect" => waits = true,
            "content-type" => drop(git.env("CONTENT_TYPE", value)),
            "content-encoding" => drop(git.env("HTTP_CONTENT_ENCODING", value)),
            "git-protocol" => drop(git.env("HTTP_GIT_PROTOCOL", value)),
            _ => {}
        }
    }
    let mut out = stream;
    if waits {
        out.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?;
    }
    let mut body = vec![0; length];
    if is_chunked {
        loop {
            let mut size = String::new();
            reader.read_line(&mut size).ok()?;
            let size = usize::from_str_radix(size.trim(), 16).ok()?;
            let start = body.len();
            body.resize(start + size, 0);
            reader.read_exact(&mut body[start..]).ok()?;
            reader.read_line(&mut String::new()).ok()?;
            if size == 0 {
                break;
            }
        }
    } else {
        reader.read_exact(&mut body).ok()?;
    }
    git.env("CONTENT_LENGTH", body.len().to_string());
    let mut child = git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let mut input = child.stdin.take()?;
    thread::spawn(move || input.write_all(&body));
    let answer = child.wait_with_output().ok()?.stdout;
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let headers = String::from_utf8_lossy(&answer[..end]).into_owned();
    let status = headers.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK");
    let body = &answer[end + 4..];
    let length = body.len();
    write!(out, "HTTP/1.1 {status}\r\n{headers}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n").ok()?;
    out.write_all(body).ok()
}
