//! A web server with the files of a release, on a port of this machine.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::{fs, thread};

use fairway_core::os::digest::sha256_hex;

/// The targets of this machine's archives.
pub const TARGET: &str =
    if cfg!(target_arch = "aarch64") { "aarch64-unknown-linux-musl" } else { "x86_64-unknown-linux-musl" };

/// The reaction of the server to a request for a file.
#[derive(Debug, Clone)]
pub enum Response {
    /// The whole file.
    Whole(Vec<u8>),
    /// The announced length, but only the first half of the bytes.
    Half(Vec<u8>),
    /// The first half of the bytes, and then nothing, with the connection open.
    Stalled(Vec<u8>),
}

type Files = Arc<Mutex<BTreeMap<String, Response>>>;

pub struct ReleaseServer {
    pub address: String,
    files: Files,
}

impl ReleaseServer {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/ann/fairway", listener.local_addr().unwrap());
        let files = Files::default();
        let served = Arc::clone(&files);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let served = Arc::clone(&served);
                thread::spawn(move || serve(stream, &served));
            }
        });
        Self { address, files }
    }

    /// Sets the response for a path below the repository's releases.
    pub fn set(&self, path: &str, response: Response) {
        self.files.lock().unwrap().insert(format!("/ann/fairway/releases/{path}"), response);
    }

    pub fn remove(&self, path: &str) {
        self.files.lock().unwrap().remove(&format!("/ann/fairway/releases/{path}"));
    }

    /// Publishes a release, as the newest one too; returns the archive's bytes.
    pub fn publish(&self, version: &str, archive: Vec<u8>) -> Vec<u8> {
        let name = archive_name(version);
        let sums = format!("{}  {name}\n{}  fairway_{version}_amd64.deb\n", sha256_hex(&archive), "0".repeat(64));
        for directory in ["latest/download".to_owned(), format!("download/v{version}")] {
            self.set(&format!("{directory}/SHA256SUMS"), Response::Whole(sums.clone().into_bytes()));
        }
        self.set(&format!("download/v{version}/{name}"), Response::Whole(archive.clone()));
        archive
    }
}

pub fn archive_name(version: &str) -> String {
    format!("fairway-{version}-{TARGET}.tar.gz")
}

/// An archive as a release has it, with a script in place of the program.
pub fn archive(dir: &Path, version: &str, reported: &str, pages: &[&str]) -> Vec<u8> {
    let name = archive_name(version);
    let top = name.trim_end_matches(".tar.gz");
    let unpacked = dir.join(top);
    for below in ["completions", "man"] {
        fs::create_dir_all(unpacked.join(below)).unwrap();
    }
    fs::write(unpacked.join("fairway"), format!("#!/bin/sh\necho 'fairway {reported}'\n")).unwrap();
    let page_paths = pages.iter().map(|page| format!("man/{page}"));
    for file in ["completions/fairway.bash", "completions/_fairway", "completions/fairway.fish"]
        .into_iter()
        .map(str::to_owned)
        .chain(page_paths)
    {
        fs::write(unpacked.join(&file), format!("{file} of {version}\n")).unwrap();
    }
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(unpacked.join("fairway"), executable).unwrap();
    let output = Command::new("tar").args(["-czf", "-", "-C"]).arg(dir).arg(top).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    fs::remove_dir_all(unpacked).unwrap();
    output.stdout
}

fn serve(mut stream: TcpStream, files: &Files) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let request = lines.next().unwrap_or_default();
    while lines.next().is_some_and(|line| !line.is_empty()) {}
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    let response = files.lock().unwrap().get(&path).cloned();
    let head =
        |bytes: &[u8]| format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", bytes.len());
    // A client may go away at any time.
    let _ = match response {
        None => stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\nConnection: close\r\n\r\nnot found"),
        Some(Response::Whole(bytes)) => stream.write_all(&[head(&bytes).as_bytes(), &bytes].concat()),
        Some(Response::Half(bytes)) => stream.write_all(&[head(&bytes).as_bytes(), &bytes[..bytes.len() / 2]].concat()),
        Some(Response::Stalled(bytes)) => {
            let sent = stream.write_all(&[head(&bytes).as_bytes(), &bytes[..bytes.len() / 2]].concat());
            while lines.next().is_some() {}
            sent
        }
    };
}
