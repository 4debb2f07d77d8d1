//! Sessions with real processes: how they are found, live, end, and are settled.

mod lifecycle;
mod pid_reuse;
mod reconcile;
mod upsert;
