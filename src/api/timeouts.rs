//! A connection whose other end is not waited for without end: it must say something, end what it begins to say, and take
//! what it is told.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep_until},
};

use super::connections::Guest;

/// How long the other end may take nothing of an answer.
const TAKING: Duration = Duration::from_secs(30);
/// How long the head of a request may take, and the first request to come.
const ASKING: Duration = Duration::from_secs(10);
/// How long it may be silent between two requests.
const SILENT: Duration = Duration::from_secs(10 * 60);

/// The connection.
#[derive(Debug)]
pub(super) struct Patient<T> {
    stream: T,
    guest: Arc<Guest>,
    /// How many requests were asked when it was looked at last.
    asked: u64,
    /// Since when it has been silent.
    silent: Instant,
    /// Since when a request has been coming in.
    coming: Option<Instant>,
    read: Limit,
    write: Limit,
    /// Until when something must be taken, while something waits.
    takes_until: Option<Instant>,
}

/// A limit that is looked at when it is over: moving it on costs nothing.
#[derive(Debug, Default)]
struct Limit(Option<Pin<Box<Sleep>>>);

impl Limit {
    /// Whether this moment is over. If not, the task is woken then, or earlier.
    fn is_over(&mut self, until: Instant, cx: &mut Context<'_>) -> bool {
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

impl<T> Patient<T> {
    /// Of this stream.
    pub(super) fn new(stream: T, guest: Arc<Guest>) -> Self {
        let silent = Instant::now();
        let (read, write) = (Limit::default(), Limit::default());
        Self { stream, guest, asked: 0, silent, coming: None, read, write, takes_until: None }
    }

    fn after_read(&mut self, cx: &mut Context<'_>, done: Poll<io::Result<()>>, is_empty: bool) -> Poll<io::Result<()>> {
        let (asked, is_busy) = self.guest.asked();
        if asked != self.asked || is_busy {
            (self.asked, self.coming, self.silent) = (asked, None, Instant::now());
        }
        if done.is_ready() {
            if !is_busy && !is_empty {
                self.coming.get_or_insert_with(Instant::now);
            }
            return done;
        }
        // What is being answered has limits of its own.
        if is_busy {
            return done;
        }
        let until = match self.coming {
            Some(since) => since + ASKING,
            None if asked == 0 => self.silent + ASKING,
            None => self.silent + SILENT,
        };
        if self.read.is_over(until, cx) { Poll::Ready(Err(io::ErrorKind::TimedOut.into())) } else { done }
    }

    fn after_write<R>(&mut self, cx: &mut Context<'_>, done: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if done.is_ready() {
            self.takes_until = None;
            return done;
        }
        let until = *self.takes_until.get_or_insert_with(|| Instant::now() + TAKING);
        if self.write.is_over(until, cx) { Poll::Ready(Err(io::ErrorKind::TimedOut.into())) } else { done }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Patient<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let done = Pin::new(&mut self.stream).poll_read(cx, buf);
        let is_empty = buf.filled().len() == before;
        self.after_read(cx, done, is_empty)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Patient<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.after_write(cx, done)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.after_write(cx, done)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
