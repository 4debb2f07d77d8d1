//! The exit code of a command.

/// An exit code; 0 is success.
pub type Exit = u8;
