//! The output of jobs: `runs.db` beside the store. Its rows locate the bytes in the output files. A power failure may lose
//! the newest rows, but no job's state.

mod items;
mod output_store;
mod pending_notifications;
mod watchers;

pub use output_store::OutputStore;

#[cfg(test)]
mod tests;
