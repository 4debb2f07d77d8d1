//! A proxy in front of a PostgreSQL server that knows where a message ends, and so can cut, hold or swallow at any of them.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

/// The end of a write, which a read does not have.
const COMMIT: &[u8] = b"SELECT end_write(); COMMIT";

/// The sender of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Client,
    Server,
}

/// The fault of the proxy's first connection; the later ones pass.
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    None,
    /// Closes both ends in place of this turn of that side.
    Cut(Side, usize),
    /// Cuts so, and passes no connection any more.
    CutForGood(Side, usize),
    /// Closes both ends in place of the client's commit.
    CutCommit,
    /// Closes both ends in place of the end of the server's answer to the commit, and passes no connection any more.
    CutAfterCommit,
    /// Passes nothing on any more behind this many turns of that side, and keeps both ends open.
    Silence(Side, usize),
    /// Passes nothing on any more from the client's commit on, and keeps both ends open.
    SilentCommit,
    /// Passes nothing on any more from the server's answer to the commit on, and keeps both ends open.
    SilentAfterCommit,
    /// Tells [`FaultProxy::held`] behind this many turns of the client, and passes nothing on until [`FaultProxy::let_go`].
    Hold(usize),
    /// Passes no notification on, on any connection, as a pooler does that lends connections for a transaction each.
    NoNotifications,
}

/// A running proxy. A turn is a message that the other side acts on: of the client a simple query or the end of a group of
/// messages, of the server the end of a statement or of an exchange. What lies between two turns has no effect of its own.
pub struct FaultProxy {
    port: u16,
    turns: Arc<[AtomicUsize; 2]>,
    held: Receiver<()>,
    go: Arc<Mutex<Option<Sender<()>>>>,
}

#[derive(Clone)]
struct Link {
    fault: Fault,
    is_over: Arc<AtomicBool>,
    has_committed: Arc<AtomicBool>,
    turns: Arc<[AtomicUsize; 2]>,
    held: Sender<()>,
    go: Arc<Mutex<Option<Sender<()>>>>,
}

impl FaultProxy {
    /// Starts a proxy to the server's port.
    pub fn start(server: u16, fault: Fault) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let turns = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let (held, is_held) = channel();
        let go = Arc::new(Mutex::new(None));
        let is_over = Arc::new(AtomicBool::new(false));
        let has_committed = Arc::new(AtomicBool::new(false));
        let link = Link { fault, is_over, has_committed, turns: Arc::clone(&turns), held, go: Arc::clone(&go) };
        thread::spawn(move || {
            for (index, client) in listener.incoming().enumerate() {
                let client = client.unwrap();
                if link.is_over.load(SeqCst) {
                    continue;
                }
                let Ok(upstream) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                let mut link = link.clone();
                if index > 0 && !matches!(fault, Fault::NoNotifications) {
                    link.fault = Fault::None;
                }
                link.join(client, upstream);
            }
        });
        Self { port, turns, held: is_held, go }
    }

    pub const fn port(&self) -> u16 {
        self.port
    }

    /// How many turns of a side passed.
    pub fn turns(&self, side: Side) -> usize {
        self.turns[side as usize].load(SeqCst)
    }

    /// Waits until the client is held.
    pub fn held(&self) {
        self.held.recv().unwrap();
    }

    /// Lets the client go on.
    pub fn let_go(&self) {
        if let Some(go) = self.go.lock().unwrap().take() {
            go.send(()).unwrap();
        }
    }
}

impl Link {
    fn join(self, client: TcpStream, server: TcpStream) {
        for stream in [&client, &server] {
            stream.set_nodelay(true).unwrap();
        }
        let ends = [client, server];
        let other = ends.each_ref().map(|end| end.try_clone().unwrap());
        let [client, server] = ends;
        let [client_end, server_end] = other;
        let back = self.clone();
        thread::spawn(move || self.pass(Side::Client, client, server_end));
        thread::spawn(move || back.pass(Side::Server, server, client_end));
    }

    /// Passes the messages of one side on, until its end.
    fn pass(&self, side: Side, mut from: TcpStream, mut to: TcpStream) {
        let (mut is_first, mut is_held) = (side == Side::Client, false);
        while let Ok((kind, message)) = read_message(&mut from, is_first) {
            is_first = false;
            let is_turn = match side {
                Side::Client => !matches!(kind, b'P' | b'B' | b'D' | b'E'),
                Side::Server => matches!(kind, b'C' | b'Z' | b'R'),
            };
            let passed = self.turns[side as usize].load(SeqCst);
            let turn = if is_turn { self.turns[side as usize].fetch_add(1, SeqCst) } else { usize::MAX };
            let is_commit =
                side == Side::Client && kind == b'Q' && message.windows(COMMIT.len()).any(|part| part == COMMIT);
            // The answer to the statement before has been read: the client waited for it.
            let is_behind = side == Side::Server && self.has_committed.load(SeqCst);
            if is_commit {
                self.has_committed.store(true, SeqCst);
            }
            match self.fault {
                Fault::Cut(at, number) if at == side && number == turn => break,
                Fault::CutForGood(at, number) if at == side && number == turn => {
                    self.is_over.store(true, SeqCst);
                    break;
                }
                Fault::CutCommit if is_commit => break,
                Fault::CutAfterCommit if is_behind && kind == b'Z' => {
                    self.is_over.store(true, SeqCst);
                    break;
                }
                Fault::Silence(at, number) if at == side && number == passed => return swallow(from, &to),
                Fault::SilentCommit if is_commit => return swallow(from, &to),
                Fault::SilentAfterCommit if is_behind => return swallow(from, &to),
                Fault::Hold(number) if side == Side::Client && number == passed && !is_held => {
                    is_held = true;
                    let (go, is_going) = channel();
                    *self.go.lock().unwrap() = Some(go);
                    self.held.send(()).unwrap();
                    let _ = is_going.recv();
                }
                Fault::NoNotifications if kind == b'A' => continue,
                _ => {}
            }
            if to.write_all(&message).is_err() {
                break;
            }
        }
        for stream in [from, to] {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// Reads what one side says and passes nothing on. The other direction is silent too.
fn swallow(mut from: TcpStream, to: &TcpStream) {
    let _ = to.set_nonblocking(true);
    while from.read(&mut [0; 1024]).is_ok_and(|count| count > 0) {}
}

/// A message with its kind; the first one of a client has none.
fn read_message(from: &mut TcpStream, is_first: bool) -> io::Result<(u8, Vec<u8>)> {
    let mut message = vec![0; if is_first { 4 } else { 5 }];
    from.read_exact(&mut message)?;
    let length: [u8; 4] = message[message.len() - 4..].try_into().unwrap();
    let kind = if is_first { 0 } else { message[0] };
    let start = message.len();
    message.resize(start + usize::try_from(u32::from_be_bytes(length)).unwrap() - 4, 0);
    from.read_exact(&mut message[start..])?;
    Ok((kind, message))
}
