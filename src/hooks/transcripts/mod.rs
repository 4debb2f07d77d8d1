//! Token usage from the providers' transcripts. The formats belong to the providers and change with them: lines that cannot be
//! parsed are skipped, and missing numbers are not guessed.
//!
//! A turn is one response of the model. It has the provider's key, so that reading a part twice gives the same turns.

pub(super) mod line;
pub(super) mod line_reader;
mod read;

pub use read::read_since;
