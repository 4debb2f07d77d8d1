//! Which scripts there are.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::json;

use crate::{
    actions::{Answer, core::path_limits},
    adapters::builtin_scripts,
    config::{Layers, Project, Settings},
    domain::Refusal,
    env::Env,
    wire::BackendView,
};

/// Every backend: the built-in ones, and those that the project here configures, if there is one.
///
/// # Errors
/// A broken configuration.
pub fn list(env: &Env, root: Option<&Path>) -> Result<Vec<BackendView>> {
    let mut shown: Vec<BackendView> = builtin_scripts::ALL
        .iter()
        .map(|one| BackendView {
            name: one.name.to_owned(),
            source: "built_in",
            script: one.file.to_owned(),
            about: Some(one.about.to_owned()),
        })
        .collect();
    // Without a project there is nothing configured; with --root one is meant.
    let project = match Project::discover(env, root) {
        Err(error) if root.is_some() => return Err(error.into()),
        Err(_) => return Ok(shown),
        Ok(project) => project,
    };
    let settings = Settings::from_layers(&Layers::load(&project, env)?, &project)?;
    for (name, backend) in settings.backends {
        let Some(script) = backend.script else { continue };
        shown.retain(|one| one.name != name);
        shown.push(BackendView { name, source: "configured", script, about: None });
    }
    Ok(shown)
}

/// Writes the built-in scripts to a directory.
///
/// # Errors
/// When one is there and differs, or cannot be written.
pub fn install(env: &Env, dir: &Path) -> Result<Answer> {
    let dir = env.cwd.join(dir);
    if dir.exists() && !dir.is_dir() {
        return Err(Refusal::invalid("the directory", format!("{} is none", dir.display())).into());
    }
    path_limits::check_path("the directory", &dir)?;
    let written =
        builtin_scripts::install(&dir).with_context(|| format!("cannot write the scripts to {}", dir.display()))?;
    let names: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
    let line = if names.is_empty() {
        format!("unchanged: {} has every script already", dir.display())
    } else {
        format!("wrote {}", names.join(", "))
    };
    Answer::new(&json!({ "folder": dir, "written": names }), dir.display(), line)
}
