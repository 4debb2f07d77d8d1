//! Bodies for the responses that hyper writes by itself when it refuses a request's head: malformed (400), with a URL (414) or
//! headers (431) that are too long. hyper leaves them empty and has no hook for them, so their bytes are replaced on the way out.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::error::ApiError;

/// A stream on which every refusal has an error document.
#[derive(Debug)]
pub(super) struct RefusedHeadStream<T> {
    stream: T,
    /// The response that is written in place of hyper's, and how much of it was written.
    replacement: Option<(Vec<u8>, usize)>,
}

impl<T> RefusedHeadStream<T> {
    pub(super) const fn new(stream: T) -> Self {
        Self { stream, replacement: None }
    }
}

/// The response in place of hyper's own refusal. Responses of routes have a content type and are left alone.
fn replacement(bytes: &[u8]) -> Option<Vec<u8>> {
    let code = bytes.strip_prefix(b"HTTP/1.1 ").or_else(|| bytes.strip_prefix(b"HTTP/1.0 "))?.get(..3)?;
    let head = std::str::from_utf8(bytes).ok().filter(|head| head.ends_with("\r\n\r\n"))?;
    let status = StatusCode::from_bytes(code).ok().filter(StatusCode::is_client_error)?;
    if head.to_ascii_lowercase().contains("\r\ncontent-type:") {
        return None;
    }
    let reason = match status {
        StatusCode::URI_TOO_LONG => "the URL is too long",
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => "the request's headers are too long",
        _ => "the request's head is no HTTP/1.1",
    };
    Some(ApiError::refused_head(status, reason).closing_response().into_bytes())
}

impl<T: AsyncWrite + Unpin> AsyncWrite for RefusedHeadStream<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        if this.replacement.is_none() {
            this.replacement = replacement(bytes).map(|text| (text, 0));
        }
        let Some((text, done)) = &mut this.replacement else { return Pin::new(&mut this.stream).poll_write(cx, bytes) };
        while let Some(rest) = text.get(*done..).filter(|rest| !rest.is_empty()) {
            let written = ready!(Pin::new(&mut this.stream).poll_write(cx, rest))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            *done += written;
        }
        this.replacement = None;
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for RefusedHeadStream<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_is_replaced_only_without_a_body_of_its_own() {
        let refused = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        let text = String::from_utf8(replacement(refused).unwrap()).unwrap();
        assert!(text.starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\n"), "{text}");
        assert!(text.contains("\"allowed\":false") && text.contains("headers are too long"), "{text}");
        for other in [
            &b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"[..],
            b"HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\n\r\n",
            b"data: HTTP/1.1 400 Bad Request\r\n\r\n",
            b"HTTP/1.1 400 Bad Request\r\n",
        ] {
            assert_eq!(replacement(other), None);
        }
    }
}
