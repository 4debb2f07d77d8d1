//! The file in which a running server says where its page is.

use std::{fs::File, io::Read as _, path::Path};

use serde::{Deserialize, Serialize};

use super::socket_path::PAGE_FILE;

const MAX_BYTES: u64 = 16 << 10;

/// The page of a running server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownPage {
    /// The name of its host on this machine.
    pub host: String,
    /// Its origin on this machine.
    pub origin: String,
    /// Its origin in the network.
    pub network: Option<String>,
    /// The SHA-256 fingerprint of its certificate there.
    pub fingerprint: Option<String>,
}

impl ShownPage {
    /// The page of the server of this runtime directory; `None` without one. A server that was killed may have left it.
    pub fn read(runtime: &Path) -> Option<Self> {
        let mut text = String::new();
        File::open(runtime.join(PAGE_FILE)).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }
}
