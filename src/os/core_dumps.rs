//! Keeping this process's memory out of core files and away from other processes.

use nix::sys::{
    prctl,
    resource::{Resource, setrlimit},
};

/// Disables core files and tracing of this process (root excepted). Child processes inherit only the limit for core files.
pub fn disable() -> std::io::Result<()> {
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    prctl::set_dumpable(false)?;
    Ok(())
}
