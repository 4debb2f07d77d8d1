//! The head of a request to a proxy: which host it asks for, and which of its lines are passed on. A head that two programs
//! could read differently is refused.

pub const MAX_HEAD_BYTES: usize = 32 << 10;
const END: &[u8] = b"\r\n\r\n";
const HTTP_PORT: u16 = 80;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProxyRequest {
    /// A tunnel to `host:port`.
    Tunnel { authority: Vec<u8> },
    /// A request in clear text for a host. The caller writes the line of the host and passes the rest of the head on.
    Plain { authority: Vec<u8>, line: Vec<u8>, fields: Vec<u8> },
}

/// Why a head is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRequest(pub &'static str);

impl ProxyRequest {
    /// The requested host as it was written, and the default port for this kind of request; `None` when the request itself must
    /// name the port.
    pub fn authority(&self) -> (&[u8], Option<u16>) {
        match self {
            Self::Tunnel { authority } => (authority, None),
            Self::Plain { authority, .. } => (authority, Some(HTTP_PORT)),
        }
    }

    /// The head that is sent on to the host, for a request in clear text; empty for a tunnel. It asks the host to close the
    /// connection after this request.
    pub fn head(&self, host: &str) -> Vec<u8> {
        match self {
            Self::Tunnel { .. } => Vec::new(),
            Self::Plain { line, fields, .. } => {
                let host = format!("Host: {host}\r\nConnection: close\r\n");
                [line, host.as_bytes(), fields, b"\r\n"].concat()
            }
        }
    }
}

/// The length of the head including its end; `None` while the head is incomplete.
pub fn head_length(bytes: &[u8]) -> Option<usize> {
    bytes.windows(END.len()).position(|window| window == END).map(|at| at + END.len())
}

/// Parses a complete head.
/// Fails for a head that two programs could read differently, and for one that is no request to a proxy.
pub fn parse(head: &[u8]) -> Result<ProxyRequest, BadRequest> {
    let lines = head.strip_suffix(END).ok_or(BadRequest("the head of the request has no end"))?;
    let mut lines = split_lines(lines)?.into_iter();
    let words: Vec<&[u8]> = lines.next().unwrap_or_default().split(|byte| *byte == b' ').collect();
    // A name may have spaces in it: it is shown as it was asked for.
    let (method, version, target) = match words[..] {
        [method, ref target @ .., version] if !target.is_empty() => (method, version, target.join(&b' ')),
        _ => return Err(BadRequest("the first line of the request is none of HTTP")),
    };
    if !matches!(version, b"HTTP/1.1" | b"HTTP/1.0") || !method.iter().all(u8::is_ascii_uppercase) || method.is_empty()
    {
        return Err(BadRequest("the first line of the request is none of HTTP/1.1"));
    }
    if method == b"CONNECT" {
        return Ok(ProxyRequest::Tunnel { authority: target });
    }
    let rest = match target.split_at_checked(7) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case(b"http://") => rest,
        _ => return Err(BadRequest("only CONNECT and addresses that begin with http:// are for a proxy")),
    };
    let end = rest.iter().position(|byte| b"/?#".contains(byte)).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if !path.iter().all(u8::is_ascii_graphic) {
        return Err(BadRequest("the path of the request has a character that no path has"));
    }
    let slash: &[u8] = if path.starts_with(b"/") { b"" } else { b"/" };
    let line = [method, b" ", slash, path, b" HTTP/1.1\r\n"].concat();
    let mut fields = Vec::new();
    for field in lines {
        let name = field.split(|byte| *byte == b':').next().unwrap_or_default();
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
        if name.is_empty() || name.len() == field.len() || !name.iter().all(is_name) {
            return Err(BadRequest("a line of the request's head is no field"));
        }
        if !is_of_connection(name) {
            fields.extend([field, b"\r\n"].concat());
        }
    }
    Ok(ProxyRequest::Plain { authority: authority.to_vec(), line, fields })
}

/// Whether a response's head is an interim one (status 1xx), which comes before the head of the response itself.
pub fn is_interim(head: &[u8]) -> bool {
    let status = head.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
    status.len() == 3 && status.starts_with(b"1")
}

/// Rewrites a response's head so that the connection ends with the response, even if the server would keep it open: the next
/// request on the connection would reach this server unchecked.
pub fn closing(head: &[u8]) -> Vec<u8> {
    let mut closing = Vec::new();
    for (at, line) in head.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
        if at == 0 || !is_of_connection(name.trim_ascii()) {
            closing.extend(line);
        }
        if at == 0 {
            closing.extend(b"Connection: close\r\n");
        }
    }
    closing
}

