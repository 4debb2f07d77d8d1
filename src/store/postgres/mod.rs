//! A store on a PostgreSQL server: one schema for each project. Its `project` row orders the writes as the write lock of a SQLite
//! file does.

mod address;
mod connect;
mod postgres_store;
mod schema;
mod server_facts;

pub use address::StoreAddress;
pub(super) use postgres_store::PostgresStore;
