//! Trust in a project's configuration: permission for it to run programs.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::{Answer, App};
use fairway_core::adapters::{self, builtin_scripts};
use fairway_core::config::project::STORE_FILE;
use fairway_core::config::trust::{self, KeptText, TextTrust, Trust, TrustContent};
use fairway_core::config::{Layers, Project, Settings};
use fairway_core::domain::{Event, EventKind, Refusal};
use fairway_core::env::Env;
use fairway_core::os::digest::sha256_hex;
use fairway_core::os::git::{Git, GitError};
use fairway_core::store::sessions;
use fairway_core::wire::{TrustView, TrustedSettingView};

/// Trusts the project's current configuration.
///
/// # Errors
/// `untrusted` if git tracks the store or a `local.toml`, or if others can write to a backend's script.
pub fn trust(app: &App) -> Result<Answer> {
    refuse_tracked_store(app)?;
    let present = Present::load(app)?;
    let content = present.content(app)?;
    let scripts = unknown_session_scripts(app);
    // What others can write would be trusted as something else by tomorrow.
    let backends = present.settings.backends.values().filter_map(|backend| backend.script.as_deref());
    for named in backends.chain([&*present.settings.forge.script]) {
        let script = app.project.root.join(named);
        if content.scripts.contains_key(&script) {
            adapters::check_permissions(&script)?;
        }
    }
    let is_known = present.is_known(app, &scripts);
    if !is_known {
        trust::save_record(&app.env, &content)?;
        for script in &scripts {
            trust::remember_script(&app.env, &app.project.root, script)?;
        }
    }
    let named = content.files.keys().chain(content.scripts.keys()).chain(&scripts);
    let names: Vec<String> = named.map(|path| display_path(app, path)).collect();
    let root = app.project.root.display();
    let line = if is_known {
        format!("unchanged: {root} is trusted already")
    } else {
        format!("trusted {root}: {}", names.join(", "))
    };
    let answer = Answer::new(&document(app, &present, &Trust::Trusted, &content, &scripts), root, line)?;
    if is_known {
        return Ok(answer);
    }
    // The trust is recorded by now, also when its event cannot be.
    Ok(match record_event(app, &content, &names) {
        Ok(()) => answer,
        Err(error) => answer.note(format!("warning: the event was not recorded: {error:#}")),
    })
}

fn record_event(app: &App, content: &TrustContent, names: &[String]) -> Result<()> {
    let files = content.files.values().chain(content.scripts.values()).map(String::as_str).collect::<Vec<_>>();
    let event = Event::new(EventKind::ConfigTrusted)
        .with("files", names.join(", "))
        .with("digest", sha256_hex(files.join(" ").as_bytes()));
    app.transaction(|tx| {
        tx.record(&event)?;
        Ok(())
    })
}

/// The settings of the files as they are now, even while older trusted ones are in force.
struct Present {
    layers: Layers,
    settings: Settings,
}

impl Present {
    fn load(app: &App) -> Result<Self> {
        let layers = Layers::load(&app.project, &app.env)?;
        let settings = Settings::from_layers(&layers, &app.project)?;
        Ok(Self { layers, settings })
    }

    fn content(&self, app: &App) -> Result<TrustContent> {
        Ok(trust::content(&app.project, &self.layers, &self.settings)?)
    }

    fn trust(&self, app: &App) -> Trust {
        trust::check(&app.env, &app.project, &self.layers, &self.settings)
    }

    /// Whether the files and these scripts are trusted, with a copy of their texts. Earlier versions kept no copy.
    fn is_known(&self, app: &App, session_scripts: &[PathBuf]) -> bool {
        let has_texts = match app.layers.text_trust() {
            TextTrust::Same(record) => record.texts.len() == self.layers.files().len(),
            _ => false,
        };
        has_texts && session_scripts.is_empty() && self.trust(app).why().is_none()
    }
}

/// Loads the configuration files as they are now, and tells whether this user has trusted them.
pub fn check_present(env: &Env, project: &Project) -> Result<(Layers, Trust)> {
    let layers = Layers::load(project, env)?;
    let settings = Settings::from_layers(&layers, project)?;
    let state = trust::check(env, project, &layers, &settings);
    Ok((layers, state))
}

/// Scripts that rows of sessions name, and that this user has neither trusted nor launched.
fn unknown_session_scripts(app: &App) -> Vec<PathBuf> {
    let sessions = app.read(|tx| Ok(sessions::live(tx)?)).unwrap_or_default();
    let named: BTreeSet<PathBuf> =
        sessions.into_iter().filter_map(|one| one.adapter_script).map(PathBuf::from).collect();
    let is_unknown = |script: &PathBuf| {
        !builtin_scripts::is_unpacked(script, &app.env) && !trust::is_known_script(&app.env, &app.project.root, script)
    };
    named.into_iter().filter(is_unknown).collect()
}

