//! The store as a whole: describing it, and moving it between a file and a server.

use anyhow::Result;

#[cfg(feature = "postgres")]
use crate::core::open_store;
use crate::{Answer, App};
use fairway_core::domain::Refusal;
#[cfg(feature = "postgres")]
use fairway_core::store::Store;
use fairway_core::store::backup;
use fairway_core::store::store_facts::{self, StorePlace};
use fairway_core::wire::{StoreMigrationView, StoreRestoredView, StoreView};

pub mod config;
pub mod copy;

/// Describes the store of this project. Writes nothing.
///
/// # Errors
/// Errors of the store. A server without the project's schema, or with another version of it, is no error.
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

/// Brings the schema of the store up to date. A file is brought up to date whenever it is opened; the schema on a server only
/// here and by `init`, because other hosts use it too.
///
/// # Errors
/// `not_found` while there is no store file; errors of the store.
pub fn migrate(app: &App) -> Result<Answer> {
    let before = store_facts::facts(app.with_fresh_store().store_for_reading()?)?.schema_version;
    #[cfg(feature = "postgres")]
    if let Some(address) = open_store::address(&app.env, &app.settings.store)? {
        Store::migrate(&address)?;
    }
    let facts = store_facts::facts(app.store_for_reading()?)?;
    let Some(version) = facts.schema_version else {
        return Err(Refusal::not_found("store", app.project.store.display().to_string()).into());
    };
    let line = match before {
        Some(before) if before == version => format!("unchanged: the store has schema {version}"),
        Some(before) => format!("migrated the store from schema {before} to {version}"),
        None => format!("created the store with schema {version}"),
    };
    Answer::new(&StoreMigrationView { schema_version: version, before }, version, line)
}

/// Prepares the store after its server was restored from a backup: makes every earlier epoch invalid, and raises the number of
/// the newest event above those that may have been used since the backup.
///
/// # Errors
/// `not_found` while there is no store; errors of the store.
pub fn restored(app: &App) -> Result<Answer> {
    let store = app.store_for_reading()?;
    if store.is_missing() {
        return Err(Refusal::not_found("store", app.project.store.display().to_string()).into());
    }
    let leap = backup::leap(store, app.env.now(), &app.actor.name)?;
    let document = StoreRestoredView { epoch: leap.epoch, event: leap.event };
    let line = format!("lifted: claims have epoch {}, and events go on at {}", leap.epoch, leap.event);
    let answer = Answer::new(&document, leap.epoch, line)?;
    Ok(answer.note("sessions that worked meanwhile are refused until they claim again; check them with `fairway session reconcile`"))
}
