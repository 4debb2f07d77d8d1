//! The list of backends, and the installation of the built-in scripts.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::adapters::builtin_scripts;
use crate::config::{Project, load_in_force};
use crate::domain::Refusal;
use crate::env::Env;
use crate::os::files;
use crate::wire::BackendView;

/// Lists the built-in backends and those that the current project configures. A configured backend replaces a built-in one of the
/// same name. When no project is found, lists only the built-in ones, unless `root` was given: then a missing project is an
/// error.
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
    // Without a project nothing is configured; with --root there must be one.
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

/// The result of installing the built-in scripts.
#[derive(Debug)]
pub struct InstalledScripts {
    /// The directory, as an absolute path.
    pub dir: PathBuf,
    /// The files that were written. A file that already had the same content is not among them.
    pub written: Vec<PathBuf>,
}

/// Writes the built-in scripts and the examples to `dir`, which is created when it is missing. An existing file with another text
/// is kept and makes the call fail.
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
