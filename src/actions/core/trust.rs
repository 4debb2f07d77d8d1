//! Trust in a project's configuration: permission for it to run programs.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use anyhow::Result;
use serde_json::json;

use crate::{
    actions::{Answer, App},
    config::{
        Layers, Project, Settings,
        project::STORE_FILE,
        trust::{self, Trust, TrustContent},
    },
    domain::{Refusal, secrets},
    env::Env,
    guard::DefaultAction,
    os::git::{Git, GitError},
};

/// Trusts the project's current configuration.
///
/// # Errors
/// `untrusted` if git tracks the store or a local file; when a file cannot be read or written.
pub fn trust(app: &App) -> Result<Answer> {
    refuse_tracked_store(app)?;
    let content = trust::content(&app.project, &app.layers, &app.settings)?;
    let known = trust::check(&app.env, &app.project, &app.layers, &app.settings) == Trust::Trusted;
    if !known {
        trust::save_record(&app.env, &content)?;
    }
    let names: Vec<String> =
        content.files.keys().chain(content.scripts.keys()).map(|path| display_path(app, path)).collect();
    let root = app.project.root.display();
    let line = if known {
        format!("unchanged: {root} is trusted already")
    } else {
        format!("trusted {root}: {}", names.join(", "))
    };
    Answer::new(&document(app, &Trust::Trusted, &content), root, line)
}

/// The programs that the project's configuration names, and whether it is trusted.
#[derive(Debug, Clone)]
pub struct TrustReport {
    /// The document.
    pub document: serde_json::Value,
    /// The report as text.
    pub text: String,
}

/// Reports what [`trust`] would trust. Changes nothing.
///
/// # Errors
/// When a script cannot be read.
pub fn show(app: &App) -> Result<TrustReport> {
    let content = trust::content(&app.project, &app.layers, &app.settings)?;
    let state = trust::check(&app.env, &app.project, &app.layers, &app.settings);
    let mut lines = vec![match &state {
        Trust::NotNeeded => format!("{} names no programs; no trust is needed", app.project.root.display()),
        Trust::Trusted => format!("{} is trusted", app.project.root.display()),
        Trust::Untrusted(why) => format!("not trusted: {why}"),
    }];
    lines.extend(program_settings(&app.settings).into_iter().map(|(what, value)| format!("{what:<32}{value}")));
    lines.extend(content.scripts.iter().map(|(path, digest)| format!("{:<32}{digest}", display_path(app, path))));
    let text = lines.iter().map(|line| format!("{line}\n")).collect();
    Ok(TrustReport { document: document(app, &state, &content), text })
}

fn document(app: &App, state: &Trust, content: &TrustContent) -> serde_json::Value {
    let why = match state {
        Trust::Untrusted(why) => Some(why),
        _ => None,
    };
    let named: Vec<_> =
        program_settings(&app.settings).into_iter().map(|(key, value)| json!({ "key": key, "value": value })).collect();
    json!({
        "root": app.project.root, "trust": state.as_str(), "why": why, "files": content.files,
        "scripts": content.scripts, "names": named,
    })
}

/// Every setting that names a program or an environment variable, with secrets masked.
fn program_settings(settings: &Settings) -> Vec<(String, String)> {
    let mut named = Vec::new();
    if settings.default_backend.starts_with("exec:") {
        named.push(("sessions.default_backend".to_owned(), settings.default_backend.clone()));
    }
    for (section, launches) in [("roles", &settings.roles), ("providers", &settings.providers)] {
        for (name, launch) in launches {
            let at = |key: &str| format!("{section}.{name}.{key}");
            named.extend(launch.backend.clone().map(|backend| (at("backend"), backend)));
            named.extend(launch.program.command.as_deref().map(|text| (at("command"), secrets::mask(text))));
            named.extend(launch.commands().map(|(key, text)| (at(key), secrets::mask(text))));
            named.extend(launch.session_setup_script.clone().map(|script| (at("session_setup_script"), script)));
            for (variable, value) in &launch.env {
                named.push((at(&format!("env.{variable}")), secrets::mask_value(variable, value)));
            }
        }
    }
    if let Some(rules) = &settings.guard {
        named.push((
            "guard.default".to_owned(),
            if rules.default_action == DefaultAction::Allow { "allow" } else { "deny" }.to_owned(),
        ));
        for (role, entry) in &rules.roles {
            let allow = entry.allow.as_ref().map_or_else(|| "all".to_owned(), |allow| allow.join(", "));
            let deny = entry.deny.join(", ");
            let deny = if deny.is_empty() { deny } else { format!(", but not {deny}") };
            named.push((format!("guard.roles.{role}"), format!("allow {allow}{deny}")));
        }
        for rule in &rules.rules {
            named.push((format!("guard.rules.{}", rule.name), rule.to_string()));
        }
    }
    for (name, backend) in &settings.backends {
        named.extend(backend.script.clone().map(|script| (format!("backends.{name}.script"), script)));
        named.extend(backend.socket.clone().map(|socket| (format!("backends.{name}.socket"), socket)));
    }
    named
}

fn display_path(app: &App, path: &Path) -> String {
    path.strip_prefix(&app.project.root).unwrap_or(path).display().to_string()
}

/// Refuses an untrusted configuration.
///
/// # Errors
/// `untrusted`.
pub fn require(app: &App) -> Result<()> {
    match trust::check(&app.env, &app.project, &app.layers, &app.settings) {
        Trust::NotNeeded | Trust::Trusted => Ok(()),
        Trust::Untrusted(why) => Err(Refusal::Untrusted { why }.into()),
    }
}

/// Trusts a configuration that this command has just written.
///
/// # Errors
/// When the configuration cannot be read back or the record cannot be written.
pub fn remember_own(env: &Env, project: &Project) -> Result<()> {
    let layers = Layers::load(project, env)?;
    let settings = Settings::from_layers(&layers, project)?;
    trust::save_record(env, &trust::content(project, &layers, &settings)?)?;
    Ok(())
}

/// Refuses a store or local file that git tracks: its author could act with this user's permissions.
///
/// # Errors
/// `untrusted`, also if git fails.
pub fn refuse_tracked_store(app: &App) -> Result<()> {
    let mut suspects: Vec<PathBuf> = ["", "-wal", "-journal"]
        .iter()
        .map(|suffix| {
            let mut name = app.project.store.file_name().unwrap_or(STORE_FILE.as_ref()).to_owned();
            name.push(suffix);
            app.project.store.with_file_name(name)
        })
        .collect();
    suspects.push(app.project.state.join("local.toml"));
    let mut asked: Vec<(&Path, Vec<OsString>)> = Vec::new();
    for path in &suspects {
        let Some(dir) = path.parent().filter(|dir| dir.exists()) else { continue };
        // Outside of a repository no file is tracked.
        if !dir.ancestors().any(|above| above.join(".git").symlink_metadata().is_ok()) {
            continue;
        }
        let name = path.file_name().unwrap_or_default().to_owned();
        match asked.iter_mut().find(|(known, _)| *known == dir) {
            Some((_, names)) => names.push(name),
            None => asked.push((dir, vec![name])),
        }
    }
    for (dir, names) in asked {
        let found =
            Git::new(app.env.vars(), dir).first_tracked(&names).map_err(|error| tracking_unknown(dir, &error))?;
        if let Some(found) = found {
            return Err(Refusal::TrackedByGit { path: dir.join(found).display().to_string() }.into());
        }
    }
    Ok(())
}

fn tracking_unknown(dir: &Path, why: &GitError) -> Refusal {
    Refusal::Untrusted { why: format!("cannot check whether git tracks {}: {why}", dir.display()) }
}
