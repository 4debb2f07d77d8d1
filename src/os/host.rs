//! The identity of this machine and of its current boot.

use std::{fs, sync::LazyLock};

/// The host's name.
#[must_use]
pub fn name() -> String {
    nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok()).unwrap_or_else(|| "localhost".into())
}

/// The host name and the pid namespace: a pid has no meaning in another one.
#[must_use]
pub fn identity() -> String {
    static IDENTITY: LazyLock<String> = LazyLock::new(read_identity);
    IDENTITY.clone()
}

fn read_identity() -> String {
    let namespace = fs::read_link("/proc/self/ns/pid").ok();
    let number = namespace
        .as_deref()
        .and_then(|link| link.to_str())
        .map(|link| link.trim_start_matches("pid:[").trim_end_matches(']').to_owned());
    match number {
        Some(number) => format!("{}/{number}", name()),
        None => name(),
    }
}

/// The id of the current boot; empty when unknown.
#[must_use]
pub fn boot_id() -> String {
    // Cached: it is read with every process, and no process outlives its boot.
    static BOOT: LazyLock<String> = LazyLock::new(read_boot_id);
    BOOT.clone()
}

fn read_boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|text| text.trim().to_owned()).unwrap_or_default()
}
