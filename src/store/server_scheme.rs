//! The beginning of the address of a store on a server.

use super::StoreError;

const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// Refuses a text that is not the address of a server, such as a file's path.
///
/// # Errors
/// [`StoreError::Address`].
pub fn check(address: &str) -> Result<(), StoreError> {
    if SCHEMES.iter().any(|scheme| address.starts_with(scheme)) {
        return Ok(());
    }
    Err(StoreError::Address { why: "it does not begin with postgres://".into() })
}
