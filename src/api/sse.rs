//! Server-sent events: a streamed response with a bounded queue, so that a slow reader does not fill the memory.

use std::{
    fmt::Write as _,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use hyper::body::Frame;
use serde::Serialize;
use tokio::{
    sync::{
        mpsc::{self, Receiver, Sender},
        watch,
    },
    time::timeout,
};
use zeroize::Zeroizing;

/// How many events may be queued for the reader.
const MAX_QUEUED_EVENTS: usize = 64;
/// How long the reader may leave the queue full before the stream ends.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);
/// After how long without events a comment is sent, by which both sides notice a broken connection.
pub(super) const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(20);

/// The sending end of a stream. The response ends when it is dropped.
#[derive(Debug)]
pub(super) struct EventSender(Sender<Bytes>);

struct EventBody(Receiver<Bytes>);

impl axum::body::HttpBody for EventBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        self.0.poll_recv(cx).map(|item| item.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// A streamed response and its sender.
pub(super) fn stream() -> (Response, EventSender) {
    let (sender, receiver) = mpsc::channel(MAX_QUEUED_EVENTS);
    (response(Body::new(EventBody(receiver))), EventSender(sender))
}

/// The response to a `HEAD` request: a stream without a reader.
pub(super) fn head() -> Response {
    response(Body::empty())
}

fn response(body: Body) -> Response {
    let head = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    (StatusCode::OK, head, body).into_response()
}

/// The text of one event; `None` when the document cannot be encoded.
pub(super) fn format_event(id: Option<i64>, event: &str, document: &impl Serialize) -> Option<String> {
    let data = Zeroizing::new(serde_json::to_string(document).ok()?);
    let mut text = String::with_capacity(data.len() + 64);
    if let Some(id) = id {
        let _ = writeln!(text, "id: {id}");
    }
    // Encoded JSON has no line breaks, so one `data` line is enough.
    let _ = write!(text, "event: {event}\ndata: {}\n\n", *data);
    Some(text)
}

impl EventSender {
    /// Sends one event. False when the reader is gone or too slow.
    pub(super) async fn send(&self, id: Option<i64>, event: &str, document: &impl Serialize) -> bool {
        match format_event(id, event, document) {
            Some(text) => self.send_text(text).await,
            None => false,
        }
    }

    /// Sends a comment. False as for [`EventSender::send`].
    pub(super) async fn keep_alive(&self) -> bool {
        self.send_text(":\n\n".into()).await
    }

    /// Sends the text of an event. False as for [`EventSender::send`].
    pub(super) async fn send_text(&self, text: String) -> bool {
        matches!(timeout(SEND_TIMEOUT, self.0.send(text.into())).await, Ok(Ok(())))
    }

    /// Waits for a change, and sends comments meanwhile. False when the stream is over: the reader is gone, or the server ends.
    pub(super) async fn wait_for_change<T>(
        &self,
        changes: &mut watch::Receiver<T>,
        shutdown: &mut watch::Receiver<bool>,
    ) -> bool {
        loop {
            let woken = async {
                tokio::select! {
                    changed = changes.changed() => changed.is_ok(),
                    _ = shutdown.wait_for(|shutdown| *shutdown) => false,
                    () = self.closed() => false,
                }
            };
            match timeout(KEEP_ALIVE_INTERVAL, woken).await {
                Ok(is_changed) => return is_changed,
                Err(_) if self.keep_alive().await => {}
                Err(_) => return false,
            }
        }
    }

    /// Returns when the reader is gone.
    pub(super) async fn closed(&self) {
        self.0.closed().await;
    }
}
