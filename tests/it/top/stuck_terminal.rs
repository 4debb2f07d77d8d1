//! A terminal that nothing reads, one that is gone, and a program of a sink that hangs: nothing else waits for them.

use std::fs;
use std::io::{ErrorKind, Read as _};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use fairway_core::os::pty::{self, Pty};
use fairway_core::os::terminal::Size;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::common::TestProject;
use crate::common::fixtures::discard_store;
use crate::sessions::{Sessions, eventually};

/// The time limit of a command on a busy machine. One that waits for a terminal would never end.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program at a terminal that is read when the test says so.
struct AtTerminal {
    terminal: Pty,
    child: Child,
    seen: String,
}

impl AtTerminal {
    fn start(mut command: Command) -> Self {
        let (terminal, end) = pty::open(Size { rows: 60, cols: 200 }).unwrap();
        command.env("TERM", "xterm");
        command.stdin(end.try_clone().unwrap()).stdout(end.try_clone().unwrap()).stderr(end);
        Self { terminal, child: command.spawn().unwrap(), seen: String::new() }
    }

    /// Reads what there is.
    fn read(&mut self) {
        let mut buffer = [0; 16_384];
        loop {
            match self.terminal.read(&mut buffer) {
                Ok(0) => return,
                Ok(length) => self.seen.push_str(&String::from_utf8_lossy(&buffer[..length])),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Reads until a text has come.
    #[track_caller]
    fn shows(&mut self, text: &str) {
        self.seen.clear();
        eventually(text, || {
            self.read();
            self.seen.contains(text).then_some(())
        });
    }

    /// Whether it is in a call that writes to its terminal.
    fn is_writing(&self) -> bool {
        fs::read_to_string(format!("/proc/{}/wchan", self.child.id())).is_ok_and(|place| place.contains("tty_write"))
            || fs::read_to_string(format!("/proc/{}/syscall", self.child.id()))
                .is_ok_and(|call| call.starts_with("1 0x1 "))
    }

    #[track_caller]
    fn ends(&mut self) -> ExitStatus {
        eventually("its end", || {
            self.read();
            self.child.try_wait().unwrap()
        })
    }
}

impl Drop for AtTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Changes every line of a large board.
fn change_everything(world: &TestProject, text: &str) {
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    let reason = text.repeat(40);
    conn.execute("UPDATE tasks SET blocked_reason = ?1 WHERE status = 'blocked'", [reason]).unwrap();
    world.run(["session", "heartbeat", "ada"]).exits(0);
}

#[test]
fn terminal_that_nothing_reads_delays_nothing_else_and_is_current_once_it_is_read() {
    let world = Sessions::new();
    world.run(["session", "upsert", "--id", "ada", "--role", "dev"]).exits(0);
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    conn.execute_batch(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50)
         INSERT INTO tasks (id, title, status, priority, created_at, updated_at, claimant, epoch, claimed_at, blocked_reason)
         SELECT 'B-' || i, 'blocked', 'blocked', 2, i, i, 'me', 1, i, 'why' FROM n;
         INSERT INTO claims (task_id, epoch, claimant, claimed_at) SELECT id, 1, 'me', 1 FROM tasks;",
    )
    .unwrap();
    let mut hung = AtTerminal::start(world.fairway(["top"]));
    hung.shows("NEEDS YOU (50)");
    // Frames that nothing reads, until the terminal takes no more. A busy `top` joins changes to one frame.
    let mut round = 0;
    eventually("the terminal is full", || {
        round += 1;
        change_everything(&world, if round % 2 == 0 { "one " } else { "two " });
        hung.is_writing().then_some(())
    });
    let since = Instant::now();
    let mut other = AtTerminal::start(world.fairway(["top"]));
    other.shows("NEEDS YOU (50)");
    world.run(["task", "add", "T-1", "Fix the total"]).exits(0);
    world.run(["--session", "ada", "claim", "T-1"]).exits(0);
    change_everything(&world, "3");
    other.shows("33333333");
    assert!(since.elapsed() < PATIENCE, "{:?}", since.elapsed());
    hung.shows("33333333");
    for one in [&mut hung, &mut other] {
        assert_eq!(one.terminal.write(b"q").unwrap(), 1);
        assert!(one.ends().success());
    }
    discard_store(&world);
}

#[test]
fn terminal_that_is_gone_ends_top_and_leaves_nothing() {
    let world = Sessions::new();
    let mut top = AtTerminal::start(world.fairway(["top"]));
    top.shows("nothing needs you");
    let (gone, _end) = pty::open(Size { rows: 5, cols: 20 }).unwrap();
    drop(std::mem::replace(&mut top.terminal, gone));
    eventually("its end", || top.child.try_wait().unwrap());
    let wakers = fs::read_dir(world.root().join(".fairway/runtime/wake")).unwrap().flatten();
    let left: Vec<_> =
        wakers.map(|entry| entry.file_name()).filter(|name| name.to_string_lossy().contains("top")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn program_of_a_sink_that_hangs_delays_neither_the_board_nor_its_end() {
    let world = Sessions::new();
    let file = world.dir().join("hung");
    let text = format!(
        "[notify]\nsinks = ['command']\n[notify.per_sink.command]\ncommand = 'echo $$ >{0}.part; mv {0}.part {0}; exec sleep 300'\n",
        file.display()
    );
    fs::write(world.root().join(".fairway.toml"), text).unwrap();
    world.run(["trust", "--yes"]).exits(0);
    let ask = |text: &str| {
        world.run(["session", "heartbeat", "ada", "--activity", "requires_action", "--waiting-for", text]).exits(0);
    };
    world.run(["session", "upsert", "--id", "ada", "--role", "dev"]).exits(0);
    ask("which currency?");
    let mut top = AtTerminal::start(world.fairway(["top"]));
    top.shows("which currency?");
    let pid: i32 = eventually("the program", || fs::read_to_string(&file).ok()?.trim().parse().ok());
    // Only cells that change are drawn.
    ask(&"9".repeat(20));
    top.shows("99999999");
    assert_eq!(top.terminal.write(b"q").unwrap(), 1);
    let since = Instant::now();
    assert!(top.ends().success());
    assert!(since.elapsed() < PATIENCE, "{:?}", since.elapsed());
    // Its time limit may have ended it by now.
    let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
}
