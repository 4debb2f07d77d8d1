//! Keeping what is in this process's memory out of files and away from other processes.

use nix::sys::{
    prctl,
    resource::{Resource, setrlimit},
};

/// From now on nothing of this process is written to a core file, and only root may look into it. What this process starts is
/// free of the second.
///
/// # Errors
/// When the kernel refuses.
pub fn disable() -> std::io::Result<()> {
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    prctl::set_dumpable(false)?;
    Ok(())
}
