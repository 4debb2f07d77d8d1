//! Creating a project.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::guide::{CONTRACT, CONTRACT_FILE, is_earlier};
use super::store::config as store_config;
use crate::Answer;
use crate::core::{inside_session, open_store, store_safety};
use fairway_core::config::project::CONFIG_FILE;
use fairway_core::config::{self, Project, SCHEMA_FILE, StoreEngine, StoreSettings, load_in_force, masked_url, trust};
use fairway_core::domain::{Refusal, plural};
use fairway_core::env::Env;
use fairway_core::os::files;
use fairway_core::os::git::{Git, Repository};
use fairway_core::store::{StoreError, backup, integrity, progress};
use fairway_core::wire::InitView;

/// The actor of a new store's first transaction.
const CREATOR: &str = "init";

const TRUST_UNREADABLE: &str = "cannot read what was trusted of this project";

/// The text to paste into AGENTS.md or CLAUDE.md.
const PASTE_TEXT: &str =
    "This project uses Fairway. Run `fairway guide` before you start; claim work with `fairway claim`.";

enum Place {
    File,
    /// The store is on a server; `is_new` says whether its address must be written to the configuration.
    Server {
        url: String,
        is_new: bool,
    },
}

/// The place of a project's store: as the command line says, else as the configuration says.
fn place(env: &Env, project: &Project, asked: Option<&str>) -> Result<Place> {
    if let Some(url) = asked {
        store_config::check_argument(url)?;
        refuse_tasks_left_behind(project)?;
        return Ok(Place::Server { url: url.to_owned(), is_new: true });
    }
    let (settings, lacks_address) = match load_in_force(project, env) {
        Ok((layers, settings)) => {
            let is_named = layers.text_in_files("store", "url").is_some();
            let engine = layers.text_in_files("store", "engine");
            (settings.store, !is_named && engine.as_deref() == Some(StoreEngine::Postgres.as_str()))
        }
        // `config check` reports a wrong configuration; a store in a file is found without it.
        Err(_) if project.store.exists() => (StoreSettings::default(), false),
        Err(error) => return Err(error.into()),
    };
    match settings.url {
        Some(_) if cfg!(not(feature = "postgres")) => Err(StoreError::NoPostgres.into()),
        // The sessions of another host's checkout find the address in the file too.
        Some(url) => Ok(Place::Server { url, is_new: lacks_address || !project.root.join(CONFIG_FILE).exists() }),
        None if settings.is_on_server() => Err(no_address()),
        None => Ok(Place::File),
    }
}

/// The refusal of a server engine without an address.
fn no_address() -> anyhow::Error {
    if cfg!(feature = "postgres") { StoreError::NoAddress.into() } else { StoreError::NoPostgres.into() }
}

/// Refuses a move to a server while the project's file has tasks: `init` would leave them behind, and `store copy` moves them.
fn refuse_tasks_left_behind(project: &Project) -> Result<()> {
    if !project.store.exists() {
        return Ok(());
    }
    let store = fairway_core::store::Store::open_for_reading(&project.store, &project.runtime_dir(), None)?;
    let tasks = store.read(integrity::count_tasks)?;
    if tasks == 0 {
        return Ok(());
    }
    let by = format!("it has {}", plural::count(tasks, "task"));
    Err(Refusal::InUse { noun: "store", id: project.store.display().to_string(), by }.into())
}

/// Creates the store on a server, or brings it up to date.
#[cfg(feature = "postgres")]
fn migrate(env: &Env, url: &str) -> Result<()> {
    Ok(fairway_core::store::Store::migrate(&fairway_core::store::StoreAddress::parse(url)?.with_password_of(env))?)
}

#[cfg(not(feature = "postgres"))]
fn migrate(_: &Env, _: &str) -> Result<()> {
    Err(StoreError::NoPostgres.into())
}

