//! TCP ports on which a program of this host listens.

use std::collections::BTreeSet;
use std::fs;

/// The state of a listening socket in `/proc/net/tcp`.
const LISTEN: &str = "0A";

/// The ports, of every address. Empty where the kernel does not tell.
pub fn tcp_ports() -> BTreeSet<u16> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
    tables.iter().flat_map(|table| table.lines().skip(1)).filter_map(listening_port).collect()
}

/// `0: 0100007F:1F90 00000000:0000 0A …`: the local address and port, the remote ones, the state.
fn listening_port(line: &str) -> Option<u16> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let (local, _, state) = (fields.next()?, fields.next()?, fields.next()?);
    let (_, port) = local.rsplit_once(':')?;
    (state == LISTEN).then(|| u16::from_str_radix(port, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn listening_port_is_among_them_until_it_is_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(tcp_ports().contains(&port));
        drop(listener);
        assert!(!tcp_ports().contains(&port));
    }
}
