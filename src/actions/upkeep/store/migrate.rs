//! Bringing the schema of the store up to date.

use anyhow::Result;

#[cfg(feature = "postgres")]
use crate::{actions::core::open_store, store::Store};
use crate::{
    actions::{Answer, App},
    domain::Refusal,
    store::store_facts,
    wire::StoreMigrationView,
};

/// Brings the schema of the store up to date. A file is brought up to date whenever it is opened; the schema on a server only
/// here and by `init`, because other hosts use it too.
///
/// # Errors
/// `not_found` while there is no store file; as the store fails.
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
