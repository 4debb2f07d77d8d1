//! Paths that a caller gives, as far as they can be judged without opening anything.

use std::path::Path;

use crate::{domain::Refusal, os::files};

/// Refuses a path that no file can have: it, or a name in it, is too long.
///
/// # Errors
/// `invalid_value` naming `what`.
pub fn check_path(what: &'static str, path: &Path) -> Result<(), Refusal> {
    if files::is_path_length_valid(path) { Ok(()) } else { Err(Refusal::invalid(what, "has a name that is too long")) }
}
