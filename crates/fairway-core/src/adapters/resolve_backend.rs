//! Finds the script of a backend.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::builtin_scripts::{self, BuiltIn};
use crate::config::Backend;
use crate::config::project::normalize;
use crate::domain::Refusal;
use crate::domain::refusal::NOT_EXECUTABLE;
use crate::env::{Env, vars};
use crate::os::{executable, user};

/// Where a backend's name comes from, which decides how a relative path is resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendSource {
    /// The command line: paths start from the working directory.
    Flag,
    /// The configuration or the store: paths start from the root.
    Project,
}

/// The configured backends, by name.
pub type Backends = BTreeMap<String, Backend>;

/// A backend with its script.
#[derive(Debug, Clone)]
pub struct ResolvedBackend {
    /// The backend as it is recorded: a name, or `exec:` and an absolute path.
    pub backend: String,
    /// The script's file. For a built-in script it may not be written yet.
    pub script: PathBuf,
    /// The built-in script, when it is one.
    pub built_in: Option<&'static BuiltIn>,
}

/// Finds the script of the backend `word`: the name of a configured or built-in backend, `exec:/path` or `exec:name`. `place`
/// decides where a relative path after `exec:` starts.
///
/// # Errors
/// `not_found` when there is no such backend or its script is missing or not executable; `untrusted` as for
/// [`check_permissions`]; `invalid_value` when a built-in script is named and there is no home directory.
pub fn resolve_backend(
    word: &str,
    place: BackendSource,
    env: &Env,
    root: &Path,
    backends: &Backends,
) -> Result<ResolvedBackend, Refusal> {
    let configured = backends.get(word).and_then(|backend| backend.script.as_deref());
    let (stated, base, backend) = match (configured, word.strip_prefix("exec:")) {
        (Some(script), _) => (script, root, Some(word.to_owned())),
        (None, Some(stated)) if place == BackendSource::Flag => (stated, env.cwd.as_path(), None),
        (None, Some(stated)) => (stated, root, None),
        (None, None) => return resolve_built_in(word, env, backends),
    };
    if stated.is_empty() || stated.contains('\0') {
        return Err(Refusal::not_found("backend", word));
    }
    let script =
        normalize(&find_script(stated, configured.is_some(), base, env).ok_or_else(|| missing(word, stated, base))?);
    check_permissions(&script)?;
    let backend = backend.unwrap_or_else(|| format!("exec:{}", script.display()));
    Ok(ResolvedBackend { backend, script, built_in: None })
}

/// The file of a script. A configured name without a `/` means a file beside the configuration, else a program in PATH.
fn find_script(stated: &str, is_configured: bool, base: &Path, env: &Env) -> Option<PathBuf> {
    let beside = (is_configured && !stated.contains('/')).then(|| base.join(stated));
    let path = env.var_os(vars::PATH).map(std::ffi::OsString::as_os_str);
    beside.filter(|file| executable::is_executable(file)).or_else(|| executable::find(stated, path, base))
}

/// The refusal that says why a script cannot be run.
fn missing(backend: &str, stated: &str, base: &Path) -> Refusal {
    let file = normalize(&base.join(stated));
    let refused = |script: String, reason| Refusal::NoBackendScript { backend: backend.to_owned(), script, reason };
    match fs::metadata(&file) {
        Ok(found) if found.is_file() => refused(file.display().to_string(), NOT_EXECUTABLE),
        Ok(_) => refused(file.display().to_string(), "is not a file"),
        Err(_) if stated.contains('/') => refused(file.display().to_string(), "is missing: no such file"),
        Err(_) => {
            refused(stated.to_owned(), "is missing: no such file beside .fairway.toml, and no such program in PATH")
        }
    }
}

fn resolve_built_in(word: &str, env: &Env, backends: &Backends) -> Result<ResolvedBackend, Refusal> {
    let Some(found) = builtin_scripts::find(word) else {
        let names = builtin_scripts::ALL.iter().map(|one| one.name.to_owned()).chain(backends.keys().cloned());
        let names: Vec<String> = names.collect();
        let is_near = |name: &&String| strsim::damerau_levenshtein(name, word) <= 3;
        let near: Vec<String> = names.iter().filter(is_near).cloned().collect();
        return Err(if near.is_empty() {
            Refusal::UnknownBackend { name: word.to_owned(), known: names }
        } else {
            Refusal::NotFound { noun: "backend", id: word.to_owned(), near }
        });
    };
    let home = || Refusal::invalid("the environment", "names no home directory; set HOME or XDG_STATE_HOME");
    let script = found.path(env).ok_or_else(home)?;
    Ok(ResolvedBackend { backend: word.to_owned(), script, built_in: Some(found) })
}

/// Checks that a script belongs to this user or to root, and that no other user can write to it. The user's own group, which has no
/// other members, may write to it: the umask 002 of such systems gives it that.
///
/// # Errors
/// `untrusted`, `writable_by_others`; `not_found` when the file does not exist.
pub fn check_permissions(script: &Path) -> Result<(), Refusal> {
    let Ok(found) = fs::metadata(script) else {
        return Err(Refusal::not_found("adapter script", script.display().to_string()));
    };
    let untrusted = |why: String| Refusal::Untrusted { why: format!("the script {} {why}", script.display()) };
    if found.uid() != user::uid() && found.uid() != 0 {
        return Err(untrusted("belongs to another user".into()));
    }
    let mode = found.mode() & 0o7777;
    if mode & 0o002 != 0 || (mode & 0o020 != 0 && !user::is_own_group(found.gid())) {
        return Err(Refusal::WritableByOthers { file: script.display().to_string(), mode: format!("{mode:o}") });
    }
    Ok(())
}
