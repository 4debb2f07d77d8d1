//! Starts a program and reads what it prints, to throw it away: the measure for keeping it.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a measuring program")]

use std::io::Read;
use std::process::{Command, Stdio};

fn main() {
    let mut words = std::env::args_os().skip(1);
    let mut command = Command::new(words.next().unwrap());
    let mut child = command.args(words).stdout(Stdio::piped()).spawn().unwrap();
    let (mut out, mut buffer) = (child.stdout.take().unwrap(), vec![0; 65_536]);
    while out.read(&mut buffer).unwrap() > 0 {}
    assert!(child.wait().unwrap().success());
}
