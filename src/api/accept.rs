//! Accepts connections, and serves HTTP/1.1 on each.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header;
use axum::response::Response;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;
use tracing::Instrument as _;
use tracing::field::Empty;

use super::auth::{self, Transport};
use super::connections::{ConnectionHandle, Connections, InFlight, MAX_CONNECTIONS};
use super::error::ApiError;
use super::page::{self, Site};
use super::refused_head::RefusedHeadStream;
use super::timeouts::TimeoutStream;
use super::tls;
use fairway_core::domain::secrets::mask;
use fairway_core::os::{socket, user};

/// A failed `accept` may mean that the process has no free descriptor.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

#[derive(Clone)]
pub(super) struct Acceptor {
    pub(super) router: Router,
    pub(super) connections: Arc<Connections>,
    pub(super) shutdown: watch::Receiver<bool>,
}

/// Accepts connections on the Unix socket until shutdown. Drops connections of other users.
pub(super) async fn accept_on_socket(acceptor: Acceptor, listener: UnixListener) {
    let mut shutdown = acceptor.shutdown.clone();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = shutdown.wait_for(|shutdown| *shutdown) => return,
        };
        match accepted {
            Ok((stream, _)) => match socket::peer_uid(&stream) {
                Ok(uid) if uid == user::uid() => acceptor.admit(stream, Transport::Socket, None),
                _ => drop(stream),
            },
            Err(_) => sleep(ACCEPT_RETRY_DELAY).await,
        }
    }
}

/// Accepts connections on a TCP port until shutdown. With `tls` they are encrypted.
pub(super) async fn accept_on_port(
    acceptor: Acceptor,
    listener: TcpListener,
    transport: Transport,
    tls: Option<TlsAcceptor>,
) {
    let mut shutdown = acceptor.shutdown.clone();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = shutdown.wait_for(|shutdown| *shutdown) => return,
        };
        match accepted {
            Ok((stream, _)) => {
                let _ = stream.set_nodelay(true);
                let ends = stream.peer_addr().and_then(|client| Ok((client, stream.local_addr()?)));
                match &tls {
                    Some(tls) => acceptor.admit_encrypted(stream, tls.clone(), transport.clone(), ends.ok()),
                    None => acceptor.admit(stream, transport.clone(), ends.ok()),
                }
            }
            Err(_) => sleep(ACCEPT_RETRY_DELAY).await,
        }
    }
}

