//! A store on a PostgreSQL server: one schema for each project. Its `project` row orders the writes as the write lock of a SQLite
//! file does.

mod address;
mod connect;
mod host_row;
mod listener;
mod outcome;
mod password;
mod postgres_store;
mod schema;
mod tls;

pub use address::{StoreAddress, TlsMode};
pub(super) use listener::Listener;
pub(super) use postgres_store::{MOVED_SCHEMA, PostgresRead, PostgresStore, PostgresWrite};
