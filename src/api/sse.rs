//! Server-sent events: a streamed response with a bounded queue, so that a slow reader does not fill the memory.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::body::Frame;
use serde::Serialize;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;
use zeroize::Zeroizing;

/// How many events may be queued for the reader.
const MAX_QUEUED_EVENTS: usize = 64;
/// How long the reader may leave the queue full before the stream ends.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a stream may be silent. Then a comment is sent, by which both sides notice a broken connection.
pub(super) const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(20);

/// The sending end of a stream. The response ends when it is dropped.
#[derive(Debug)]
pub(super) struct EventSender {
    queue: Sender<Bytes>,
    /// Compresses all events of the stream together, to a tenth: they are much alike.
    encoder: Option<Mutex<GzEncoder<Vec<u8>>>>,
}

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

/// Makes a streamed response, and the sender of its events.
pub(super) fn stream() -> (Response, EventSender) {
    let (sender, receiver) = mpsc::channel(MAX_QUEUED_EVENTS);
    (response(Body::new(EventBody(receiver))), EventSender { queue: sender, encoder: None })
}

/// Like [`stream`], compressed with gzip.
pub(super) fn compressed_stream() -> (Response, EventSender) {
    let (mut response, sender) = stream();
    response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    let encoder = Some(Mutex::new(GzEncoder::new(Vec::new(), Compression::fast())));
    (response, EventSender { encoder, ..sender })
}

/// The response to a `HEAD` request: the headers of a stream, and no body.
pub(super) fn head() -> Response {
    response(Body::empty())
}

fn response(body: Body) -> Response {
    // A proxy must not keep events back.
    let unbuffered = (header::HeaderName::from_static("x-accel-buffering"), "no");
    let head = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store"), unbuffered];
    (StatusCode::OK, head, body).into_response()
}

/// Formats one event. Returns `None` when the document cannot be encoded.
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

/// Compresses a text so that the reader can decode it at once.
fn encode(encoder: &mut GzEncoder<Vec<u8>>, text: &str) -> io::Result<Bytes> {
    encoder.write_all(text.as_bytes())?;
    encoder.flush()?;
    Ok(std::mem::take(encoder.get_mut()).into())
}

impl EventSender {
    /// Sends one event. Returns false when the reader is gone or too slow, or `document` cannot be encoded.
    pub(super) async fn send(&self, id: Option<i64>, event: &str, document: &impl Serialize) -> bool {
        match format_event(id, event, document) {
            Some(text) => self.send_text(text).await,
            None => false,
        }
    }

    /// Sends a comment, which keeps the connection open. Returns false when the reader is gone or too slow.
    pub(super) async fn keep_alive(&self) -> bool {
        self.send_text(":\n\n".into()).await
    }

    /// Sends an event that is already formatted. Returns false when the reader is gone or too slow.
    pub(super) async fn send_text(&self, text: String) -> bool {
        let Some(encoder) = &self.encoder else { return self.send_bytes(text.into()).await };
        // Held until the bytes are queued: they are read in the order in which they were encoded.
        let mut encoder = encoder.lock().await;
        match encode(&mut encoder, &text) {
            Ok(bytes) => self.send_bytes(bytes).await,
            Err(_) => false,
        }
    }

    async fn send_bytes(&self, bytes: Bytes) -> bool {
        matches!(timeout(SEND_TIMEOUT, self.queue.send(bytes)).await, Ok(Ok(())))
    }

    /// Waits for a change, and meanwhile sends comments that keep the connection open. Returns false when the reader is gone
    /// or too slow, or the server ends.
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

    /// Waits until the reader is gone.
    pub(super) async fn closed(&self) {
        self.queue.closed().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_can_be_decoded_when_it_arrives() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        let mut decoder = flate2::write::GzDecoder::new(Vec::new());
        let row = |number: usize| format!("data: <li data-key=\"session:s-{number}\">{}</li>\n\n", "row ".repeat(300));
        let mut sent = 0;
        for number in 0..50 {
            let bytes = encode(&mut encoder, &row(number)).unwrap();
            sent += bytes.len();
            decoder.write_all(&bytes).unwrap();
            decoder.flush().unwrap();
            assert_eq!(std::mem::take(decoder.get_mut()), row(number).as_bytes());
        }
        assert!(sent * 10 < 50 * row(0).len(), "{sent}");
    }
}
