//! Attempts to reach a host that the proxy does not open, with a text for it that a careless reader takes for an open host.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use super::targets::{self, Targets};

/// The variable with the proxy's address.
const PROXY: &str = "HTTP_PROXY";

/// The proxy's address, as the environment names it; `None` when it names none.
pub fn proxy(to: &Targets) -> Option<SocketAddr> {
    let text = to.vars.get(std::ffi::OsStr::new(PROXY))?.to_str()?;
    text.strip_prefix("http://")?.parse().ok()
}

/// Tries to reach through the proxy a server outside that is closed, by a request that names `text` as the host. Without a proxy
/// it connects to `meant`, the host that a careless program would read from `text`.
pub fn trick(to: &Targets, name: &str, text: &[u8], meant: &str) -> io::Result<String> {
    let stream = match proxy(to) {
        Some(_) => tunnel(to, text, to.tcp)?,
        None => TcpStream::connect((meant, to.tcp))?,
    };
    say(stream, &format!("{name} {}\n", to.mark))
}

/// Tries to reach a closed host by an unencrypted HTTP request whose `Host` field names an open one. Without a proxy the request
/// goes directly to the closed host.
pub fn field(to: &Targets, name: &str) -> io::Result<String> {
    let address: SocketAddr = ([127, 0, 0, 1], to.tcp).into();
    let words = format!("{name} {}", to.mark);
    let stream = TcpStream::connect(proxy(to).unwrap_or(address))?;
    let request = format!("GET http://{address}/ HTTP/1.1\r\nHost: {}\r\nX-Said: {words}\r\n\r\n", targets::OPEN_NAME);
    let answer = ask(stream, &request)?;
    if proxy(to).is_some() && !answer.is_empty() {
        Err(io::Error::other(last_line(&answer)))
    } else {
        Ok(String::new())
    }
}

/// Checks that an open host can be reached through a tunnel of the proxy.
pub fn reach_open(to: &Targets) -> io::Result<()> {
    say(tunnel(to, b"127.0.0.1", to.opened)?, "tunnel\n").map(drop)
}

/// Checks that an open host can be reached by an unencrypted HTTP request to the proxy.
pub fn request_open(to: &Targets) -> io::Result<()> {
    let missing = || io::Error::new(io::ErrorKind::NotFound, "there is no proxy");
    let stream = TcpStream::connect(proxy(to).ok_or_else(missing)?)?;
    let answer = ask(stream, &format!("GET http://127.0.0.1:{}/ HTTP/1.1\r\n\r\n", to.opened))?;
    // The server says nothing; the proxy would.
    if answer.is_empty() { Ok(()) } else { Err(io::Error::other(last_line(&answer))) }
}

fn ask(mut stream: TcpStream, request: &str) -> io::Result<String> {
    stream.write_all(request.as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn tunnel(to: &Targets, host: &[u8], port: u16) -> io::Result<TcpStream> {
    let missing = || io::Error::new(io::ErrorKind::NotFound, "there is no proxy");
    let mut stream = TcpStream::connect(proxy(to).ok_or_else(missing)?)?;
    stream.write_all(&[b"CONNECT ", host, format!(":{port} HTTP/1.1\r\n\r\n").as_bytes()].concat())?;
    let mut reader = BufReader::new(&stream);
    let mut status = String::new();
    reader.read_line(&mut status)?;
    if status.starts_with("HTTP/1.1 200 ") {
        let mut end = String::new();
        reader.read_line(&mut end)?;
        return Ok(stream);
    }
    let mut answer = String::new();
    reader.read_to_string(&mut answer)?;
    Err(io::Error::other(last_line(&answer)))
}

fn last_line(text: &str) -> String {
    text.lines().last().unwrap_or_default().to_owned()
}

fn say(mut stream: TcpStream, text: &str) -> io::Result<String> {
    stream.write_all(text.as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    Ok(String::new())
}
