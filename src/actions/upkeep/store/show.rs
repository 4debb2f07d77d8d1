//! Facts about the store.

use anyhow::Result;

use crate::{
    actions::App,
    store::store_facts::{self, StorePlace},
    wire::StoreView,
};

/// The store of this project. Writes nothing.
///
/// # Errors
/// As the store fails. A server without the project's schema, or with another version of it, is no error.
pub fn show(app: &App) -> Result<StoreView> {
    let facts = store_facts::facts(app.store_for_reading()?)?;
    let view = StoreView {
        engine: "sqlite",
        address: None,
        path: None,
        bytes: None,
        wal_bytes: None,
        engine_version: facts.engine_version,
        schema_version: facts.schema_version,
        needed_schema: facts.needed_schema,
        encryption: None,
        certificate_verified: None,
        connections: None,
        max_connections: None,
        latency_ms: (facts.latency.as_secs_f64() * 1e6).round() / 1e3,
    };
    Ok(match facts.place {
        StorePlace::File { path: Some(path), bytes, wal_bytes } => {
            StoreView { path: Some(path), bytes: Some(bytes), wal_bytes: Some(wal_bytes), ..view }
        }
        StorePlace::File { path: None, .. } => StoreView { path: Some(app.project.store.clone()), ..view },
        StorePlace::Server { address, encryption, is_verified, connections, max_connections, .. } => StoreView {
            engine: "postgres",
            address: Some(address),
            certificate_verified: encryption.as_ref().map(|_| is_verified),
            encryption,
            connections: Some(connections),
            max_connections: Some(max_connections),
            ..view
        },
    })
}
