//! Opening the project's store: its file, or the schema on a server that `FAIRWAY_STORE_URL` names.

use crate::{
    config::project::Project,
    env::Env,
    store::{Store, StoreError},
};
#[cfg(feature = "postgres")]
use crate::{env::vars, store::StoreAddress};

/// The store for reading; an empty one in memory where there is no file yet.
///
/// # Errors
/// As the store fails.
pub fn for_reading(env: &Env, project: &Project) -> Result<Store, StoreError> {
    #[cfg(feature = "postgres")]
    if let Some(address) = address(env)? {
        return Store::connect(&address, &project.runtime_dir(), env.clock);
    }
    let _ = env;
    Store::open_for_reading(&project.store, &project.runtime_dir(), project.outside_dir().as_deref())
}

/// The store for writing. A file is created if it is missing; a schema is not.
///
/// # Errors
/// As the store fails.
pub fn for_writing(env: &Env, project: &Project) -> Result<Store, StoreError> {
    #[cfg(feature = "postgres")]
    if let Some(address) = address(env)? {
        return Store::connect(&address, &project.runtime_dir(), env.clock);
    }
    let _ = env;
    Store::open_for_writing(&project.store, &project.runtime_dir(), project.outside_dir().as_deref())
}

/// The address of the store, if it is on a server, with the password that stands beside it.
///
/// # Errors
/// When it cannot be used.
#[cfg(feature = "postgres")]
pub fn address(env: &Env) -> Result<Option<StoreAddress>, StoreError> {
    let address = env.var(vars::FAIRWAY_STORE_URL).map(StoreAddress::parse).transpose()?;
    Ok(address.map(|address| address.with_password_of(env)))
}
