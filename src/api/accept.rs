//! Letting people in, and serving each over one connection.

use std::{convert::Infallible, io, sync::Arc, time::Duration};

use axum::{Router, body::Body, response::Response};
use hyper::{Request, body::Incoming, server::conn::http1, service::Service as _, service::service_fn};
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    sync::watch,
    time::sleep,
};

use super::{
    auth::Entry,
    catch_panic::guarded,
    connections::{Busy, Crowd, Guest},
    error::Fault,
    timeouts::Patient,
};
use crate::os::{socket, user};

/// How long to wait before trying again to let somebody in, when this process has no room.
const LATER: Duration = Duration::from_millis(100);

/// What is told to one for whom there is no room. It answers any route: nothing is allowed.
const FULL: &str = concat!(
    r#"{"error":{"code":"server_busy","kind":"busy","message":"256 connections are served already","#,
    r#""hint":"try again","retryable":true,"details":null},"#,
    r#""allowed":false,"granted":false,"opinion":true,"reason":"256 connections are served already","rule":null}"#
);

/// Everything that serving one takes.
#[derive(Clone)]
pub(super) struct Front {
    pub(super) router: Router,
    pub(super) crowd: Arc<Crowd>,
    pub(super) ending: watch::Receiver<bool>,
}

/// Lets people in at the socket, until the server ends.
pub(super) async fn at_socket(front: Front, listener: UnixListener) {
    let mut ending = front.ending.clone();
    loop {
        let came = tokio::select! {
            came = listener.accept() => came,
            _ = ending.wait_for(|ending| *ending) => return,
        };
        match came {
            Ok((stream, _)) => match socket::peer_uid(&stream) {
                Ok(uid) if uid == user::uid() => front.let_in(stream, Entry::Socket),
                _ => drop(stream),
            },
            Err(_) => sleep(LATER).await,
        }
    }
}

/// Lets people in at the port, until the server ends.
pub(super) async fn at_port(front: Front, listener: TcpListener, entry: Entry) {
    let mut ending = front.ending.clone();
    loop {
        let came = tokio::select! {
            came = listener.accept() => came,
            _ = ending.wait_for(|ending| *ending) => return,
        };
        match came {
            Ok((stream, _)) => {
                let _ = stream.set_nodelay(true);
                front.let_in(stream, entry.clone());
            }
            Err(_) => sleep(LATER).await,
        }
    }
}

/// A stream that can be told something at once.
trait AtOnce {
    fn tell(&self, text: &[u8]) -> io::Result<usize>;
    fn hear(&self, into: &mut [u8]) -> io::Result<usize>;
}

impl AtOnce for UnixStream {
    fn tell(&self, text: &[u8]) -> io::Result<usize> {
        self.try_write(text)
    }
    fn hear(&self, into: &mut [u8]) -> io::Result<usize> {
        self.try_read(into)
    }
}

impl AtOnce for TcpStream {
    fn tell(&self, text: &[u8]) -> io::Result<usize> {
        self.try_write(text)
    }
    fn hear(&self, into: &mut [u8]) -> io::Result<usize> {
        self.try_read(into)
    }
}

impl Front {
    fn let_in<T: AtOnce + AsyncRead + AsyncWrite + Unpin + Send + 'static>(&self, stream: T, entry: Entry) {
        let Some(guest) = self.crowd.enter() else {
            let text = format!(
                "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nconnection: close\r\n\
                 content-length: {}\r\n\r\n{FULL}",
                FULL.len()
            );
            let _ = stream.tell(text.as_bytes());
            // What was said already must be taken, or the answer is lost with the connection.
            let _ = stream.hear(&mut [0; 16 * 1024]);
            return;
        };
        let front = self.clone();
        tokio::spawn(async move {
            front.serve(stream, entry, &guest).await;
            front.crowd.leave(&guest);
        });
    }

    async fn serve(&self, stream: impl AsyncRead + AsyncWrite + Unpin, entry: Entry, guest: &Arc<Guest>) {
        let service = service_fn(|request: Request<Incoming>| {
            let busy = self.crowd.begin(guest);
            let router = TowerToHyperService::new(self.router.clone());
            let admitted = entry.admit(&request);
            async move {
                let path = request.uri().path().to_owned();
                let answered = match admitted {
                    Ok(()) => {
                        let answer = router.call(request.map(Body::new));
                        guarded(async { answer.await.unwrap_or_else(|never: Infallible| match never {}) }).await
                    }
                    Err(fault) => Err(fault),
                };
                Ok::<_, Infallible>(finished(answered, &path, busy))
            }
        });
        let mut ending = self.ending.clone();
        let mut builder = http1::Builder::new();
        builder.half_close(true);
        let connection = builder.serve_connection(TokioIo::new(Patient::new(stream, Arc::clone(guest))), service);
        let mut connection = std::pin::pin!(connection);
        let mut is_told = false;
        loop {
            tokio::select! {
                // How it ended is its own affair.
                _ = connection.as_mut() => return,
                () = guest.leave.notified() => return,
                _ = ending.wait_for(|ending| *ending), if !is_told => {
                    is_told = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }
}

/// The answer as it goes out: a fault with its document, and whoever asked is served until the last byte.
fn finished(answered: Result<Response, Fault>, path: &str, busy: Busy) -> hyper::Response<Served> {
    let response = match answered {
        Ok(mut response) => match response.extensions_mut().remove::<Fault>() {
            Some(fault) => fault.document(path),
            None => response,
        },
        Err(fault) => fault.document(path),
    };
    response.map(|body| Served { body, _busy: busy })
}

/// A body, until whose end a guest is busy.
struct Served {
    body: Body,
    _busy: Busy,
}

impl hyper::body::Body for Served {
    type Data = axum::body::Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Self::Data>, Self::Error>>> {
        std::pin::Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        self.body.size_hint()
    }
}
