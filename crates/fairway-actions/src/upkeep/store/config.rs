//! The lines of the configuration that say where the store is.

use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context as _, Result, bail};

use crate::core::trust;
use fairway_core::config::trust::{Trust, check};
use fairway_core::config::{
    CONFIG_FILE, Project, check_scheme, has_password, load_in_force, local_file, set_key, without_password,
};
use fairway_core::env::Env;
use fairway_core::os::files;
use fairway_core::store::StoreError;

/// The section of the configuration with the place of the store.
const SECTION: &str = "store";

/// Refuses an address on a command line that is invalid or holds a password. A build without PostgreSQL refuses every address.
///
/// # Errors
/// `password_in_arguments`, `store_address`, `no_postgres`.
pub fn check_argument(url: &str) -> Result<(), StoreError> {
    if has_password(url) {
        return Err(StoreError::PasswordOnCommandLine);
    }
    check_scheme(url).map_err(|why| StoreError::Address { why: why.into() })?;
    if cfg!(feature = "postgres") { Ok(()) } else { Err(StoreError::NoPostgres) }
}

/// Writes to the configuration that the store is on this server: the engine to `.fairway.toml`, which is committed, and the
/// address without its password to `local.toml`, which is not. Files that were trusted stay trusted. Returns the changed
/// files.
pub fn point_to_server(env: &Env, project: &Project, url: &str) -> Result<Vec<PathBuf>> {
    let url = without_password(url);
    change(
        env,
        project,
        &[(local_file(project), "url", Some(&url)), (config_file(project), "engine", Some("postgres"))],
    )
}

/// Writes to the configuration that the store is in a file. Files that were trusted stay trusted. Returns the changed files.
pub fn point_to_file(env: &Env, project: &Project) -> Result<Vec<PathBuf>> {
    change(env, project, &[(config_file(project), "engine", Some("sqlite")), (local_file(project), "url", None)])
}

fn config_file(project: &Project) -> PathBuf {
    project.root.join(CONFIG_FILE)
}

/// A file, a key in its section `store`, and the new value; `None` removes the key.
type Change<'a> = (PathBuf, &'static str, Option<&'a str>);

fn change(env: &Env, project: &Project, changes: &[Change<'_>]) -> Result<Vec<PathBuf>> {
    let was_trusted = load_in_force(project, env).is_ok_and(|(layers, settings)| {
        layers.kept_text().is_none() && matches!(check(env, project, &layers, &settings), Trust::Trusted)
    });
    let mut texts = Vec::new();
    for (path, key, value) in changes {
        let old = read(path)?;
        let text = old.as_deref().unwrap_or_default();
        let Some(new) = set_key(text, SECTION, key, *value) else {
            let wanted = value.map_or_else(|| format!("no {key}"), |value| format!("{key} = \"{value}\""));
            bail!("{} cannot be changed by a program; write below [{SECTION}]: {wanted}", path.display());
        };
        if new != text {
            texts.push((path.clone(), new));
        }
    }
    for (path, text) in &texts {
        // Without a key in it the file says nothing.
        if *path == local_file(project) && text.trim() == format!("[{SECTION}]") {
            fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))?;
            continue;
        }
        let mode = if *path == local_file(project) { 0o600 } else { 0o644 };
        files::write_atomic(path, text.as_bytes(), mode).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if was_trusted && !texts.is_empty() {
        trust::remember_own(env, project)?;
    }
    Ok(texts.into_iter().map(|(path, _)| path).collect())
}

fn read(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}
