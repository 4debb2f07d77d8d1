//! The address of a session's own multiplexer server. Each session has a separate server, so that none can be mistaken for
//! another and each ends with its program.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::env::vars;
use crate::os::{digest, files, user};

/// The longest path of the directory, in bytes: a socket's address has at most 107, and names in the directory need up to 60.
const MAX_DIR_BYTES: usize = 47;
/// The longest session name that is used unchanged.
const MAX_PLAIN_NAME_BYTES: usize = 32;
/// How many characters of a digest are used.
const DIGEST_CHARS: usize = 16;

/// Which servers have their sockets in the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketDir {
    /// The directory also has the sockets of the other servers of this state directory and program.
    Shared,
    /// The directory is this server's alone: for programs that remove the sockets of servers that are just starting.
    Private,
}

/// The names by which a session's server is reached and found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerAddress {
    /// The directory of its sockets: letters, digits and `/._-` only.
    pub dir: PathBuf,
    /// The session's name as the multiplexer knows it: at most 33 letters, digits and `_-.`, of this session only.
    pub name: String,
    /// An entry of the server's environment (`NAME=value`) by which it is found in any state.
    pub env_tag: String,
}

impl ServerAddress {
    /// Determines where the multiplexer server of `session` has its socket: in the state directory, or in a private directory
    /// below `/tmp` when that path is too long or has unusual characters. Creates nothing.
    pub fn of(state: &Path, program: &str, session: &str, neighbours: SocketDir) -> Self {
        let (mut near, mut who) = (state.join(program), state.as_os_str().as_bytes().to_vec());
        if neighbours == SocketDir::Private {
            near.push(short_digest(session.as_bytes()));
            who = [who.as_slice(), b"\0", session.as_bytes()].concat();
        }
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-".contains(byte);
        let near_bytes = near.as_os_str().as_bytes();
        let directory = if near_bytes.len() <= MAX_DIR_BYTES && near_bytes.iter().all(is_plain) {
            near
        } else {
            private_tmp_dir().join(short_digest(&who)).join(program)
        };
        Self { dir: directory, name: server_name(session), env_tag: env_tag(state, session) }
    }

    /// Creates the directory of the server's socket with access for this user alone. Fails when the directory is a link or
    /// belongs to another user.
    pub fn create_dir(&self) -> io::Result<()> {
        let own = private_tmp_dir();
        if self.dir.starts_with(&own) {
            files::private_dir(&own)?;
        }
        self.dir.parent().map_or(Ok(()), files::private_dir)?;
        files::private_dir(&self.dir)
    }
}

/// The environment entry (`NAME=value`) that marks the processes of the multiplexer server of `session`, so that they can be
/// found.
pub fn env_tag(state: &Path, session: &str) -> String {
    let both = [state.as_os_str().as_bytes(), b"\0", session.as_bytes()].concat();
    format!("{}={}", vars::FAIRWAY_SERVER, digest::sha256_hex(&both))
}

fn private_tmp_dir() -> PathBuf {
    PathBuf::from(format!("/tmp/fairway-{}", user::uid()))
}

fn short_digest(bytes: &[u8]) -> String {
    digest::sha256_hex(bytes).chars().take(DIGEST_CHARS).collect()
}

/// An unchanged name has no dot, so it cannot be mistaken for the digest form of another name.
fn server_name(session: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !session.is_empty()
        && session.len() <= MAX_PLAIN_NAME_BYTES
        && session.bytes().all(is_plain)
        && !session.starts_with('-')
    {
        return session.to_owned();
    }
    let readable: String = session
        .chars()
        .take(DIGEST_CHARS)
        .map(|one| if u8::try_from(one).is_ok_and(is_plain) { one } else { '_' })
        .collect();
    format!("{}.{}", readable.trim_start_matches('-'), short_digest(session.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_an_address_of_its_own_that_fits() {
        let state = Path::new("/s/state");
        let long = "x".repeat(5_000);
        let names = ["a", "ab", "a-1", "a-10", "a.1", "a/1", "a_1", "-a", "é", "", " ", "$x", "^x", &long, &long[1..]];
        let addresses: Vec<ServerAddress> =
            names.iter().map(|name| ServerAddress::of(state, "screen", name, SocketDir::Shared)).collect();
        for (at, address) in addresses.iter().enumerate() {
            assert!(address.name.len() <= 33 && !address.name.starts_with('-'), "{}", address.name);
            assert!(
                address.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)),
                "{}",
                address.name
            );
            assert_eq!(address.dir, Path::new("/s/state/screen"));
            for other in &addresses[..at] {
                assert!(
                    other.name != address.name && other.env_tag != address.env_tag,
                    "{} {}",
                    other.name,
                    address.name
                );
            }
        }
        let alone = |name: &&str| ServerAddress::of(state, "zellij", name, SocketDir::Private).dir;
        let directories: std::collections::BTreeSet<PathBuf> = names.iter().map(alone).collect();
        assert_eq!(directories.len(), names.len());
        let digest = server_name("a.1");
        assert_ne!(server_name(&digest), digest);
    }

    #[test]
    fn dir_that_is_too_long_or_odd_lies_elsewhere() {
        for state in ["/s/a b", "/s/$x", &format!("/{}", "x".repeat(60))] {
            for neighbours in [SocketDir::Shared, SocketDir::Private] {
                let of = |state: &str| ServerAddress::of(Path::new(state), "zellij", "a", neighbours);
                let address = of(state);
                assert!(
                    address.dir.starts_with("/tmp") && address.dir.as_os_str().len() <= MAX_DIR_BYTES,
                    "{address:?}"
                );
                assert_eq!(address, of(state));
                assert_ne!(address.dir, of("/s/a c").dir);
            }
        }
    }
}