/// Whether a header field concerns the connection to the proxy, or is written anew.
fn is_of_connection(name: &[u8]) -> bool {
    let all: [&[u8]; 6] =
        [b"host", b"connection", b"keep-alive", b"upgrade", b"proxy-connection", b"proxy-authorization"];
    all.iter().any(|one| one.eq_ignore_ascii_case(name))
}

/// Splits the head into lines and refuses a single CR or LF within one.
fn split_lines(bytes: &[u8]) -> Result<Vec<&[u8]>, BadRequest> {
    let mut lines = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(2).position(|two| two == b"\r\n") {
        lines.push(rest.get(..at).unwrap_or_default());
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    lines.push(rest);
    if lines.iter().skip(1).any(|line| line.iter().any(|byte| b"\r\n\0".contains(byte))) {
        return Err(BadRequest("a line of the request's head has a control character"));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(head: &str) -> Result<(String, String), &'static str> {
        let request = parse(head.as_bytes()).map_err(|bad| bad.0)?;
        let authority = String::from_utf8_lossy(request.authority().0).into_owned();
        Ok((authority, String::from_utf8(request.head("HOST")).unwrap()))
    }

    #[test]
    fn tunnels_and_requests_name_their_host() {
        let tunnel = said("CONNECT a.example:443 HTTP/1.1\r\nHost: other\r\n\r\n").unwrap();
        assert_eq!(tunnel, ("a.example:443".into(), String::new()));
        // The reader of names refuses bytes that no name has.
        let trick = said("CONNECT evil\0 .a.example:443 HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!(trick.0, "evil\0 .a.example:443");
        let plain = said(
            "GET http://A.example/x?y=1 HTTP/1.1\r\nHost: other\r\nProxy-Connection: keep-alive\r\nAccept: */*\r\n\
             Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
        );
        let head = "GET /x?y=1 HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\nAccept: */*\r\n\r\n";
        assert_eq!(plain.unwrap(), ("A.example".into(), head.into()));
        let bare = said("POST HTTP://a.example:8080?q HTTP/1.0\r\n\r\n").unwrap();
        assert_eq!(
            bare,
            ("a.example:8080".into(), "POST /?q HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n".into())
        );
        assert_eq!(said("GET http://good@evil/ HTTP/1.1\r\n\r\n").unwrap().0, "good@evil");
        assert_eq!(head_length(b"CONNECT a:1 HTTP/1.1\r\n\r\nrest"), Some(24));
        assert_eq!(head_length(b"CONNECT a:1 HTTP/1.1\r\n\r"), None);
    }

    #[test]
    fn answer_ends_its_connection() {
        let head = b"HTTP/1.1 200 OK\r\nKeep-Alive: 5\r\nA: b\r\nCONNECTION: keep-alive\r\n\r\n";
        assert_eq!(closing(head), b"HTTP/1.1 200 OK\r\nConnection: close\r\nA: b\r\n\r\n");
        assert!(is_interim(b"HTTP/1.1 100 Continue\r\n\r\n") && !is_interim(head));
    }

    #[test]
    fn heads_that_could_be_read_in_two_ways_are_refused() {
        for bad in [
            "",
            "\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET https://a.example/ HTTP/1.1\r\n\r\n",
            "GET ftp://a.example/ HTTP/1.1\r\n\r\n",
            "CONNECT a.example:443\r\n\r\n",
            "CONNECT a.example:443 HTTP/2\r\n\r\n",
            "connect a.example:443 HTTP/1.1\r\n\r\n",
            "CONNECT a.example:443 HTTP/1.1\n\n",
            "GET http://a.example/ HTTP/1.1\r\nA: b\nHost: evil\r\n\r\n",
            "GET http://a.example/ HTTP/1.1\r\nA: b\r\n folded\r\n\r\n",
            "GET http://a.example/ HTTP/1.1\r\nHost : evil\r\n\r\n",
            "GET http://a.example/ HTTP/1.1\r\nno field\r\n\r\n",
            "GET http://a.example/\u{1} HTTP/1.1\r\n\r\n",
            "GET http://a.example/a b HTTP/1.1\r\n\r\n",
        ] {
            assert!(said(bad).is_err(), "{bad:?}: {:?}", said(bad));
        }
    }
}
