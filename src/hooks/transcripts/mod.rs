//! What a provider's own record of a session says about use. The records belong to the providers and change with them: what
//! cannot be read is passed over, and a number that is not there is not made up.
//!
//! One turn here is one answer of the model, with the key that the provider gives it: whoever reads a part twice tells the
//! same turns.

mod claude;
mod codex;
mod gemini;
mod line;
mod line_reader;
mod read;

pub use read::{PROVIDERS, read_since};
