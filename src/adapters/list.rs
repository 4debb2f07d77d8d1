//! The list of backends, and the installation of the built-in scripts.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::{
    adapters::builtin_scripts,
    config::{Project, load_in_force},
    domain::Refusal,
    env::Env,
    os::files,
    wire::BackendView,
};

/// Every backend: the built-in ones, and those that the project here configures, if there is one.
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
    let settings = load_in_force(&project, env)?.1;
    for (name, backend) in settings.backends {
        let Some(script) = backend.script else { continue };
        shown.retain(|one| one.name != name);
        shown.push(BackendView { name, source: "configured", script, about: None });
    }
    Ok(shown)
}

/// The built-in scripts in a directory.
#[derive(Debug)]
pub struct InstalledScripts {
    /// The directory, as an absolute path.
    pub dir: PathBuf,
    /// The files that were written; a script that was there already with the same content is not among them.
    pub written: Vec<PathBuf>,
}

/// Writes the built-in scripts to a directory.
pub fn install(env: &Env, dir: &Path) -> Result<InstalledScripts> {
    let dir = env.cwd.join(dir);
    if dir.exists() && !dir.is_dir() {
        return Err(Refusal::invalid("the directory", format!("{} is not a directory", dir.display())).into());
    }
    if !files::is_path_length_valid(&dir) {
        return Err(Refusal::invalid("the directory", "has a name that is too long").into());
    }
    let written =
        builtin_scripts::install(&dir).with_context(|| format!("cannot write the scripts to {}", dir.display()))?;
    Ok(InstalledScripts { dir, written })
}
