//! Who may ask: at the socket the same user, on 127.0.0.1 whoever has the token and is no page in a browser.

use axum::http::{HeaderMap, Request, StatusCode, header};

use super::error::ApiError;

/// Which way somebody came.
#[derive(Debug, Clone)]
pub(super) enum Transport {
    /// Through the socket; the kernel has said who it is.
    Socket,
    /// Through a port, with what every request there must have.
    Port {
        /// The port's number.
        port: u16,
        /// The token.
        token: String,
    },
}

impl Transport {
    /// Refuses who may not ask.
    ///
    /// # Errors
    /// `not_admitted`, with why.
    pub(super) fn authenticate<T>(&self, request: &Request<T>) -> Result<(), ApiError> {
        let Self::Port { port, token } = self else { return Ok(()) };
        let headers = request.headers();
        if headers.contains_key(header::ORIGIN) {
            return Err(ApiError::unauthorized(StatusCode::FORBIDDEN, "a page in a browser may not ask here"));
        }
        let host = single_header(headers, header::HOST);
        let is_ours = |host: &str| ["127.0.0.1", "localhost"].iter().any(|name| host == format!("{name}:{port}"));
        if !host.is_some_and(is_ours) {
            return Err(ApiError::unauthorized(StatusCode::FORBIDDEN, format!("the Host must be 127.0.0.1:{port}")));
        }
        let said = single_header(headers, header::AUTHORIZATION).and_then(|said| said.strip_prefix("Bearer "));
        if !said.is_some_and(|said| constant_time_eq(said.as_bytes(), token.as_bytes())) {
            let why = "the Authorization must be: Bearer and the token in .fairway/runtime/worker.token";
            return Err(ApiError::unauthorized(StatusCode::UNAUTHORIZED, why));
        }
        Ok(())
    }
}

/// A header that is there exactly once.
fn single_header(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?;
    if all.next().is_some() { None } else { first.to_str().ok() }
}

/// Compares in a time that does not tell where the difference is.
fn constant_time_eq(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |differs, (one, other)| differs | (one ^ other)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_wants_token_and_host_and_no_browser() {
        let port = Transport::Port { port: 7, token: "abc".into() };
        let ask = |headers: &[(&str, &str)]| {
            let request =
                headers.iter().fold(Request::builder(), |request, (name, value)| request.header(*name, *value));
            let request = request.body(()).unwrap();
            (
                port.authenticate(&request).map_err(|fault| fault.status.as_u16()),
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
