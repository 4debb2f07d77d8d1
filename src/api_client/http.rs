//! Reads the HTTP/1.1 responses of Fairway's own server: a status, and a body with a length or in chunks.

use std::io::{self, Read};

use super::error::ApiClientError;

/// The maximum body, in bytes.
const MAX_BODY_BYTES: usize = 64 << 20;
/// The maximum head, in bytes.
const MAX_HEAD_BYTES: usize = 16 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpResponse {
    pub status: u16,
    pub body: Vec<u8>,
}

/// Reads one response. `before` is called before each read.
pub(super) fn read_response<T: Read>(
    from: &mut T,
    mut before: impl FnMut(&mut T) -> Result<(), ApiClientError>,
) -> Result<HttpResponse, ApiClientError> {
    let mut buffer = Vec::new();
    let mut more = |buffer: &mut Vec<u8>| -> Result<(), ApiClientError> {
        let mut part = [0; 16 * 1024];
        loop {
            before(from)?;
            match from.read(&mut part) {
                Ok(0) => return Err(ApiClientError::Disconnected(io::ErrorKind::UnexpectedEof.into())),
                Ok(read) => {
                    buffer.extend_from_slice(part.get(..read).unwrap_or_default());
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    };
    let end = loop {
        if let Some(at) = find_bytes(&buffer, b"\r\n\r\n") {
            break at;
        }
        if buffer.len() > MAX_HEAD_BYTES {
            return Err(ApiClientError::InvalidResponse("head too long"));
        }
        more(&mut buffer)?;
    };
    let mut rest = buffer.split_off(end + 4);
    let head = Head::parse(&buffer)?;
    let Some(length) = head.length else {
        let mut body = Vec::new();
        loop {
            let line = loop {
                if let Some(at) = find_bytes(&rest, b"\r\n") {
                    break at;
                }
                more(&mut rest)?;
            };
            let size = rest.get(..line).and_then(|line| std::str::from_utf8(line).ok());
            let size = size.and_then(|size| usize::from_str_radix(size.split(';').next()?.trim(), 16).ok());
            let size = size
                .filter(|size| body.len() + size <= MAX_BODY_BYTES)
                .ok_or(ApiClientError::InvalidResponse("invalid chunk size"))?;
            while rest.len() < line + 2 + size + 2 {
                more(&mut rest)?;
            }
            body.extend_from_slice(rest.get(line + 2..line + 2 + size).unwrap_or_default());
            rest.drain(..line + 2 + size + 2);
            if size == 0 {
                return Ok(HttpResponse { status: head.status, body });
            }
        }
    };
    if length > MAX_BODY_BYTES {
        return Err(ApiClientError::InvalidResponse("body too long"));
    }
    while rest.len() < length {
        more(&mut rest)?;
    }
    rest.truncate(length);
    Ok(HttpResponse { status: head.status, body: rest })
}

struct Head {
    status: u16,
    /// `None` for a chunked body.
    length: Option<usize>,
}

impl Head {
    fn parse(bytes: &[u8]) -> Result<Self, ApiClientError> {
        let text = std::str::from_utf8(bytes).map_err(|_| ApiClientError::InvalidResponse("head is not UTF-8"))?;
        let mut lines = text.split("\r\n");
        let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok());
        let status = status.ok_or(ApiClientError::InvalidResponse("not HTTP/1.1"))?;
        let mut length = Some(0);
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            if name.eq_ignore_ascii_case("content-length") {
                length =
                    Some(value.trim().parse().map_err(|_| ApiClientError::InvalidResponse("invalid content-length"))?);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                length = None;
                break;
            }
        }
        Ok(Self { status, length })
    }
}

fn find_bytes(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|window| window == needle)
}
