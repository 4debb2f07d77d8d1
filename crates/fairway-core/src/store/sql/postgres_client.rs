//! A client of a server that the calling thread drives itself. Each call has a limit, so that a server or a network that falls
//! silent ends the call, not the program.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::panic::resume_unwind;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use std::{fmt, io, thread};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::time::timeout;
use tokio_postgres::error::Severity;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{AsyncMessage, Client, Config, Error, Socket};

/// Moves bytes between client and server; returns the messages that the server sends without a request.
type Driver = Box<dyn FnMut(&mut Context<'_>) -> Poll<Option<Result<AsyncMessage, Error>>> + Send>;
type Notifications = Arc<Mutex<VecDeque<String>>>;

/// Why a call has no answer.
#[derive(Debug)]
pub(in crate::store) enum CallError {
    /// The server refused, or the connection broke.
    Failed(Error),
    /// No answer within this time.
    Silent(Duration),
    /// The connection broke in an earlier call.
    Broken,
    /// The operating system refused what a client needs.
    System(io::Error),
}

/// An open connection.
pub(in crate::store) struct PostgresClient {
    runtime: OwnRuntime,
    client: Client,
    driver: Driver,
    notifications: Notifications,
    is_broken: bool,
}

impl fmt::Debug for PostgresClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresClient").field("is_broken", &self.is_broken).finish_non_exhaustive()
    }
}

impl PostgresClient {
    /// Connects. The limit is for the resolution of the host's name, the handshakes and the login together.
    pub fn connect<T>(config: &Config, tls: T, limit: Duration) -> Result<Self, CallError>
    where
        T: MakeTlsConnect<Socket> + Send,
        T::Stream: Send + 'static,
        T::TlsConnect: Send,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
    {
        let runtime = OwnRuntime::new()?;
        let connected = runtime.block_on(async || timeout(limit, config.connect(tls)).await)?;
        let (client, mut connection) = match connected {
            Ok(connected) => connected.map_err(CallError::Failed)?,
            Err(_) => return Err(CallError::Silent(limit)),
        };
        let driver = Box::new(move |cx: &mut Context<'_>| connection.poll_message(cx));
        Ok(Self { runtime, client, driver, notifications: Notifications::default(), is_broken: false })
    }

    /// Runs `work`, which must end within the limit. After the limit the connection counts as broken: a late answer would be
    /// taken for that of the next call.
    pub fn call<T: Send>(
        &mut self,
        limit: Duration,
        work: impl AsyncFnOnce(&mut Client) -> Result<T, Error> + Send,
    ) -> Result<T, CallError> {
        let done = self.run(limit, work)?;
        done.map_err(|error| {
            self.is_broken |= ends_connection(&error);
            CallError::Failed(error)
        })
    }

    /// As [`PostgresClient::call`], for work that may return any value, even an error of its own.
    pub fn run<R: Send>(
        &mut self,
        limit: Duration,
        work: impl AsyncFnOnce(&mut Client) -> R + Send,
    ) -> Result<R, CallError> {
        if self.is_broken {
            return Err(CallError::Broken);
        }
        let Self { runtime, client, driver, notifications, .. } = self;
        let ran = runtime.block_on(async || {
            let mut work = pin!(work(client));
            let driven = poll_fn(|cx| {
                let end = drive(driver, notifications, cx);
                match (work.as_mut().poll(cx), end) {
                    // The answer tells more than the end of the connection that comes with it.
                    (Poll::Ready(done), end) => Poll::Ready((Ok(done), end.is_ready())),
                    (Poll::Pending, Poll::Ready(reason)) => {
                        Poll::Ready((Err(reason.map_or(CallError::Broken, CallError::Failed)), true))
                    }
                    (Poll::Pending, Poll::Pending) => Poll::Pending,
                }
            });
            timeout(limit, driven).await
        })?;
        let (done, is_broken) = ran.unwrap_or((Err(CallError::Silent(limit)), true));
        self.is_broken = is_broken;
        done
    }

    /// Waits for a notification, at most for the limit; returns whether one came. Returns `false` at once when the future `stop`
    /// completes.
    pub fn wait_notified(
        &mut self,
        limit: Duration,
        stop: &mut (impl Future + Send + Unpin),
    ) -> Result<bool, CallError> {
        let notifications = Arc::clone(&self.notifications);
        self.run(Duration::MAX, async |_| {
            let notified = poll_fn(|cx| {
                let mut came = lock(&notifications);
                if !came.is_empty() {
                    came.clear();
                    return Poll::Ready(true);
                }
                Pin::new(&mut *stop).poll(cx).map(|_| false)
            });
            timeout(limit, notified).await.unwrap_or(false)
        })
    }

    /// Waits for a notification with this payload, at most for the limit; returns whether it came. Other notifications that come
    /// before it are dropped.
    pub fn wait_for_payload(&mut self, limit: Duration, payload: &str) -> Result<bool, CallError> {
        let notifications = Arc::clone(&self.notifications);
        self.run(Duration::MAX, async |_| {
            let found = poll_fn(|_| {
                if lock(&notifications).drain(..).any(|came| came == payload) { Poll::Ready(()) } else { Poll::Pending }
            });
            timeout(limit, found).await.is_ok()
        })
    }

    pub const fn is_broken(&self) -> bool {
        self.is_broken
    }
}

fn lock(notifications: &Notifications) -> MutexGuard<'_, VecDeque<String>> {
    notifications.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Moves the bytes that can be moved now. It is ready when the connection has ended, with the reason.
fn drive(driver: &mut Driver, notifications: &Notifications, cx: &mut Context<'_>) -> Poll<Option<Error>> {
    loop {
        match driver(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(error)),
            Poll::Ready(Some(Ok(AsyncMessage::Notification(notification)))) => {
                lock(notifications).push_back(notification.payload().to_owned());
            }
            Poll::Ready(Some(Ok(_))) => {}
        }
    }
}

/// Whether the connection cannot be used after this error.
fn ends_connection(error: &Error) -> bool {
    match error.as_db_error() {
        Some(answer) => matches!(answer.parsed_severity(), Some(Severity::Fatal | Severity::Panic)),
        None => {
            error.is_closed() || std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<io::Error>)
        }
    }
}

/// A runtime for one thread, which may be dropped and entered on a thread that drives another one.
struct OwnRuntime(Option<Runtime>);

impl OwnRuntime {
    fn new() -> Result<Self, CallError> {
        Ok(Self(Some(Builder::new_current_thread().enable_all().build().map_err(CallError::System)?)))
    }

    fn block_on<R: Send>(&self, work: impl AsyncFnOnce() -> R + Send) -> Result<R, CallError> {
        let Some(runtime) = &self.0 else { return Err(CallError::Broken) };
        if Handle::try_current().is_err() {
            return Ok(runtime.block_on(work()));
        }
        // A runtime is never entered inside another one, so a server of requests lets a helper ask and waits for it.
        thread::scope(|scope| {
            let helper = thread::Builder::new().name("store".into());
            let helper = helper.spawn_scoped(scope, || runtime.block_on(work())).map_err(CallError::System)?;
            Ok(helper.join().unwrap_or_else(|panic| resume_unwind(panic)))
        })
    }
}

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
