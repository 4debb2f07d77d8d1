//! The exec session protocol from the caller's side.
