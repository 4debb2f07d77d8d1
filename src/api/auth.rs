//! Authentication: the Unix socket admits the same user, 127.0.0.1 a client with the bearer token that is not a browser page.

use axum::http::{HeaderMap, Method, Request, StatusCode, header};

use super::error::ApiError;
use fairway_core::domain::secrets::constant_time_eq;

/// How a client is connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Transport {
    /// The Unix socket. The kernel has confirmed the peer's user.
    Socket,
    Port {
        port: u16,
        token: String,
    },
    /// A port in the network, which has only the page.
    Network {
        is_encrypted: bool,
    },
}

impl Transport {
    /// Checks by its headers whether a request may use the worker API. Every request at the Unix socket may, and no request
    /// from the network. A request at the local port needs the token, must not come from a page in a browser, and may not
    /// answer a permission request. Error: `not_admitted`, with the reason.
    pub(super) fn authenticate<T>(&self, request: &Request<T>) -> Result<(), ApiError> {
        let (port, token) = match self {
            Self::Socket => return Ok(()),
            Self::Port { port, token } => (port, token),
            Self::Network { .. } => {
                return Err(ApiError::unauthorized(StatusCode::FORBIDDEN, "the worker API is not here"));
            }
        };
        let headers = request.headers();
        if headers.contains_key(header::ORIGIN) {
            return Err(ApiError::unauthorized(
                StatusCode::FORBIDDEN,
                "requests from a browser page are denied (header Origin)",
            ));
        }
        let host = single_header(headers, header::HOST);
        let is_ours = |host: &str| ["127.0.0.1", "localhost"].iter().any(|name| host == format!("{name}:{port}"));
        if !host.is_some_and(is_ours) {
            return Err(ApiError::unauthorized(
                StatusCode::FORBIDDEN,
                format!("invalid Host header: must be 127.0.0.1:{port}"),
            ));
        }
        let given = single_header(headers, header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        if !given.is_some_and(|given| constant_time_eq(given.as_bytes(), token.as_bytes())) {
            let why = "missing or invalid bearer token (see .fairway/runtime/worker.token)";
            return Err(ApiError::unauthorized(StatusCode::UNAUTHORIZED, why));
        }
        // Agents' runtimes have the token, and a permission is for a person to give.
        if request.method() == Method::POST && request.uri().path().starts_with("/approvals/") {
            let why = "the runtimes' token answers no permission request";
            return Err(ApiError::unauthorized(StatusCode::FORBIDDEN, why)
                .with_hint("answer it as a person: fairway approvals answer ID allow"));
        }
        Ok(())
    }
}

/// Whether a person looks at the answer: browsers ask for HTML, and clients of the worker API do not.
pub(super) fn is_browser(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|kind| kind.trim().starts_with("text/html"))
}

/// Refuses a request whose target is a full URL with another host than the header `Host`, because HTTP gives the URL
/// precedence. Error: `not_admitted`.
pub(super) fn check_target<T>(request: &Request<T>) -> Result<(), ApiError> {
    let uri = request.uri();
    let named = uri.scheme().and_then(|_| uri.authority());
    if named.is_none_or(|named| single_header(request.headers(), header::HOST) == Some(named.as_str())) {
        return Ok(());
    }
    Err(ApiError::unauthorized(StatusCode::FORBIDDEN, "the request's target names another host than its header Host"))
}

/// The value of a header. Returns `None` when the header is missing, occurs more than once or is not text.
pub(super) fn single_header(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?;
    if all.next().is_some() { None } else { first.to_str().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_requires_token_and_host_and_refuses_browsers() {
        let port = Transport::Port { port: 7, token: "abc".into() };
        let ask = |headers: &[(&str, &str)]| {
            let request =
                headers.iter().fold(Request::builder(), |request, (name, value)| request.header(*name, *value));
            let request = request.body(()).unwrap();
            (
                port.authenticate(&request).map_err(|error| error.status.as_u16()),
                Transport::Socket.authenticate(&request).is_ok(),
            )
        };
        let good = ("host", "127.0.0.1:7");
        let token = ("authorization", "Bearer abc");
        assert_eq!(ask(&[good, token]), (Ok(()), true));
        assert_eq!(ask(&[("host", "localhost:7"), token]), (Ok(()), true));
        for (headers, status) in [
            (&[good][..], 401),
            (&[good, ("authorization", "Bearer abd")], 401),
            (&[good, ("authorization", "Bearer ab")], 401),
            (&[good, ("authorization", "bearer abc")], 401),
            (&[good, token, token], 401),
            (&[token], 403),
            (&[token, ("host", "127.0.0.1:8")], 403),
            (&[token, ("host", "evil.example:7")], 403),
            (&[token, good, ("host", "evil.example")], 403),
            (&[good, token, ("origin", "null")], 403),
        ] {
            assert_eq!(ask(headers), (Err(status), true), "{headers:?}");
        }
    }
}