/// Creates configuration, store, ignore file, the contract for agents, which tells them how to work, and the schema of the
/// configuration where they are missing. A contract of an earlier version that no person has changed is replaced, and so is
/// the schema of another version. `new` allows a new store in place of an earlier one whose file is gone. `store` is the
/// address of the server that is to hold the store.
///
/// # Errors
/// `store_gone` without `new`; when a file cannot be written, or an existing store cannot be used. For a server: `no_postgres`,
/// `password_in_arguments`; `in_use` while the project's file has tasks.
pub fn init(env: &Env, root: Option<&Path>, new: bool, store: Option<&str>) -> Result<Answer> {
    let root = Project::init_root(env, root)?;
    if !root.is_dir() {
        return Err(Refusal::invalid("root", format!("{} is not a directory", root.display())).into());
    }
    let project = Project::at(root.clone(), env);
    let (runtime, outside) = (project.runtime_dir(), project.outside_dir());
    let place = place(env, &project, store)?;
    let usable = match &place {
        // Nothing is written for a server that cannot be used.
        Place::Server { url, .. } => {
            migrate(env, url)?;
            Ok(())
        }
        Place::File if new => Ok(()),
        Place::File => open_store::for_reading(env, &project, &StoreSettings::default())
            .map(drop)
            .map_err(|error| open_store::with_way_back(&project, error)),
    };
    let mut created = Vec::new();
    let config = root.join(CONFIG_FILE);
    let is_missing = !config.exists();
    let trusted =
        if is_missing { trust::trusted_text(env, &root, CONFIG_FILE).context(TRUST_UNREADABLE)? } else { None };
    let was_here = trusted.is_some() || project.state.exists() || outside.as_deref().is_some_and(progress::is_known);
    if new || (is_missing && was_here) {
        // An agent would replace the rules that hold it.
        inside_session::refuse_without_project(env, "init of a project that was here")?;
    }
    if is_missing {
        write(&config, &config_text(env, trusted.clone().flatten(), &root), 0o644, &mut created)?;
    }
    files::private_dir(&project.state).with_context(|| format!("cannot create {}", project.state.display()))?;
    let ignore = project.state.join(".gitignore");
    if !ignore.exists() {
        write(&ignore, "*\n", 0o600, &mut created)?;
    }
    let contract = project.state.join(CONTRACT_FILE);
    let mut updated = Vec::new();
    if !contract.exists() {
        write(&contract, CONTRACT, 0o600, &mut created)?;
    } else if fs::read_to_string(&contract).is_ok_and(|text| is_earlier(&text)) {
        // The text of an earlier version, without a person's changes.
        write(&contract, CONTRACT, 0o600, &mut updated)?;
    }
    let (schema, text) = (project.state.join(SCHEMA_FILE), format!("{:#}\n", config::schema()));
    match fs::read_to_string(&schema) {
        Ok(found) if found == text => {}
        // A schema of another version.
        Ok(_) => write(&schema, &text, 0o600, &mut updated)?,
        Err(_) => write(&schema, &text, 0o600, &mut created)?,
    }
    // After the configuration, without which nothing can be restored here; before it is trusted, because the one that was
    // here may have had guard rules.
    usable?;
    let mut changed = Vec::new();
    if let Place::Server { url, is_new: true } = &place {
        changed = store_config::point_to_server(env, &project, url)?;
        changed.retain(|path| !created.contains(path));
    }
    // The first configuration of a project is trusted. Where one was trusted before, its text stays in force. Without a home
    // directory, trust is required later.
    let trust_result = match &trusted {
        None if is_missing => crate::core::trust::remember_own(env, &project),
        _ => Ok(()),
    };
    let is_new = matches!(place, Place::File) && !project.store.exists();
    let begins_anew = is_new && outside.as_deref().is_some_and(progress::is_known);
    match &outside {
        Some(outside) if begins_anew => {
            backup::create_new(&project.store, &runtime, outside, env.now(), CREATOR)?;
        }
        _ if matches!(place, Place::Server { .. }) => {}
        _ => drop(open_store::for_writing(env, &project, &StoreSettings::default())?),
    }
    store_safety::install(&project);
    if is_new && project.store.exists() {
        created.push(project.store.clone());
    }
    let shown = |path: &Path| path.strip_prefix(&root).unwrap_or(path).display().to_string();
    let mut names: Vec<String> = created.iter().map(|path| shown(path)).collect();
    updated.extend(changed);
    let store_shown = match &place {
        Place::File => project.store.display().to_string(),
        Place::Server { url, .. } => masked_url(url),
    };
    if let Place::Server { is_new: true, .. } = &place {
        names.push(store_shown.clone());
    }
    let line = if !names.is_empty() {
        format!("initialised {}: {}", root.display(), names.join(", "))
    } else if !updated.is_empty() {
        let updated: Vec<String> = updated.iter().map(|path| shown(path)).collect();
        format!("updated {}: {}", root.display(), updated.join(", "))
    } else {
        format!("unchanged: {} is already a Fairway project", root.display())
    };
    let enclosing = project.enclosing().filter(|_| created.contains(&config));
    let document = InitView { root: root.clone(), store: store_shown, created: names, paste: PASTE_TEXT };
    let mut notes = Vec::new();
    notes.extend(trust_result.err().map(|error| format!("the configuration is not trusted yet: {error:#}")));
    notes.extend(trusted.map(|text| match text {
        Some(_) => format!("{CONFIG_FILE} has the text again that you trusted last"),
        None => format!("the trusted text of {CONFIG_FILE} is not kept; put its rules in: fairway config edit"),
    }));
    notes.extend(enclosing.map(|enclosing| {
        let enclosing = enclosing.display();
        format!("this project is inside the project {enclosing}; its tasks are not visible from here")
    }));
    notes.extend(refusal_of_git(env, &root));
    notes.push(format!("next: fairway setup, or add this line to AGENTS.md or CLAUDE.md: {PASTE_TEXT}"));
    if is_new {
        notes.push("then add a task: fairway task add 'Fix the total'".to_owned());
    }
    Ok(Answer::new(&document, root.display(), line)?.with_notes(notes))
}

