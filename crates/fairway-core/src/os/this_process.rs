//! Facts about this process that other processes see.

use std::sync::OnceLock;

use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};

static COMMAND_WORDS: OnceLock<String> = OnceLock::new();

/// Records the words of the command that this process runs, such as `task import`, without its arguments. Only the first call
/// counts.
pub fn set_command_words(words: &str) {
    let _ = COMMAND_WORDS.set(words.to_owned());
}

/// The words that [`set_command_words`] recorded; empty before that.
pub fn command_words() -> &'static str {
    COMMAND_WORDS.get().map_or("", String::as_str)
}

/// Disables core files of this process, and tracing of it by any user but root. Child processes inherit only the limit for core
/// files.
pub fn disable_core_dumps() -> std::io::Result<()> {
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    prctl::set_dumpable(false)?;
    Ok(())
}
