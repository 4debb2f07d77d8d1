//! A blocking connection to the server's socket.

use std::io::{self, Read, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use thiserror::Error;

use super::server_files;

use crate::env::vars;
use crate::os::{lock, process, socket, user};

#[derive(Debug)]
pub struct ApiClient {
    stream: UnixStream,
    timeout: Duration,
}

impl ApiClient {
    /// Connects to the server of the project with this runtime directory. Later requests fail when they take longer than `limit`.
    /// Returns `None` when no server of this user listens there.
    pub fn connect(runtime: &Path, limit: Duration) -> Option<Self> {
        let stream = socket::connect_at(&server_files::find_listening(runtime)?).ok()?;
        // A socket that another user has bound must not get this user's requests.
        if socket::peer_uid(&stream).ok()? != user::uid() {
            return None;
        }
        Some(Self { stream, timeout: limit })
    }

    /// Whether the server runs this very program, was started outside of sessions and without preloaded libraries, and has the
    /// lock of servers in this runtime directory. `false` when any of this is unknown.
    pub fn is_own_server(&self, runtime: &Path) -> bool {
        /// Variables that load foreign code into the program, or show that an agent started it.
        const SUSPECT: &[&str] =
            &["LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", vars::FAIRWAY_SESSION_ID, vars::FAIRWAY_RUN_ID];
        let Ok(pid) = socket::peer_pid(&self.stream) else { return false };
        process::is_same_program(pid)
            && lock::is_held_by(&runtime.join(server_files::LOCK_FILE), pid)
            && process::has_variable(pid, SUSPECT) == Some(false)
    }

    pub fn post(&mut self, route: &str, body: &[u8]) -> Result<HttpResponse, ApiClientError> {
        let head = format!(
            "POST {route} HTTP/1.1\r\nhost: fairway\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let _span = tracing::debug_span!("server", method = "POST", route).entered();
        self.send([head.as_bytes(), body].concat())
    }

    /// Requests a JSON document. The response is returned whatever its status is. Not for event streams, which do not end.
    pub fn get(&mut self, route: &str) -> Result<HttpResponse, ApiClientError> {
        let _span = tracing::debug_span!("server", method = "GET", route).entered();
        self.send(format!("GET {route} HTTP/1.1\r\nhost: fairway\r\n\r\n").into_bytes())
    }

    fn send(&mut self, request: Vec<u8>) -> Result<HttpResponse, ApiClientError> {
        let deadline = Instant::now() + self.timeout;
        self.stream.set_write_timeout(Some(remaining(deadline)?))?;
        self.stream.write_all(&request)?;
        read_response(&mut self.stream, |stream| Ok(stream.set_read_timeout(Some(remaining(deadline)?))?))
    }
}

/// The time until a deadline. Never zero: a socket timeout of zero means no timeout.
fn remaining(deadline: Instant) -> Result<Duration, ApiClientError> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ApiClientError::TimedOut) } else { Ok(left) }
}

#[derive(Debug, Error)]
pub enum ApiClientError {
    #[error("the server did not respond in time")]
    TimedOut,
    #[error("the connection to the server was lost: {0}")]
    Disconnected(io::Error),
    #[error("invalid response from the server: {0}")]
    InvalidResponse(&'static str),
}

impl From<io::Error> for ApiClientError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Self::TimedOut,
            _ => Self::Disconnected(error),
        }
    }
}

const MAX_BODY_BYTES: usize = 64 << 20;
const MAX_HEAD_BYTES: usize = 16 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpResponse {
    pub status: u16,
    pub body: Vec<u8>,
}

