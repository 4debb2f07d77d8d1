//! Runs all probe groups on one script and collects the report.

use std::path::Path;

use anyhow::Result;

use super::harness::Harness;
use super::operations::OPERATIONS;
use super::{
    attach, environment, exit_codes, input, lifecycle, meta, name_isolation, peek, process_cleanup, queries,
    start_options, supported_operations,
};
use crate::adapters::{self, AdapterError, BackendSource, Backends, ResolvedBackend, resolve_backend};
use crate::config::trust::{self, Trust};
use crate::config::{Project, load_in_force};
use crate::domain::Refusal;
use crate::env::Env;
use crate::wire::{AdapterCheckView, OperationCheckView, ProbeOutcome};

/// Checks the backend script that `word` names: runs the probes of the operations in `wanted`, or of all operations when it is
/// empty. Returns the report and, when a probe has failed, the error that names the failed operations.
///
/// # Errors
/// `not_found`, `untrusted`; `interrupted` when a signal has arrived. The sessions of the check are stopped in that case, too.
pub fn run(
    env: &Env,
    root: Option<&Path>,
    word: &str,
    wanted: &[String],
) -> Result<(AdapterCheckView, Option<AdapterError>)> {
    let script = resolve_script(env, root, word)?;
    let bench = Harness::new(env, &script, wanted)?;
    for group in [
        supported_operations::run,
        lifecycle::run,
        environment::run,
        start_options::run,
        process_cleanup::run,
        name_isolation::run,
        input::run,
        meta::run,
        peek::run,
        queries::run,
        attach::run,
        exit_codes::run,
    ] {
        group(&bench);
    }
    if let Some(signal) = bench.interrupted_by() {
        return Err(AdapterError::Interrupted { script, signal: signal.to_string() }.into());
    }
    let operations: Vec<OperationCheckView> =
        OPERATIONS.iter().filter(|one| bench.wants(one)).map(|one| operation_view(&bench, one)).collect();
    let failed: Vec<&str> =
        operations.iter().filter(|one| one.verdict == ProbeOutcome::Fail).map(|one| one.operation).collect();
    let broken = (!failed.is_empty())
        .then(|| AdapterError::ContractBroken { script: script.clone(), operations: failed.join(", ") });
    let view = AdapterCheckView { script: script.display().to_string(), passed: broken.is_none(), operations };
    Ok((view, broken))
}

fn operation_view(bench: &Harness, operation: &'static str) -> OperationCheckView {
    let probes = bench.results_of(operation);
    let verdict = if probes.iter().any(|probe| probe.verdict == ProbeOutcome::Fail) {
        ProbeOutcome::Fail
    } else if bench.supports(operation) {
        ProbeOutcome::Pass
    } else {
        ProbeOutcome::NotSupported
    };
    OperationCheckView { operation, verdict, probes }
}

/// Finds the script: `word` is a path, a configured or built-in backend, or `exec:` and a program.
fn resolve_script(env: &Env, root: Option<&Path>, word: &str) -> Result<std::path::PathBuf> {
    let (backends, project) = configured_backends(env, root, word)?;
    let word = if word.contains('/') && !word.starts_with("exec:") { format!("exec:{word}") } else { word.to_owned() };
    // A name from the configuration is looked up from the root, a typed one from the current directory.
    let base = project.unwrap_or_else(|| env.cwd.clone());
    let found = resolve_backend(&word, BackendSource::Flag, env, &base, &backends).map_err(|refusal| match refusal {
        Refusal::NotFound { id, .. } | Refusal::UnknownBackend { name: id, .. } if env.cwd.join(&id).is_file() => {
            let near = vec![format!("./{id}")];
            Refusal::NotFound { noun: "backend", id, near }
        }
        refusal => refusal,
    });
    let ResolvedBackend { script, built_in, .. } = found?;
    if let Some(built_in) = built_in {
        return Ok(built_in.unpack(env)?);
    }
    adapters::check_permissions(&script)?;
    Ok(script)
}

/// The backends that the current project configures, and its root. Fails when `word` names one of them and the project is not
/// trusted.
fn configured_backends(env: &Env, root: Option<&Path>, word: &str) -> Result<(Backends, Option<std::path::PathBuf>)> {
    let project = match Project::discover(env, root) {
        Err(error) if root.is_some() => return Err(error.into()),
        Err(_) => return Ok((Backends::new(), None)),
        Ok(project) => project,
    };
    let (layers, settings) = load_in_force(&project, env)?;
    if settings.backends.get(word).is_some_and(|backend| backend.script.is_some())
        && let Trust::Untrusted(why) = trust::check(env, &project, &layers, &settings)
    {
        return Err(Refusal::Untrusted { why }.into());
    }
    Ok((settings.backends, Some(project.root)))
}
