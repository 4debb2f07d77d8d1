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
const WAITING: usize = 64;
/// How long a reader may take for one.
const PATIENCE: Duration = Duration::from_secs(30);
/// After how long a silence a comment says that the connection stands.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(20);

/// Where items go.
#[derive(Debug)]
pub(super) struct Items(Sender<Bytes>);

struct Stream(Receiver<Bytes>);

impl axum::body::HttpBody for Stream {
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
pub(super) fn stream() -> (Response, Items) {
    let (items, receiver) = mpsc::channel(WAITING);
    let head = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    let response = (StatusCode::OK, head, Body::new(Stream(receiver))).into_response();
    (response, Items(items))
}

/// The text of one item.
pub(super) fn item(id: Option<i64>, event: &str, document: &impl Serialize) -> Option<String> {
    let data = Zeroizing::new(serde_json::to_string(document).ok()?);
    let mut text = String::with_capacity(data.len() + 64);
    if let Some(id) = id {
        let _ = writeln!(text, "id: {id}");
    }
    // JSON has no line ends in it.
    let _ = write!(text, "event: {event}\ndata: {}\n\n", *data);
    Some(text)
}

impl Items {
    /// Sends one item; says whether somebody still reads.
    pub(super) async fn send(&self, id: Option<i64>, event: &str, document: &impl Serialize) -> bool {
        match item(id, event, document) {
            Some(text) => self.put(text).await,
            None => false,
        }
    }

    /// Says that the connection stands.
    pub(super) async fn keep_alive(&self) -> bool {
        self.put(":\n\n".into()).await
    }

    /// Sends the text of an item.
    pub(super) async fn put(&self, text: String) -> bool {
        matches!(timeout(PATIENCE, self.0.send(text.into())).await, Ok(Ok(())))
    }

    /// Comes back when nobody reads any more.
    pub(super) async fn abandoned(&self) {
        self.0.closed().await;
    }
}
