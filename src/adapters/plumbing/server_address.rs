//! Where a session's own multiplexer server listens, and by what it is known: one server each, so that none can be taken for
//! another and each ends with its program.

use std::{
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use crate::{
    adapters::builtin_scripts,
    env::vars,
    os::{files, user},
};

/// The longest folder, in bytes: a socket's address holds 107, and what is laid in the folder is up to 60 longer.
const LONGEST: usize = 47;
/// The longest name that is told as it is.
const PLAIN: usize = 32;
/// How much of a digest tells two names apart.
const DIGITS: usize = 16;

/// Whose sockets lie in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Neighbours {
    /// Those of the other servers of the same state folder and program, too.
    Some,
    /// This server's alone: for programs that remove the sockets of servers that are just being started.
    None,
}

/// A server's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    /// The folder of its sockets: letters, digits and `/._-` only.
    pub folder: PathBuf,
    /// The session's name as the multiplexer knows it: at most 33 letters, digits and `_-.`, of this session only.
    pub name: String,
    /// What the server's environment holds (`NAME=value`), so that it is found whatever it does.
    pub mark: String,
}

impl Seat {
    /// The place of a session's server. Makes nothing.
    #[must_use]
    pub fn of(state: &Path, program: &str, session: &str, neighbours: Neighbours) -> Self {
        let (mut near, mut who) = (state.join(program), state.as_os_str().as_bytes().to_vec());
        if neighbours == Neighbours::None {
            near.push(short(session.as_bytes()));
            who = [who.as_slice(), b"\0", session.as_bytes()].concat();
        }
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-".contains(byte);
        let near_bytes = near.as_os_str().as_bytes();
        let folder = if near_bytes.len() <= LONGEST && near_bytes.iter().all(is_plain) {
            near
        } else {
            below_tmp().join(short(&who)).join(program)
        };
        Self { folder, name: known_as(session), mark: mark(state, session) }
    }

    /// Makes the folder: this user's alone.
    ///
    /// # Errors
    /// When it cannot be made, is a link or belongs to another user.
    pub fn make(&self) -> io::Result<()> {
        let own = below_tmp();
        if self.folder.starts_with(&own) {
            files::private_dir(&own)?;
        }
        self.folder.parent().map_or(Ok(()), files::private_dir)?;
        files::private_dir(&self.folder)
    }
}

/// The entry in the environment of a session's own server.
#[must_use]
pub fn mark(state: &Path, session: &str) -> String {
    let both = [state.as_os_str().as_bytes(), b"\0", session.as_bytes()].concat();
    format!("{}={}", vars::FAIRWAY_SERVER, builtin_scripts::digest(&both))
}

fn below_tmp() -> PathBuf {
    PathBuf::from(format!("/tmp/fairway-{}", user::uid()))
}

fn short(bytes: &[u8]) -> String {
    builtin_scripts::digest(bytes).chars().take(DIGITS).collect()
}

/// A point is in no plain name, so that none is another's digest.
fn known_as(session: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !session.is_empty() && session.len() <= PLAIN && session.bytes().all(is_plain) && !session.starts_with('-') {
        return session.to_owned();
    }
    let readable: String =
        session.chars().take(DIGITS).map(|one| if u8::try_from(one).is_ok_and(is_plain) { one } else { '_' }).collect();
    format!("{}.{}", readable.trim_start_matches('-'), short(session.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_its_own_and_all_fit() {
        let state = Path::new("/s/state");
        let long = "x".repeat(5_000);
        let names = ["a", "ab", "a-1", "a-10", "a.1", "a/1", "a_1", "-a", "é", "", " ", "$x", "^x", &long, &long[1..]];
        let seats: Vec<Seat> = names.iter().map(|name| Seat::of(state, "screen", name, Neighbours::Some)).collect();
        for (at, seat) in seats.iter().enumerate() {
            assert!(seat.name.len() <= 33 && !seat.name.starts_with('-'), "{}", seat.name);
            assert!(
                seat.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)),
                "{}",
                seat.name
            );
            assert_eq!(seat.folder, Path::new("/s/state/screen"));
            for other in &seats[..at] {
                assert!(other.name != seat.name && other.mark != seat.mark, "{} {}", other.name, seat.name);
            }
        }
        let alone = |name: &&str| Seat::of(state, "zellij", name, Neighbours::None).folder;
        let folders: std::collections::BTreeSet<PathBuf> = names.iter().map(alone).collect();
        assert_eq!(folders.len(), names.len());
        let digest = known_as("a.1");
        assert_ne!(known_as(&digest), digest);
    }

    #[test]
    fn a_folder_that_is_too_long_or_odd_lies_elsewhere() {
        for state in ["/s/a b", "/s/$x", &format!("/{}", "x".repeat(60))] {
            for neighbours in [Neighbours::Some, Neighbours::None] {
                let of = |state: &str| Seat::of(Path::new(state), "zellij", "a", neighbours);
                let seat = of(state);
                assert!(seat.folder.starts_with("/tmp") && seat.folder.as_os_str().len() <= LONGEST, "{seat:?}");
                assert_eq!(seat, of(state));
                assert_ne!(seat.folder, of("/s/a c").folder);
            }
        }
    }
}
