//! Timeouts of one connection: while it is idle, while a request's head arrives, and while the peer reads no response.
//!
//! hyper's `header_read_timeout` also runs between two requests, where a longer time is promised: so it is not used.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use super::connections::ConnectionHandle;

/// How long the peer may leave a response unread.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a request's head may take, and a connection's first request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection may be idle between two requests.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// A stream that fails with `TimedOut` when its peer is too slow.
#[derive(Debug)]
pub(super) struct TimeoutStream<T> {
    stream: T,
    connection: Arc<ConnectionHandle>,
    /// The connection's number of requests at the last read.
    requests_seen: u64,
    /// When the connection opened, or the last request ended.
    idle_since: Instant,
    /// When the first byte of the current request arrived.
    request_since: Option<Instant>,
    read_deadline: Deadline,
    write_deadline: Deadline,
    /// The deadline of a write that the peer has not read yet.
    write_due: Option<Instant>,
}

/// A timer that is only reset when it fires: moving the deadline later costs nothing.
#[derive(Debug, Default)]
struct Deadline(Option<Pin<Box<Sleep>>>);

impl Deadline {
    /// Whether the deadline has passed. If not, the task is woken then or earlier.
    fn poll_expired(&mut self, until: Instant, cx: &mut Context<'_>) -> bool {
        let sleep = self.0.get_or_insert_with(|| Box::pin(sleep_until(until)));
        if sleep.deadline() > until {
            sleep.as_mut().reset(until);
        }
        while sleep.as_mut().poll(cx).is_ready() {
            if sleep.deadline() >= until {
                return true;
            }
            sleep.as_mut().reset(until);
        }
        false
    }
}

impl<T> TimeoutStream<T> {
    pub(super) fn new(stream: T, connection: Arc<ConnectionHandle>) -> Self {
        let now = Instant::now();
        let (read, write) = (Deadline::default(), Deadline::default());
        Self {
            stream,
            connection,
            requests_seen: 0,
            idle_since: now,
            request_since: None,
            read_deadline: read,
            write_deadline: write,
            write_due: None,
        }
    }

    fn after_read(&mut self, cx: &mut Context<'_>, done: Poll<io::Result<()>>, is_empty: bool) -> Poll<io::Result<()>> {
        let (requests, is_busy) = self.connection.request_state();
        if requests != self.requests_seen || is_busy {
            (self.requests_seen, self.request_since, self.idle_since) = (requests, None, Instant::now());
        }
        if done.is_ready() {
            if !is_busy && !is_empty {
                self.request_since.get_or_insert_with(Instant::now);
            }
            return done;
        }
        // A request in flight has limits of its own.
        if is_busy {
            return done;
        }
        let until = match self.request_since {
            Some(since) => since + HEADER_TIMEOUT,
            None if requests == 0 => self.idle_since + HEADER_TIMEOUT,
            None => self.idle_since + IDLE_TIMEOUT,
        };
        if self.read_deadline.poll_expired(until, cx) { Poll::Ready(Err(io::ErrorKind::TimedOut.into())) } else { done }
    }

    fn after_write<R>(&mut self, cx: &mut Context<'_>, done: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if done.is_ready() {
            self.write_due = None;
            return done;
        }
        let until = *self.write_due.get_or_insert_with(|| Instant::now() + WRITE_TIMEOUT);
        if self.write_deadline.poll_expired(until, cx) {
            Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
        } else {
            done
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for TimeoutStream<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let done = Pin::new(&mut self.stream).poll_read(cx, buf);
        let is_empty = buf.filled().len() == before;
        self.after_read(cx, done, is_empty)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for TimeoutStream<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.after_write(cx, done)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
