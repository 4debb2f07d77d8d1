//! Actions that must work in a sandbox: git in the lane, programs, files, and a network of the sandbox's own.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;

use super::hosts;
use super::reach::program;
use super::targets::Targets;

#[derive(Debug)]
pub struct Need {
    pub name: &'static str,
    pub attempt: fn(&Targets) -> io::Result<()>,
    /// Whether it is tried only when the network is a proxy.
    pub of_proxy: bool,
}

const fn need(name: &'static str, attempt: fn(&Targets) -> io::Result<()>) -> Need {
    Need { name, attempt, of_proxy: false }
}

/// The needs, in the order in which they are tried.
pub const NEEDS: &[Need] = &[
    need("write-lane", |to| fs::write(to.lane_path("work"), "work\n")),
    need("git-status", |to| git(to, &["status", "--short"])),
    need("git-add", |to| git(to, &["add", "work"])),
    need("git-commit", |to| git(to, &["commit", "--quiet", "--message", "work"])),
    need("git-amend", |to| git(to, &["commit", "--quiet", "--amend", "--message", "more work"])),
    need("git-stash", |to| {
        fs::write(to.lane_path("work"), "changed\n")?;
        git(to, &["stash", "--quiet"])?;
        git(to, &["stash", "pop", "--quiet"])?;
        git(to, &["checkout", "--quiet", "work"])
    }),
    need("git-branch", |to| {
        git(to, &["branch", "other", "main"])?;
        git(to, &["branch", "--quiet", "-D", "other"])
    }),
    need("git-rebase", |to| git(to, &["rebase", "--quiet", "main"])),
    need("git-tag", |to| git(to, &["tag", "kept"])),
    need("git-log", |to| git(to, &["log", "--oneline", "main..HEAD"])),
    need("git-gc", |to| git(to, &["gc", "--quiet"])),
    need("write-home", |to| {
        let home = to.vars.get(OsStr::new("HOME")).cloned().unwrap_or_default();
        fs::write(Path::new(&home).join("cache"), "x")
    }),
    need("write-temporary", |to| {
        let file = format!("/tmp/fairway-{}", to.mark);
        fs::write(&file, "x")?;
        // A program of one's own around it may show the directory of the machine.
        fs::remove_file(file)
    }),
    need("run-toolchain", |to| program(&[&to.path("home/.cargo/bin/tool").display().to_string()], to).map(drop)),
    need("run-pipe", |to| program(&["sh", "-c", "echo a | cat >/dev/null && test -r /etc/passwd"], to).map(drop)),
    need("random", |_| fs::File::open("/dev/urandom").map(drop)),
    need("loopback", |_| loopback()),
    Need { of_proxy: true, ..need("proxy-tunnel", hosts::reach_open) },
    Need { of_proxy: true, ..need("proxy-request", hosts::request_open) },
];

fn git(to: &Targets, args: &[&str]) -> io::Result<()> {
    program(&[&["git"], args].concat(), to).map(drop)
}

/// Connects a client to a server, both inside the sandbox.
fn loopback() -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut client = TcpStream::connect(listener.local_addr()?)?;
    client.write_all(b"x")?;
    drop(client);
    let mut text = String::new();
    listener.accept()?.0.read_to_string(&mut text)?;
    if text == "x" { Ok(()) } else { Err(io::Error::other("the server heard nothing")) }
}
