//! The store's file under bad conditions: made by many at once, damaged, foreign, not writable, on a full disk.

mod claim_without_tasks;
mod damaged;
mod file_modes;
mod first_open;
mod network;
mod read_only;
mod restore;
mod schema;
mod survives_tree;
mod unwritable_storage;
mod upgrade;
