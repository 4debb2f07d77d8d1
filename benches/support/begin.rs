//! The smallest program that starts another one and has that on record first: one durable commit, then a plain start. The
//! measure for `fairway exec spawn`.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::zombie_processes,
    reason = "the least code that does it"
)]

mod least;

use std::process::Command;

fn main() {
    let (path, conn) = least::open();
    conn.execute("INSERT INTO events (at, kind, actor, data) VALUES (1, 'exec.started', 'bench', '{}')", []).unwrap();
    let mut words = std::env::args_os().skip(2);
    Command::new(words.next().unwrap()).args(words).spawn().unwrap();
    least::close(&path, conn);
}
