//! The address of this machine by which it reaches others.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

/// The address of the same family from which packets to other networks would go. None is sent. `None` without a route.
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