/// The text of the configuration file that [`init`] writes when there is none.
pub fn new_config(env: &Env, root: &Path) -> Result<String> {
    let trusted = trust::trusted_text(env, root, CONFIG_FILE).context(TRUST_UNREADABLE)?;
    Ok(config_text(env, trusted.flatten(), root))
}

/// The text that was trusted last, else that of a new project.
fn config_text(env: &Env, trusted: Option<String>, root: &Path) -> String {
    trusted.unwrap_or_else(|| first_config(env, root))
}

fn write(path: &Path, content: &str, mode: u32, created: &mut Vec<PathBuf>) -> Result<()> {
    files::write_atomic(path, content.as_bytes(), mode).with_context(|| format!("cannot write {}", path.display()))?;
    created.push(path.to_path_buf());
    Ok(())
}

fn first_config(env: &Env, root: &Path) -> String {
    // A directory's name may be anything; as a TOML string it is quoted.
    let name = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let quoted = toml::Value::String(name);
    let branch = Git::new(env.vars(), root).current_branch().ok().flatten().unwrap_or_else(|| "main".into());
    let base = toml::Value::String(branch);
    format!(
        "#:schema .fairway/{SCHEMA_FILE}\n\
         # Every key and its default: fairway config example\n\
         [project]\n\
         name = {quoted}\n\
         base_branch = {base}\n"
    )
}

/// Why git does not work in the repository of a project, such as the owner of its files, with git's remedy. `None` where it works, and
/// without a repository.
fn refusal_of_git(env: &Env, root: &Path) -> Option<String> {
    root.ancestors().find(|dir| dir.join(".git").exists())?;
    let error = Repository::around(Git::new(env.vars(), root)).err()?;
    Some(format!("no lane can be made here as long as git refuses the repository: {error}"))
}
