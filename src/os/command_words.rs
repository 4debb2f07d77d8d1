//! The words of this process's command, such as `task import`, for those who ask what it is doing. Arguments are no part of them.

use std::sync::OnceLock;

static WORDS: OnceLock<String> = OnceLock::new();

/// Says which command this process runs. The first one stays.
pub fn set(words: &str) {
    let _ = WORDS.set(words.to_owned());
}

/// The words; empty before they are known.
pub fn get() -> &'static str {
    WORDS.get().map_or("", String::as_str)
}
