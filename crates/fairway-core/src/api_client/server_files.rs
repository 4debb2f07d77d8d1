//! The path of a project's server socket, and the names of the files beside it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::env::{Env, vars};
use crate::os::digest::sha256_hex;
use crate::os::socket;

/// The socket's name in the runtime directory.
pub const SOCKET_FILE: &str = "worker.sock";
/// The file with the socket's path when the socket is in another directory.
pub const POINTER_FILE: &str = "worker.socket";
/// The lock of the running server.
pub const LOCK_FILE: &str = "worker.lock";
/// The file with the port number on 127.0.0.1.
pub const PORT_FILE: &str = "worker.port";
/// The file with the bearer token for that port.
pub const TOKEN_FILE: &str = "worker.token";

/// The file with the address of the page.
pub const PAGE_FILE: &str = "worker.page";

const MAX_POINTER_BYTES: u64 = 4_096;

/// The socket path for a server with this runtime directory: in that directory or, when the path is too long for a socket, in
/// `XDG_RUNTIME_DIR`. Returns `None` when neither is possible.
pub fn for_runtime_dir(runtime: &Path, env: &Env) -> Option<PathBuf> {
    let in_runtime = runtime.join(SOCKET_FILE);
    if socket::fits_address(&in_runtime) {
        return Some(in_runtime);
    }
    let dir = env.var_os(vars::XDG_RUNTIME_DIR).map(PathBuf::from).filter(|dir| dir.is_absolute())?;
    let in_xdg = dir.join(format!("fairway-{}.sock", short_digest(runtime)));
    socket::fits_address(&in_xdg).then_some(in_xdg)
}

/// The path of the socket on which a server with this runtime directory listens, if it runs. Needs no variable of the server's
/// environment: a path outside of the runtime directory is read from [`POINTER_FILE`]. `None` when that file is missing or has no
/// valid path.
pub(super) fn find_listening(runtime: &Path) -> Option<PathBuf> {
    let in_runtime = runtime.join(SOCKET_FILE);
    if socket::fits_address(&in_runtime) {
        return Some(in_runtime);
    }
    let mut path = String::new();
    File::open(runtime.join(POINTER_FILE)).ok()?.take(MAX_POINTER_BYTES).read_to_string(&mut path).ok()?;
    Some(PathBuf::from(path.trim_end())).filter(|path| path.is_absolute() && socket::fits_address(path))
}

fn short_digest(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    sha256_hex(path.as_os_str().as_bytes()).chars().take(16).collect()
}

const MAX_BYTES: u64 = 16 << 10;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownPage {
    pub host: String,
    /// The origin for browsers on this machine.
    pub origin: String,
    /// The origin for other machines, if the page is in the network.
    pub network: Option<String>,
    /// The SHA-256 fingerprint of the certificate for the network.
    pub fingerprint: Option<String>,
}

impl ShownPage {
    /// Reads the address at which the server of this runtime directory serves its page; `None` when it serves none. After a
    /// server was killed, its address may still be returned.
    pub fn read(runtime: &Path) -> Option<Self> {
        let mut text = String::new();
        File::open(runtime.join(PAGE_FILE)).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }
}
