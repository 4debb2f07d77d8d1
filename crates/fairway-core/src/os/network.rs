//! Addresses of this machine, and the users at the other ends of its TCP connections.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// The IP address, of the same family as `family`, from which this machine sends packets to other networks. `None` without a
/// route to them, or when the address is a loopback one. No packet is sent.
pub fn outgoing_ip(family: IpAddr) -> Option<IpAddr> {
    // Addresses for documentation: they belong to no machine.
    let (any, other): (IpAddr, IpAddr) = match family {
        IpAddr::V4(_) => (Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::new(192, 0, 2, 1).into()),
        IpAddr::V6(_) => (Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into()),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((other, 9)).ok()?;
    let ip = socket.local_addr().ok()?.ip();
    (!ip.is_unspecified() && !ip.is_loopback()).then_some(ip)
}

/// The user id of the client process of a TCP connection within this machine; `None` when the kernel does not list the
/// connection.
pub fn uid_of_connection(client: SocketAddr, server: SocketAddr) -> Option<u32> {
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
            assert_eq!(uid_of_connection(stream.local_addr().unwrap(), server), Some(user::uid()), "{address}");
            // Without a socket that still belongs to a program there is no user.
            assert_eq!(uid_of_connection(SocketAddr::new(client.ip(), 1), server), None);
        }
    }
}
