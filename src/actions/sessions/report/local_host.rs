//! The local host, as the records of sessions name it.

use crate::os::{host, process::ProcessKey};

/// The local host and the processes on it that a report names. Read before the transaction, like everything outside of
/// the store.
pub(in crate::actions) struct LocalHost {
    /// Host and pid namespace.
    pub(in crate::actions) host: String,
    /// The boot id, when it is known.
    pub(in crate::actions) boot_id: Option<String>,
    /// The session's root process, when the report names one.
    pub(in crate::actions) process: Option<ProcessKey>,
    /// The multiplexer server of the session's pane, when the report names a pane.
    pub(in crate::actions) server: Option<ProcessKey>,
}

impl LocalHost {
    /// Reads host and boot id. `process` is the session's root process.
    pub(in crate::actions) fn read(process: Option<ProcessKey>) -> Self {
        Self {
            host: host::identity(),
            boot_id: Some(host::boot_id()).filter(|id| !id.is_empty()),
            process,
            server: None,
        }
    }
}
