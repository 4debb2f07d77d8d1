//! The forge of a project: its script, and the issues that it has.

use std::fmt::Write as _;

use anyhow::Result;
use serde::Deserialize;
use serde_json::Value;

use super::upstream;
use crate::App;
use crate::queue::landing_unit::project_git;
use fairway_core::adapters::BackendSource;
use fairway_core::adapters::forge::{self, Forge, ISSUES};
use fairway_core::domain::Refusal;
use fairway_core::domain::pull_request::ForgeFailure;
use fairway_core::os::git::Git;

/// The answer to `issues`.
#[derive(Debug, Deserialize)]
struct Issues {
    issues: Vec<Value>,
    /// Whether the forge has more than it told.
    more: bool,
}

/// The forge of a remote.
pub(super) fn forge_of(app: &App, git: &Git<'_>, remote: &str) -> Result<Forge> {
    forge_named(app, git, remote, (BackendSource::Project, &app.settings.forge.script))
}

fn forge_named(app: &App, git: &Git<'_>, remote: &str, (from, script): (BackendSource, &str)) -> Result<Forge> {
    let root = &app.project.root;
    let script = forge::resolve(&app.env, from, root, script)?;
    let address = git.remote_address(remote).unwrap_or_default();
    Ok(Forge::new(&script, root, &app.env, &address)?)
}

pub(super) fn refusal(failure: ForgeFailure) -> Refusal {
    Refusal::ForgeFailed { failure }
}

/// Asks a forge script for the issues of the repository that the base branch follows, one a line. Also returns a note when there
/// are more.
///
/// # Errors
/// `no_upstream`, `forge_failed`, and those of a script that cannot be run.
pub fn issues(app: &App, script: &str, with_closed: bool) -> Result<(String, Option<String>)> {
    let git = project_git(app)?;
    let remote = upstream::of_base(app, &git, &app.settings.project.base_branch)?.remote;
    let forge = forge_named(app, &git, &remote, (BackendSource::Flag, script))?;
    let which = if with_closed { "all" } else { "open" };
    let Issues { issues, more } = forge.ask(&[ISSUES, which], &Value::Null).map_err(refusal)?;
    // A file without any issue is a mistake, and a forge without one is none.
    let mut text = if issues.is_empty() { "[]".to_owned() } else { String::new() };
    for issue in &issues {
        let _ = writeln!(text, "{issue}");
    }
    let note = more.then(|| {
        let (read, script) = (issues.len(), shell_words::quote(script));
        format!("only the {read} newest issues were asked for; others come from a file: fairway task import --from {script} FILE")
    });
    Ok((text, note))
}
