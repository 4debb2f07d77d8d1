//! What background runs printed: `runs.db` beside the store. Its rows say where the bytes lie; a power cut may cost its
//! last moments, and never a state.

mod items;
mod output_store;
mod pending_notifications;
mod watchers;

pub use output_store::OutputStore;

#[cfg(test)]
mod tests;
