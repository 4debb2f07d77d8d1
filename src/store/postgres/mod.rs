//! A store on a PostgreSQL server: one schema for each project. Its `project` row orders the writes as the write lock of a SQLite
//! file does.

mod address;
mod connect;
mod listener;
mod outcome;
mod password;
mod postgres_store;
mod schema;
mod server_facts;
mod tls;

pub use address::{StoreAddress, TlsMode};
pub(super) use listener::Listener;
pub(super) use postgres_store::{PostgresRead, PostgresStore, PostgresWrite};
