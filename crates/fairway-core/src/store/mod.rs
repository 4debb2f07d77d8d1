//! The store: one SQLite file, or a schema on a PostgreSQL server. Reads see a snapshot; a write is one transaction together
//! with its events, and writes run one after another. One file per noun, for both engines; no other module holds SQL.

pub mod approvals;
pub mod backup;
pub mod checkpoints;
mod claim_epochs;
pub mod claims;
mod connection;
#[cfg(feature = "postgres")]
pub mod copy;
pub mod error;
pub mod event_facts;
pub mod events;
pub mod evidence;
pub mod guard_decisions;
pub mod handoffs;
pub mod hosts;
pub mod idempotency_keys;
pub mod integrity;
pub mod job_output;
pub mod jobs;
pub mod landings;
pub mod lanes;
pub mod messages;
pub mod notifications;
mod open;
pub mod overlaps;
pub mod overview;
#[cfg(feature = "postgres")]
mod postgres;
pub mod progress;
pub mod pull_requests;
pub mod removed_tasks;
pub mod review_comments;
pub mod reviews;
mod schema;
pub mod search;
pub mod seen_work;
pub mod session_reports;
pub mod sessions;
pub mod snapshots;
mod sql;
mod sqlite_store;
pub mod store_facts;
pub mod tasks;
mod transaction;
pub mod usage;

pub use connection::Store;
pub use error::StoreError;
pub use open::sibling_path;
#[cfg(feature = "postgres")]
pub use postgres::{StoreAddress, TlsMode};
pub use transaction::{ReadTx, WriteTx};
