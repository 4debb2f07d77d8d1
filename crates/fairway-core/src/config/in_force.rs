//! The configuration in force: that of the files, or the trusted one while the files differ from it.

use std::path::Path;
use std::sync::Arc;

use super::layers::{local_file, read_text, read_texts};
use super::project::CONFIG_FILE;
use super::trust::is_needed;
use super::trust_record::{self, KeptText, TextTrust, TrustContent};
use super::{ConfigError, Layers, Project, Settings, StoreEngine};
use crate::env::Env;
use crate::guard::{Action, RoleEntry, Rules};

/// Loads the layers and settings in force. When trusted files that needed trust have changed since, their trusted texts stay in
/// force until the changed files are trusted, so that neither an agent nor a typing error changes a rule. Two things of the
/// changed files count at once: guard rules that deny, and a store that is now on a server.
pub fn load_in_force(project: &Project, env: &Env) -> Result<(Layers, Settings), ConfigError> {
    let texts = read_texts(project);
    let files = texts.as_deref().unwrap_or_default();
    let known = match trust_record::compare(env, &project.root, files) {
        TextTrust::Changed(path, record) => match kept_layers(project, env, &record) {
            Some((layers, mut settings)) => {
                let present = texts.and_then(|files| Settings::from_layers(&Layers::from_texts(files, env)?, project));
                let (error, guard, engine) = match present {
                    Ok(present) => {
                        let guard = add_denials(settings.guard.as_ref(), present.guard.as_deref());
                        (None, guard, present.store.engine)
                    }
                    Err(error) => (Some(error.to_string()), settings.guard.clone(), settings.store.engine),
                };
                let kept = TextTrust::Kept(KeptText { path, error, record });
                settings.guard = guard;
                // A store that moved to a server must not go on in a file. Its address counts when it is trusted.
                if engine == StoreEngine::Postgres {
                    settings.store.engine = engine;
                }
                return Ok((layers.with_text_trust(kept), settings));
            }
            None => TextTrust::Changed(path, record),
        },
        known => known,
    };
    let layers = Layers::from_texts(texts?, env)?.with_text_trust(known);
    let settings = Settings::from_layers(&layers, project)?;
    Ok((layers, settings))
}

/// Checks the project's configuration as if the file at `path` contained `text`; its other configuration files are read as they
/// are.
pub fn check_text(project: &Project, env: &Env, path: &Path, text: &str) -> Result<(), ConfigError> {
    let own = [project.root.join(CONFIG_FILE), local_file(project)];
    let texts = own.into_iter().map(|file| match file.canonicalize() {
        Ok(real) if real == path => Ok(Some((file, text.to_owned()))),
        Err(_) if file == path => Ok(Some((file, text.to_owned()))),
        _ => Ok(read_text(&file)?.map(|text| (file, text))),
    });
    let texts: Vec<_> = texts.collect::<Result<Vec<_>, ConfigError>>()?.into_iter().flatten().collect();
    Settings::from_layers(&Layers::from_texts(texts, env)?, project).map(drop)
}

/// The layers and settings of what was trusted; `None` if that needed no trust, is not kept, or one of its files is gone.
fn kept_layers(project: &Project, env: &Env, record: &TrustContent) -> Option<(Layers, Settings)> {
    let is_whole = record.files.keys().all(|path| record.texts.contains_key(path) && path.symlink_metadata().is_ok());
    if record.files.is_empty() || !is_whole {
        return None;
    }
    // The order of the layers is that of the files.
    let mut texts: Vec<_> = record.texts.clone().into_iter().collect();
    texts.sort_by_key(|(path, _)| path.parent() != Some(project.root.as_path()));
    let layers = Layers::from_texts(texts, env).ok().filter(is_needed)?;
    let settings = Settings::from_layers(&layers, project).ok()?;
    Some((layers, settings))
}

/// The trusted rules, and those of the new ones that deny.
fn add_denials(trusted: Option<&Arc<Rules>>, new: Option<&Rules>) -> Option<Arc<Rules>> {
    let Some(new) = new else { return trusted.cloned() };
    let mut rules = trusted.map(|rules| (**rules).clone());
    for rule in new.rules.iter().filter(|rule| rule.action == Action::Deny) {
        let rules = rules.get_or_insert_default();
        if !rules.rules.contains(rule) {
            rules.rules.push(rule.clone());
        }
    }
    for (role, entry) in new.roles.iter().filter(|(_, entry)| !entry.deny.is_empty()) {
        let rules = rules.get_or_insert_default();
        match rules.roles.iter_mut().find(|(name, _)| name == role) {
            Some((_, known)) => known.deny.extend(entry.deny.iter().cloned()),
            None => rules.roles.push((role.clone(), RoleEntry { allow: None, deny: entry.deny.clone() })),
        }
    }
    rules.map(Arc::new)
}
