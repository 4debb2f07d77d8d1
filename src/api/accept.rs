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
    auth::Transport,
    authorize_denial::AUTHORIZE_PATH,
    catch_panic::catch_panic,
    connections::{ConnectionHandle, Connections, InFlight, MAX_CONNECTIONS},
    error::ApiError,
    timeouts::TimeoutStream,
};
use crate::os::{socket, user};

/// How long to wait before trying again to let somebody in, when this process has no room.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Everything that serving one takes.
#[derive(Clone)]
pub(super) struct Acceptor {
    pub(super) router: Router,
    pub(super) connections: Arc<Connections>,
    pub(super) shutdown: watch::Receiver<bool>,
}

/// Lets people in at the socket, until the server ends.
pub(super) async fn accept_on_socket(front: Acceptor, listener: UnixListener) {
    let mut ending = front.shutdown.clone();
    loop {
        let came = tokio::select! {
            came = listener.accept() => came,
            _ = ending.wait_for(|ending| *ending) => return,
        };
        match came {
            Ok((stream, _)) => match socket::peer_uid(&stream) {
                Ok(uid) if uid == user::uid() => front.admit(stream, Transport::Socket),
                _ => drop(stream),
            },
            Err(_) => sleep(ACCEPT_RETRY_DELAY).await,
        }
    }
}

/// Lets people in at the port, until the server ends.
pub(super) async fn accept_on_port(front: Acceptor, listener: TcpListener, entry: Transport) {
    let mut ending = front.shutdown.clone();
    loop {
        let came = tokio::select! {
            came = listener.accept() => came,
            _ = ending.wait_for(|ending| *ending) => return,
        };
        match came {
            Ok((stream, _)) => {
                let _ = stream.set_nodelay(true);
                front.admit(stream, entry.clone());
            }
            Err(_) => sleep(ACCEPT_RETRY_DELAY).await,
        }
    }
}

/// A stream that can be told something at once.
trait NonBlockingIo {
    fn write_now(&self, text: &[u8]) -> io::Result<usize>;
    fn read_now(&self, into: &mut [u8]) -> io::Result<usize>;
}

impl NonBlockingIo for UnixStream {
    fn write_now(&self, text: &[u8]) -> io::Result<usize> {
        self.try_write(text)
    }
    fn read_now(&self, into: &mut [u8]) -> io::Result<usize> {
        self.try_read(into)
    }
}

impl NonBlockingIo for TcpStream {
    fn write_now(&self, text: &[u8]) -> io::Result<usize> {
        self.try_write(text)
    }
    fn read_now(&self, into: &mut [u8]) -> io::Result<usize> {
        self.try_read(into)
    }
}

impl Acceptor {
    fn admit<T: NonBlockingIo + AsyncRead + AsyncWrite + Unpin + Send + 'static>(&self, stream: T, entry: Transport) {
        let Some(guest) = self.connections.accept() else {
            // The request is not read, so the answer must fit every route: it denies a tool call as well.
            let error = ApiError::busy(format!("{MAX_CONNECTIONS} connections are open, each with a request"));
            let body = error.document_for(AUTHORIZE_PATH).to_string();
            let text = format!(
                "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nconnection: close\r\n\
                 content-length: {}\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_now(text.as_bytes());
            // What was said already must be taken, or the answer is lost with the connection.
            let _ = stream.read_now(&mut [0; 16 * 1024]);
            return;
        };
        let front = self.clone();
        tokio::spawn(async move {
            front.serve_connection(stream, entry, &guest).await;
            front.connections.remove(&guest);
        });
    }

    async fn serve_connection(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
        entry: Transport,
        guest: &Arc<ConnectionHandle>,
    ) {
        let service = service_fn(|request: Request<Incoming>| {
            let busy = self.connections.start_request(guest);
            let router = TowerToHyperService::new(self.router.clone());
            let admitted = entry.authenticate(&request);
            async move {
                let path = request.uri().path().to_owned();
                let answered = match admitted {
                    Ok(()) => {
                        let answer = router.call(request.map(Body::new));
                        catch_panic(async { answer.await.unwrap_or_else(|never: Infallible| match never {}) }).await
                    }
                    Err(fault) => Err(fault),
                };
                Ok::<_, Infallible>(finish_response(answered, &path, busy))
            }
        });
        let mut ending = self.shutdown.clone();
        let mut builder = http1::Builder::new();
        builder.half_close(true);
        let connection = builder.serve_connection(TokioIo::new(TimeoutStream::new(stream, Arc::clone(guest))), service);
        let mut connection = std::pin::pin!(connection);
        let mut is_told = false;
        loop {
            tokio::select! {
                // How it ended is its own affair.
                _ = connection.as_mut() => return,
                () = guest.evict.notified() => return,
                _ = ending.wait_for(|ending| *ending), if !is_told => {
                    is_told = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }
}

/// The answer as it goes out: a fault with its document, and whoever asked is served until the last byte.
fn finish_response(answered: Result<Response, ApiError>, path: &str, busy: InFlight) -> hyper::Response<TrackedBody> {
    let response = match answered {
        Ok(mut response) => match response.extensions_mut().remove::<ApiError>() {
            Some(fault) => fault.response_for(path),
            None => response,
        },
        Err(fault) => fault.response_for(path),
    };
    response.map(|body| TrackedBody { body, _in_flight: busy })
}

/// A body, until whose end a guest is busy.
struct TrackedBody {
    body: Body,
    _in_flight: InFlight,
}

impl hyper::body::Body for TrackedBody {
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