/// Reads and writes without waiting, for a connection that is refused at once.
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
    fn admit<T: NonBlockingIo + AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        &self,
        stream: T,
        transport: Transport,
        ends: Option<(SocketAddr, SocketAddr)>,
    ) {
        let Some(connection) = self.connections.accept() else {
            let error = ApiError::busy(format!("{MAX_CONNECTIONS} connections are open, each with a request"));
            let text = error.closing_response();
            let _ = stream.write_now(text.as_bytes());
            // Closing with unread input resets the connection, and the peer would lose the response.
            let _ = stream.read_now(&mut [0; 16 * 1024]);
            return;
        };
        let acceptor = self.clone();
        tokio::spawn(async move {
            acceptor.serve_connection(stream, transport, ends, &connection).await;
            acceptor.connections.remove(&connection);
        });
    }

    /// Admits a connection that begins with a TLS handshake. The connection counts as open from here on, so that many clients
    /// that never finish the handshake cannot keep others out.
    fn admit_encrypted(
        &self,
        stream: TcpStream,
        tls: TlsAcceptor,
        transport: Transport,
        ends: Option<(SocketAddr, SocketAddr)>,
    ) {
        let Some(connection) = self.connections.accept() else { return };
        let acceptor = self.clone();
        tokio::spawn(async move {
            let encrypted = tokio::select! {
                encrypted = tls::handshake(&tls, stream) => encrypted,
                () = connection.evict.notified() => None,
            };
            if let Some(stream) = encrypted {
                acceptor.serve_connection(stream, transport, ends, &connection).await;
            }
            acceptor.connections.remove(&connection);
        });
    }

    async fn serve_connection(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
        transport: Transport,
        ends: Option<(SocketAddr, SocketAddr)>,
        handle: &Arc<ConnectionHandle>,
    ) {
        let service = service_fn(|request: Request<Incoming>| {
            let in_flight = self.connections.start_request(handle);
            let router = TowerToHyperService::new(self.router.clone());
            let page_address = ends.and_then(|ends| match transport {
                Transport::Socket => None,
                Transport::Port { .. } => Site::local_address(request.headers(), ends),
                Transport::Network { is_encrypted } => Site::network_address(request.headers(), ends, is_encrypted),
            });
            let is_page = match transport {
                Transport::Socket => false,
                // Who comes by a wrong way reads a page that says so.
                Transport::Port { .. } => page_address.is_some() || auth::is_browser(request.headers()),
                Transport::Network { .. } => true,
            };
            let authenticated = auth::check_target(&request)
                .and_then(|()| if is_page { Ok(()) } else { transport.authenticate(&request) });
            let path = request.uri().path().to_owned();
            let span = tracing::debug_span!("request", method = %request.method(), path = mask(&path), status = Empty);
            let of_request = span.clone();
            async move {
                let result = match authenticated {
                    Ok(()) if is_page => catch_panic(page::respond(request.map(Body::new), page_address)).await,
                    Ok(()) => {
                        let response = router.call(request.map(Body::new));
                        catch_panic(async { response.await.unwrap_or_else(|never: Infallible| match never {}) }).await
                    }
                    Err(error) => Err(error),
                };
                let response = finish_response(result, &path, in_flight);
                span.record("status", response.status().as_u16());
                Ok::<_, Infallible>(response)
            }
            .instrument(of_request)
        });
        let mut shutdown = self.shutdown.clone();
        let mut builder = http1::Builder::new();
        // A browser that is gone must not count as a person who watches: its stream has no other end.
        builder.half_close(transport == Transport::Socket);
        let stream = RefusedHeadStream::new(TimeoutStream::new(stream, Arc::clone(handle)));
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let mut is_shutting_down = false;
        loop {
            tokio::select! {
                // An error of one connection concerns its peer alone.
                _ = connection.as_mut() => return,
                () = handle.evict.notified() => return,
                _ = shutdown.wait_for(|shutdown| *shutdown), if !is_shutting_down => {
                    is_shutting_down = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }
}

/// Completes a response: an error gets its document, and the request counts as in flight until the last byte of the
/// body.
fn finish_response(
    result: Result<Response, ApiError>,
    path: &str,
    in_flight: InFlight,
) -> hyper::Response<TrackedBody> {
    let response = match result {
        Ok(mut response) => match response.extensions_mut().remove::<ApiError>() {
            Some(error) => {
                let mut document = error.response_for(path);
                // The router names the route's methods.
                document
                    .headers_mut()
                    .extend(response.headers_mut().remove(header::ALLOW).map(|all| (header::ALLOW, all)));
                document
            }
            None => response,
        },
        Err(error) => error.response_for(path),
    };
    response.map(|body| TrackedBody { body, _in_flight: in_flight })
}

/// Keeps a request in flight until the body is dropped.
struct TrackedBody {
    body: Body,
    _in_flight: InFlight,
}

impl hyper::body::Body for TrackedBody {
    type Data = axum::body::Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        self.body.size_hint()
    }
}

/// Runs a handler, and turns a panic into an internal error.
pub(super) async fn catch_panic(handler: impl Future<Output = Response>) -> Result<Response, ApiError> {
    let mut handler = pin!(handler);
    std::future::poll_fn(|cx| {
        let polled = catch_unwind(AssertUnwindSafe(|| Pin::as_mut(&mut handler).poll(cx)));
        match polled {
            Ok(polled) => polled.map(Ok),
            Err(_) => std::task::Poll::Ready(Err(ApiError::internal("internal error: the request handler panicked"))),
        }
    })
    .await
}
