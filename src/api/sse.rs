//! Server-sent events: an answer that goes on. What its reader does not take is not gathered without end.

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
    sync::mpsc::{self, Receiver, Sender},
    time::timeout,
};
use zeroize::Zeroizing;

/// How many items may wait for their reader.
const MAX_QUEUED_EVENTS: usize = 64;
/// How long a reader may take for one.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);
/// After how long a silence a comment says that the connection stands.
pub(super) const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(20);

/// Where items go.
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

/// An answer, and where its items go. It ends when [`Items`] is dropped.
pub(super) fn stream() -> (Response, EventSender) {
    let (items, receiver) = mpsc::channel(MAX_QUEUED_EVENTS);
    let head = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    let response = (StatusCode::OK, head, Body::new(EventBody(receiver))).into_response();
    (response, EventSender(items))
}

/// The text of one item.
pub(super) fn format_event(id: Option<i64>, event: &str, document: &impl Serialize) -> Option<String> {
    let data = Zeroizing::new(serde_json::to_string(document).ok()?);
    let mut text = String::with_capacity(data.len() + 64);
    if let Some(id) = id {
        let _ = writeln!(text, "id: {id}");
    }
    // JSON has no line ends in it.
    let _ = write!(text, "event: {event}\ndata: {}\n\n", *data);
    Some(text)
}

impl EventSender {
    /// Sends one item; says whether somebody still reads.
    pub(super) async fn send(&self, id: Option<i64>, event: &str, document: &impl Serialize) -> bool {
        match format_event(id, event, document) {
            Some(text) => self.send_text(text).await,
            None => false,
        }
    }

    /// Says that the connection stands.
    pub(super) async fn keep_alive(&self) -> bool {
        self.send_text(":\n\n".into()).await
    }

    /// Sends the text of an item.
    pub(super) async fn send_text(&self, text: String) -> bool {
        matches!(timeout(SEND_TIMEOUT, self.0.send(text.into())).await, Ok(Ok(())))
    }

    /// Comes back when nobody reads any more.
    pub(super) async fn closed(&self) {
        self.0.closed().await;
    }
}
