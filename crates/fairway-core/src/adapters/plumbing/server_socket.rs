//! The socket path of a state directory's private multiplexer server.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::os::{digest, files, user};

/// The longest path of a socket, in bytes: an address has at most 108, and servers create files beside it.
const MAX_PATH_BYTES: usize = 100;

/// The path for the socket of a server of `program`: in the state directory or, where that path is too long for a socket, in a
/// directory of this user below `/tmp` whose name is a digest of the state directory. Creates the directory with access for this
/// user alone. Fails when the directory is a link or belongs to another user.
pub fn prepare_path(state: &Path, program: &str) -> io::Result<PathBuf> {
    files::private_dir(state)?;
    let name = format!("{program}.sock");
    let near = state.join(&name);
    if near.as_os_str().len() <= MAX_PATH_BYTES {
        return Ok(near);
    }
    let own = PathBuf::from(format!("/tmp/fairway-{}", user::uid()));
    files::private_dir(&own)?;
    let digest = digest::sha256_hex(state.as_os_str().as_bytes());
    let dir = own.join(digest.get(..16).unwrap_or(&digest));
    files::private_dir(&dir)?;
    Ok(dir.join(name))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn state_dir_of_any_length_has_one_place_of_its_own() {
        let home = tempfile::tempdir().unwrap();
        let near = home.path().join("state");
        assert_eq!(prepare_path(&near, "tmux").unwrap(), near.join("tmux.sock"));
        let deep = home.path().join("x".repeat(90));
        let far = prepare_path(&deep, "tmux").unwrap();
        assert!(far.as_os_str().len() <= MAX_PATH_BYTES && !far.starts_with(&deep), "{}", far.display());
        assert_eq!(prepare_path(&deep, "tmux").unwrap(), far);
        assert_ne!(prepare_path(&home.path().join("y".repeat(90)), "tmux").unwrap().parent(), far.parent());
        fs::remove_dir_all(far.parent().unwrap()).unwrap();
    }
}
