//! The network between a host and its server, which a test makes slow, cuts off, or lets fall silent.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A running network. It passes everything on until a test disturbs it.
pub struct UnsteadyNetwork {
    port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// The delay of each message to the server, in milliseconds.
    delay: AtomicU64,
    is_cut: AtomicBool,
    /// The number of connections so far, and of those that pass nothing on any more.
    opened: AtomicUsize,
    silent: AtomicUsize,
    streams: Mutex<Vec<TcpStream>>,
}

impl UnsteadyNetwork {
    /// Starts a network to the server's port.
    pub fn start(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                if shared.is_cut.load(SeqCst) {
                    continue;
                }
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                shared.join(client, server);
            }
        });
        Self { port, state }
    }

    pub const fn port(&self) -> u16 {
        self.port
    }

    /// From now on each message to the server takes that long.
    pub fn delay(&self, span: Duration) {
        self.state.delay.store(u64::try_from(span.as_millis()).unwrap(), SeqCst);
    }

    /// Ends every connection, and lets none through until [`UnsteadyNetwork::mend`].
    pub fn cut_off(&self) {
        self.state.is_cut.store(true, SeqCst);
        for stream in self.state.streams.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    pub fn mend(&self) {
        self.state.is_cut.store(false, SeqCst);
    }

    /// The connections of now pass nothing on any more and stay open at both ends. New ones pass.
    pub fn half_open(&self) {
        self.state.silent.store(self.state.opened.load(SeqCst), SeqCst);
    }
}

impl UnsteadyNetwork {
    /// No connection passes anything on any more, new ones neither, and all stay open.
    pub fn fall_silent(&self) {
        self.state.silent.store(usize::MAX, SeqCst);
    }
}

impl State {
    fn join(self: &Arc<Self>, client: TcpStream, server: TcpStream) {
        let number = self.opened.fetch_add(1, SeqCst);
        for stream in [&client, &server] {
            stream.set_nodelay(true).unwrap();
            self.streams.lock().unwrap().push(stream.try_clone().unwrap());
        }
        let [client_end, server_end] = [&client, &server].map(|stream| stream.try_clone().unwrap());
        let (there, back) = (Arc::clone(self), Arc::clone(self));
        thread::spawn(move || there.pass(number, client, server_end, true));
        thread::spawn(move || back.pass(number, server, client_end, false));
    }

    fn pass(&self, number: usize, mut from: TcpStream, mut to: TcpStream, is_delayed: bool) {
        let mut bytes = [0; 16_384];
        let is_silent = || number < self.silent.load(SeqCst);
        while let Ok(count) = from.read(&mut bytes) {
            if count == 0 {
                break;
            }
            if is_delayed {
                thread::sleep(Duration::from_millis(self.delay.load(SeqCst)));
            }
            if !is_silent() && to.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        // The other end hears nothing of an end either.
        if !is_silent() {
            for stream in [from, to] {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }
}
