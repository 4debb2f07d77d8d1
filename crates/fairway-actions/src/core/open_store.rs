//! Opening the project's store: its file, or the schema on a server that the configuration names.

use super::errors;
#[cfg(feature = "postgres")]
use fairway_core::config::StoreEngine;
use fairway_core::config::{Layers, Project, StoreSettings, without_password};
use fairway_core::env::{Env, vars};
#[cfg(feature = "postgres")]
use fairway_core::store::StoreAddress;
use fairway_core::store::{Store, StoreError, snapshots};

/// Opens the store for reading. When its file is missing, opens an empty store in memory.
pub fn for_reading(env: &Env, project: &Project, settings: &StoreSettings) -> Result<Store, StoreError> {
    match on_server(env, project, settings)? {
        Some(store) => Ok(store),
        None => Store::open_for_reading(&project.store, &project.runtime_dir(), project.outside_dir().as_deref()),
    }
}

/// Opens the store for writing. Creates a missing file, but not a missing schema on a server.
pub fn for_writing(env: &Env, project: &Project, settings: &StoreSettings) -> Result<Store, StoreError> {
    match on_server(env, project, settings)? {
        Some(store) => Ok(store),
        None => Store::open_for_writing(&project.store, &project.runtime_dir(), project.outside_dir().as_deref()),
    }
}

/// Converts an error of the store. When the store is damaged or lost and there is no snapshot to restore, the result says that
/// too.
pub fn with_way_back(project: &Project, error: StoreError) -> anyhow::Error {
    let has_snapshot = || project.outside_dir().is_some_and(|outside| snapshots::exist(&outside));
    let lost = matches!(error, StoreError::Damaged { .. } | StoreError::Lost { .. } | StoreError::Gone { .. });
    if lost && !has_snapshot() { anyhow::Error::from(error).context(errors::NoSnapshot) } else { error.into() }
}

/// `None` when the store is in a file.
#[cfg(feature = "postgres")]
fn on_server(env: &Env, project: &Project, settings: &StoreSettings) -> Result<Option<Store>, StoreError> {
    match address(env, settings)? {
        Some(address) => Store::connect(&address, &project.root, &project.runtime_dir(), env.clock).map(Some),
        None => Ok(None),
    }
}

#[cfg(not(feature = "postgres"))]
fn on_server(_: &Env, _: &Project, settings: &StoreSettings) -> Result<Option<Store>, StoreError> {
    if settings.is_on_server() { Err(StoreError::NoPostgres) } else { Ok(None) }
}

/// The address of the store's server, with the password; `None` when the store is in a file. Fails when the configuration
/// demands a server and no address is known: with a cleared environment, work must not go on in another store.
#[cfg(feature = "postgres")]
pub fn address(env: &Env, settings: &StoreSettings) -> Result<Option<StoreAddress>, StoreError> {
    match (&settings.url, settings.engine) {
        (Some(url), _) => StoreAddress::parse(url).map(|address| Some(address.with_password_of(env))),
        (None, StoreEngine::Postgres) => Err(StoreError::NoAddress),
        (None, StoreEngine::Sqlite) => Ok(None),
    }
}

/// The value of `FAIRWAY_STORE_URL` for a session, without a password. Empty, which unsets the variable, when this process has no
/// such variable or the configuration files name the same store.
pub fn url_to_pass_on(env: &Env, layers: &Layers) -> String {
    let given = env.var(vars::FAIRWAY_STORE_URL).map(without_password);
    let local = layers.text_in_files("store", "url").map(|url| without_password(&url));
    given.filter(|given| local.as_ref() != Some(given)).unwrap_or_default()
}
