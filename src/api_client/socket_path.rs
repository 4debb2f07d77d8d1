//! Where the server of a project listens, and what lies beside its socket.

use std::{
    fmt::Write as _,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use crate::{
    env::{Env, vars},
    os::socket,
};

/// The socket's name in the runtime directory.
pub const SOCKET_FILE: &str = "worker.sock";
/// Beside it: the path of a socket that had to go elsewhere.
pub const POINTER_FILE: &str = "worker.socket";
/// The lock of whoever serves.
pub const LOCK_FILE: &str = "worker.lock";
/// The number of the port on 127.0.0.1.
pub const PORT_FILE: &str = "worker.port";
/// The word that every request to that port carries.
pub const TOKEN_FILE: &str = "worker.token";

/// How long a pointer may be, in bytes.
const MAX_POINTER_BYTES: u64 = 4_096;

/// Where a server of the project with this runtime directory listens, or would: there, or in the user's directory of sockets when
/// that path is too long for one. `None` when there is no such directory either.
#[must_use]
pub fn for_runtime_dir(runtime: &Path, env: &Env) -> Option<PathBuf> {
    let here = runtime.join(SOCKET_FILE);
    if socket::fits_address(&here) {
        return Some(here);
    }
    let dir = env.var_os(vars::XDG_RUNTIME_DIR).map(PathBuf::from).filter(|dir| dir.is_absolute())?;
    let there = dir.join(format!("fairway-{}.sock", short_digest(runtime)));
    socket::fits_address(&there).then_some(there)
}

/// Where somebody may listen now, for whoever has another environment than the server.
pub(super) fn find_listening(runtime: &Path) -> Option<PathBuf> {
    let here = runtime.join(SOCKET_FILE);
    if socket::fits_address(&here) {
        return Some(here);
    }
    let mut path = String::new();
    File::open(runtime.join(POINTER_FILE)).ok()?.take(MAX_POINTER_BYTES).read_to_string(&mut path).ok()?;
    Some(PathBuf::from(path.trim_end())).filter(|path| path.is_absolute() && socket::fits_address(path))
}

fn short_digest(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let digest = Sha256::digest(path.as_os_str().as_bytes());
    digest.iter().take(8).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
