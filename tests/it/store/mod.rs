//! The store's file under bad conditions: made by many at once, damaged, foreign, not writable, on a full disk.

mod damaged;
mod first_open;
mod places;
mod private;
mod reads;
mod restore;
mod schema;
mod upgrade;