/// Refuses a backend script that the store names, unless Fairway has unpacked it itself, or this user has trusted it or launched
/// a session with it and it has not changed since.
///
/// # Errors
/// `untrusted`.
pub fn require_script(app: &App, script: &Path) -> Result<()> {
    // A script of an earlier version, or one that was unpacked below another home.
    if builtin_scripts::is_unpacked(script, &app.env) {
        return Ok(());
    }
    match trust::check_script(&app.env, &app.project, &app.layers, script) {
        Trust::NotNeeded | Trust::Trusted => Ok(()),
        Trust::Untrusted(why) => Err(Refusal::Untrusted { why }.into()),
    }
}

/// The note that the last trusted configuration is in force, because the present one has changed since or has an error. Inside a
/// session the note does not advise to trust or to edit anything.
pub fn kept_text_note(app: &App, kept: &KeptText) -> String {
    let what = match &kept.error {
        Some(error) => error.clone(),
        None => format!("{} has changed since it was trusted", kept.path.display()),
    };
    let next = match &kept.error {
        _ if app.actor.session.is_some() => "",
        Some(_) => "; put it right: fairway config edit",
        None => "; look at it, then: fairway trust",
    };
    format!("{what}; the last trusted text is in force{next}")
}

/// The programs that the project's configuration names, and whether it is trusted.
#[derive(Debug, Clone)]
pub struct TrustReport {
    pub document: TrustView,
    pub text: String,
    /// Whether everything is trusted already.
    pub is_known: bool,
}

/// Reports what [`trust`] would trust, and changes nothing.
pub fn show(app: &App) -> Result<TrustReport> {
    let present = Present::load(app)?;
    let (content, state, unknown) = (present.content(app)?, present.trust(app), unknown_session_scripts(app));
    let is_known = present.is_known(app, &unknown);
    let mut lines = vec![match &state {
        Trust::NotNeeded => format!("{} names no programs; no trust is needed", app.project.root.display()),
        Trust::Trusted => format!("{} is trusted", app.project.root.display()),
        Trust::Untrusted(why) => format!("not trusted: {why}"),
    }];
    lines.extend(program_settings(&present).into_iter().map(|(what, value)| format!("{what:<32}{value}")));
    lines.extend(content.scripts.iter().map(|(path, digest)| format!("{:<32}{digest}", display_path(app, path))));
    lines.extend(unknown.iter().map(|path| format!("{:<32}{}", "script of a session", path.display())));
    let text = lines.iter().map(|line| format!("{line}\n")).collect();
    Ok(TrustReport { document: document(app, &present, &state, &content, &unknown), text, is_known })
}

fn document(
    app: &App,
    present: &Present,
    state: &Trust,
    content: &TrustContent,
    session_scripts: &[PathBuf],
) -> TrustView {
    let names = program_settings(present);
    TrustView {
        root: app.project.root.clone(),
        trust: state.as_str(),
        why: state.why().map(str::to_owned),
        files: content.files.clone(),
        scripts: content.scripts.clone(),
        names: names.into_iter().map(|(key, value)| TrustedSettingView { key, value }).collect(),
        session_scripts: session_scripts.to_vec(),
    }
}

/// Every setting that needs trust, with secrets masked.
fn program_settings(present: &Present) -> Vec<(String, String)> {
    let mut named = trust::values(&present.layers);
    let Some(rules) = &present.settings.guard else { return named };
    named.push(("guard.default".to_owned(), rules.default_action.to_string()));
    for (role, entry) in &rules.roles {
        let allow = entry.allow.as_ref().map_or_else(|| "all".to_owned(), |allow| allow.join(", "));
        let deny = entry.deny.join(", ");
        let deny = if deny.is_empty() { deny } else { format!(", but not {deny}") };
        named.push((format!("guard.roles.{role}"), format!("allow {allow}{deny}")));
    }
    for rule in &rules.rules {
        named.push((format!("guard.rules.{}", rule.name), rule.to_string()));
    }
    named
}

fn display_path(app: &App, path: &Path) -> String {
    path.strip_prefix(&app.project.root).unwrap_or(path).display().to_string()
}

/// Refuses a configuration that names programs and that this user has not trusted.
///
/// # Errors
/// `untrusted`.
pub fn require(app: &App) -> Result<()> {
    match trust::check(&app.env, &app.project, &app.layers, &app.settings) {
        Trust::NotNeeded | Trust::Trusted => Ok(()),
        Trust::Untrusted(why) => Err(Refusal::Untrusted { why }.into()),
    }
}

/// Records this user's trust in a configuration that this command itself has just written.
pub fn remember_own(env: &Env, project: &Project) -> Result<()> {
    let layers = Layers::load(project, env)?;
    let settings = Settings::from_layers(&layers, project)?;
    trust::save_record(env, &trust::content(project, &layers, &settings)?)?;
    Ok(())
}

/// Refuses a store or a `local.toml` that git tracks: the person who committed it could act with this user's permissions.
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
