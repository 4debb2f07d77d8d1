//! The user at the other end of a TCP connection between two programs of this machine.

use std::{
    fs,
    net::{IpAddr, SocketAddr},
};

/// The uid of the client's program; `None` for a connection that the kernel does not list.
pub fn of_connection(client: SocketAddr, server: SocketAddr) -> Option<u32> {
    let table = match client {
        SocketAddr::V4(_) => "/proc/self/net/tcp",
        SocketAddr::V6(_) => "/proc/self/net/tcp6",
    };
    find(&fs::read_to_string(table).ok()?, &written(client), &written(server))
}

/// An address as the kernel writes it: each word of the address in the host's byte order, then the port.
fn written(at: SocketAddr) -> String {
    let words: String = match at.ip() {
        IpAddr::V4(ip) => format!("{:08X}", u32::from_ne_bytes(ip.octets())),
        IpAddr::V6(ip) => ip
            .octets()
            .chunks_exact(4)
            .map(|word| format!("{:08X}", u32::from_ne_bytes(word.try_into().unwrap_or_default())))
            .collect(),
    };
    format!("{words}:{:04X}", at.port())
}

fn find(table: &str, client: &str, server: &str) -> Option<u32> {
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_it = *fields.get(1)? == client && *fields.get(2)? == server;
        if is_it { fields.get(7)?.parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::os::user;

    #[test]
    fn client_of_this_machine_has_a_user() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let server = listener.local_addr().unwrap();
            let client = TcpStream::connect(server).unwrap().local_addr().unwrap();
            let stream = TcpStream::connect(server).unwrap();
            assert_eq!(of_connection(stream.local_addr().unwrap(), server), Some(user::uid()), "{address}");
            // Without a socket that still belongs to a program there is no user.
            assert_eq!(of_connection(SocketAddr::new(client.ip(), 1), server), None);
        }
    }
}
