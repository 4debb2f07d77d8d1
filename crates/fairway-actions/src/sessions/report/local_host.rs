//! The local host in the form in which the records of sessions name it.

use fairway_core::os::host::{self, HostIdentity};
use fairway_core::os::process::ProcessKey;

/// The local host and the processes on it that a report names. Read before the transaction, like everything outside of
/// the store.
pub(crate) struct LocalHost {
    pub(crate) host: HostIdentity,
    /// The boot id, when it is known.
    pub(crate) boot_id: Option<String>,
    /// The session's root process, when the report names one.
    pub(crate) process: Option<ProcessKey>,
    /// The multiplexer server of the session's pane, when the report names a pane.
    pub(crate) server: Option<ProcessKey>,
}

impl LocalHost {
    /// Reads the host and the boot id for a row that will be written; a machine without an id is given one. `process` is the
    /// session's root process.
    pub(crate) fn read(process: Option<ProcessKey>) -> Self {
        Self::of(host::identity_to_record(), process)
    }

    /// Like [`Self::read`], for a dry run: it gives the machine no id.
    pub(crate) fn preview() -> Self {
        Self::of(host::identity(), None)
    }

    fn of(host: HostIdentity, process: Option<ProcessKey>) -> Self {
        Self { host, boot_id: Some(host::boot_id()).filter(|id| !id.is_empty()), process, server: None }
    }
}
