//! Checks of a caller's path that open no file.

use std::path::Path;

use crate::{domain::Refusal, os::files};

/// Refuses a path that is too long, or has a component that is too long, for any file.
///
/// # Errors
/// `invalid_value` naming `what`.
pub fn check_path(what: &'static str, path: &Path) -> Result<(), Refusal> {
    if files::is_path_length_valid(path) { Ok(()) } else { Err(Refusal::invalid(what, "has a name that is too long")) }
}
