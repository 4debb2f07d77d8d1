//! The user this process runs as.

use std::path::PathBuf;

use nix::unistd::{Uid, User};

/// The login name, else the uid as text.
#[must_use]
pub fn name() -> String {
    let uid = Uid::effective();
    match User::from_uid(uid) {
        Ok(Some(user)) => user.name,
        _ => uid.to_string(),
    }
}

/// The home folder of the passwd entry.
#[must_use]
pub fn home() -> Option<PathBuf> {
    User::from_uid(Uid::effective()).ok().flatten().map(|user| user.dir)
}

/// The effective uid.
#[must_use]
pub fn uid() -> u32 {
    Uid::effective().as_raw()
}
