use std::{
    io::{Read, Write},
    os::unix::net::UnixListener,
    thread,
    time::Duration,
};

use super::*;

fn serve_responses(answers: &'static [&'static [u8]]) -> (tempfile::TempDir, thread::JoinHandle<Vec<u8>>) {
    let home = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(home.path().join(socket_path::SOCKET_FILE)).unwrap();
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
    drop(UnixListener::bind(home.path().join(socket_path::SOCKET_FILE)).unwrap());
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
        assert!(matches!(client.get("/"), Err(ApiClientError::Disconnected(_) | ApiClientError::InvalidResponse(_))));
        server.join().unwrap();
    }
}

#[test]
fn server_that_says_nothing_is_late() {
    let home = tempfile::tempdir().unwrap();
    let _listener = UnixListener::bind(home.path().join(socket_path::SOCKET_FILE)).unwrap();
    let mut client = ApiClient::connect(home.path(), Duration::from_millis(30)).unwrap();
    assert!(matches!(client.get("/"), Err(ApiClientError::TimedOut)));
}