/// Reads one HTTP response. Calls `before` before each read, so that it can limit the time of the read.
pub(super) fn read_response<T: Read>(
    from: &mut T,
    mut before: impl FnMut(&mut T) -> Result<(), ApiClientError>,
) -> Result<HttpResponse, ApiClientError> {
    let mut buffer = Vec::new();
    let mut more = |buffer: &mut Vec<u8>| -> Result<(), ApiClientError> {
        let mut part = [0; 16 * 1024];
        loop {
            before(from)?;
            match from.read(&mut part) {
                Ok(0) => return Err(ApiClientError::Disconnected(io::ErrorKind::UnexpectedEof.into())),
                Ok(read) => {
                    buffer.extend_from_slice(part.get(..read).unwrap_or_default());
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    };
    let end = loop {
        if let Some(at) = find_bytes(&buffer, b"\r\n\r\n") {
            break at;
        }
        if buffer.len() > MAX_HEAD_BYTES {
            return Err(ApiClientError::InvalidResponse("head too long"));
        }
        more(&mut buffer)?;
    };
    let mut rest = buffer.split_off(end + 4);
    let head = Head::parse(&buffer)?;
    let Some(length) = head.length else {
        let mut body = Vec::new();
        loop {
            let line = loop {
                if let Some(at) = find_bytes(&rest, b"\r\n") {
                    break at;
                }
                more(&mut rest)?;
            };
            let size = rest.get(..line).and_then(|line| std::str::from_utf8(line).ok());
            let size = size.and_then(|size| usize::from_str_radix(size.split(';').next()?.trim(), 16).ok());
            let size = size
                .filter(|size| body.len() + size <= MAX_BODY_BYTES)
                .ok_or(ApiClientError::InvalidResponse("invalid chunk size"))?;
            while rest.len() < line + 2 + size + 2 {
                more(&mut rest)?;
            }
            body.extend_from_slice(rest.get(line + 2..line + 2 + size).unwrap_or_default());
            rest.drain(..line + 2 + size + 2);
            if size == 0 {
                return Ok(HttpResponse { status: head.status, body });
            }
        }
    };
    if length > MAX_BODY_BYTES {
        return Err(ApiClientError::InvalidResponse("body too long"));
    }
    while rest.len() < length {
        more(&mut rest)?;
    }
    rest.truncate(length);
    Ok(HttpResponse { status: head.status, body: rest })
}

struct Head {
    status: u16,
    /// `None` for a chunked body.
    length: Option<usize>,
}

impl Head {
    fn parse(bytes: &[u8]) -> Result<Self, ApiClientError> {
        let text = std::str::from_utf8(bytes).map_err(|_| ApiClientError::InvalidResponse("head is not UTF-8"))?;
        let mut lines = text.split("\r\n");
        let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok());
        let status = status.ok_or(ApiClientError::InvalidResponse("not HTTP/1.1"))?;
        let mut length = Some(0);
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            if name.eq_ignore_ascii_case("content-length") {
                length =
                    Some(value.trim().parse().map_err(|_| ApiClientError::InvalidResponse("invalid content-length"))?);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                length = None;
                break;
            }
        }
        Ok(Self { status, length })
    }
}

fn find_bytes(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    fn serve_responses(answers: &'static [&'static [u8]]) -> (tempfile::TempDir, thread::JoinHandle<Vec<u8>>) {
        let home = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(home.path().join(server_files::SOCKET_FILE)).unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut received = Vec::new();
            for answer in answers {
                let mut part = [0; 4_096];
                let read = stream.read(&mut part).unwrap();
                received.extend_from_slice(&part[..read]);
                // Byte by byte: a response may arrive in any pieces.
                for byte in *answer {
                    stream.write_all(&[*byte]).unwrap();
                }
            }
            received
        });
        (home, server)
    }

    #[test]
    fn connect_without_listener_finds_no_server() {
        let home = tempfile::tempdir().unwrap();
        assert!(ApiClient::connect(home.path(), Duration::from_secs(1)).is_none());
        drop(UnixListener::bind(home.path().join(server_files::SOCKET_FILE)).unwrap());
        assert!(ApiClient::connect(home.path(), Duration::from_secs(1)).is_none());
    }

    #[test]
    fn several_requests_go_over_one_connection_and_both_kinds_of_body_are_read() {
        let (home, server) = serve_responses(&[
            b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}",
            b"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[1\r\n3;x=y\r\n,2]\r\n0\r\n\r\n",
        ]);
        let mut client = ApiClient::connect(home.path(), Duration::from_secs(10)).unwrap();
        assert_eq!(client.post("/a", b"[]").unwrap(), HttpResponse { status: 200, body: b"{}".to_vec() });
        assert_eq!(client.get("/b").unwrap(), HttpResponse { status: 404, body: b"[1,2]".to_vec() });
        let received = String::from_utf8(server.join().unwrap()).unwrap();
        assert!(
            received.starts_with("POST /a HTTP/1.1\r\nhost: fairway\r\n") && received.contains("\r\n\r\n[]GET /b "),
            "{received}"
        );
    }

    #[test]
    fn cut_answer_and_one_that_is_none_are_errors() {
        for answer in [&b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}"[..], b"", b"hello\r\n\r\n"] {
            let answers: &'static [&'static [u8]] = Box::leak(Box::new([answer]));
            let (home, server) = serve_responses(answers);
            let mut client = ApiClient::connect(home.path(), Duration::from_secs(10)).unwrap();
            assert!(matches!(
                client.get("/"),
                Err(ApiClientError::Disconnected(_) | ApiClientError::InvalidResponse(_))
            ));
            server.join().unwrap();
        }
    }

    #[test]
    fn server_that_says_nothing_is_late() {
        let home = tempfile::tempdir().unwrap();
        let _listener = UnixListener::bind(home.path().join(server_files::SOCKET_FILE)).unwrap();
        let mut client = ApiClient::connect(home.path(), Duration::from_millis(30)).unwrap();
        assert!(matches!(client.get("/"), Err(ApiClientError::TimedOut)));
    }
}
