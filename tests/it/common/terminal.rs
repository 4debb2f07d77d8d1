//! Commands at a terminal, as a person has them.

use std::io::{ErrorKind, Read as _};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use fairway_core::os::pty;
use fairway_core::os::terminal::Size;

/// How long a command may take to ask what a step waits for, or to end.
const LIMIT: Duration = Duration::from_secs(60);

/// The key after which tmux takes the next one for a command.
const PREFIX: char = '\u{2}';
/// The time between that key and the next: what follows within a millisecond (`assume-paste-time`) tmux takes for pasted text,
/// and types it into the pane.
const BETWEEN_KEYS: Duration = Duration::from_millis(20);

/// The result of a command at a terminal.
#[derive(Debug)]
pub struct TerminalRun {
    /// Its exit code.
    pub code: Option<i32>,
    /// Everything that it and the person wrote.
    pub screen: String,
}

/// Runs a command at a terminal. Each step waits for a text on the screen behind the one before, and then types an answer.
#[track_caller]
pub fn at_terminal(mut command: Command, steps: &[(&str, &str)]) -> TerminalRun {
    let (mut terminal, end) = pty::open(Size { rows: 40, cols: 200 }).unwrap();
    command.env("TERM", "xterm");
    command.stdin(end.try_clone().unwrap()).stdout(end.try_clone().unwrap()).stderr(end);
    let mut child = command.spawn().unwrap();
    // The command holds the program's end as well.
    drop(command);
    let (mut screen, mut seen, mut steps) = (Vec::new(), 0, steps.iter());
    let mut next = steps.next();
    let since = Instant::now();
    loop {
        let mut buffer = [0; 4096];
        match terminal.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => screen.extend_from_slice(&buffer[..length]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(Duration::from_millis(5)),
            Err(error) => panic!("{error}"),
        }
        let text = String::from_utf8_lossy(&screen).into_owned();
        if let Some((wanted, answer)) = next
            && let Some(at) = text.get(seen..).and_then(|rest| rest.find(wanted))
        {
            seen += at + wanted.len();
            for (at, keys) in answer.split_inclusive(PREFIX).enumerate() {
                if at > 0 {
                    thread::sleep(BETWEEN_KEYS);
                }
                assert_eq!(terminal.write(keys.as_bytes()).unwrap(), keys.len());
            }
            next = steps.next();
        }
        if since.elapsed() > LIMIT {
            child.kill().unwrap();
            panic!("waiting for {next:?}: {text}");
        }
    }
    let screen = String::from_utf8_lossy(&screen).replace("\r\n", "\n");
    assert!(next.is_none(), "it did not ask {next:?}: {screen}");
    TerminalRun { code: child.wait().unwrap().code(), screen }
}
