//! Creating a project.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

use super::guide::{CONTRACT, CONTRACT_FILE, is_earlier};
use crate::{
    actions::{
        Answer,
        core::{git_shield, open_store},
    },
    config::{Project, project::CONFIG_FILE},
    domain::Refusal,
    env::Env,
    os::files,
    store::{backup, progress},
    wire::InitView,
};

/// The actor of a new store's first transaction.
const CREATOR: &str = "init";

/// The text to paste into AGENTS.md or CLAUDE.md.
const PASTE_TEXT: &str =
    "This project uses Fairway. Run `fairway guide` before you start; claim work with `fairway claim`.";

/// Checks an existing store. On a server it is created, or brought up to date.
fn usable_store(env: &Env, project: &Project) -> Result<()> {
    #[cfg(feature = "postgres")]
    if let Some(address) = open_store::address(env)? {
        return Ok(crate::store::Store::migrate(&address)?);
    }
    open_store::for_reading(env, project)?;
    Ok(())
}

/// Creates configuration, store, ignore file and agent contract where they are missing. A contract of an earlier version that
/// no person has changed is replaced. `new` begins a new store where one that was here before is gone.
///
/// # Errors
/// `store_gone` without `new`; when a file cannot be written, or an existing store cannot be used.
pub fn init(env: &Env, root: Option<&Path>, new: bool) -> Result<Answer> {
    let root = Project::init_root(env, root)?;
    if !root.is_dir() {
        return Err(Refusal::invalid("root", format!("{} is not a directory", root.display())).into());
    }
    let project = Project::at(root.clone(), env);
    let (runtime, outside) = (project.runtime_dir(), project.outside_dir());
    let usable = if new { Ok(()) } else { usable_store(env, &project) };
    let mut created = Vec::new();
    let config = root.join(CONFIG_FILE);
    if !config.exists() {
        write(&config, &first_config(&root), 0o644, &mut created)?;
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
    // After the configuration, without which nothing can be restored here; before it is trusted, because the one that was
    // here may have had guard rules.
    usable?;
    // A configuration that this command wrote is trusted. Without a home directory, trust is required later.
    let trust_result =
        if created.contains(&config) { crate::actions::core::trust::remember_own(env, &project) } else { Ok(()) };
    let is_new = !project.store.exists();
    let begins_anew = is_new && outside.as_deref().is_some_and(progress::is_known);
    match &outside {
        Some(outside) if begins_anew => {
            backup::create_new(&project.store, &runtime, outside, env.now(), CREATOR)?;
        }
        _ => drop(open_store::for_writing(env, &project)?),
    }
    git_shield::install(&project);
    if is_new && project.store.exists() {
        created.push(project.store.clone());
    }
    let shown = |path: &Path| path.strip_prefix(&root).unwrap_or(path).display().to_string();
    let names: Vec<String> = created.iter().map(|path| shown(path)).collect();
    let line = if let ([], [updated]) = (names.as_slice(), updated.as_slice()) {
        format!("updated {}: {}", root.display(), shown(updated))
    } else if names.is_empty() {
        format!("unchanged: {} is already a Fairway project", root.display())
    } else {
        format!("initialised {}: {}", root.display(), names.join(", "))
    };
    let enclosing = project.enclosing().filter(|_| created.contains(&config));
    let document = InitView { root: root.clone(), store: project.store.clone(), created: names, paste: PASTE_TEXT };
    let answer = Answer::new(&document, root.display(), line)?;
    let answer = match trust_result {
        Ok(()) => answer,
        Err(error) => answer.note(format!("the configuration is not trusted yet: {error:#}")),
    };
    let answer = match enclosing {
        Some(enclosing) => answer.note(format!(
            "this project is inside the project {}; its tasks are not visible from here",
            enclosing.display()
        )),
        None => answer,
    };
    let answer = answer.note(format!("next: fairway setup, or add this line to AGENTS.md or CLAUDE.md: {PASTE_TEXT}"));
    Ok(if is_new { answer.note("then add a task: fairway task add 'Fix the total'") } else { answer })
}

fn write(path: &Path, content: &str, mode: u32, created: &mut Vec<PathBuf>) -> Result<()> {
    files::write_atomic(path, content.as_bytes(), mode).with_context(|| format!("cannot write {}", path.display()))?;
    created.push(path.to_path_buf());
    Ok(())
}

fn first_config(root: &Path) -> String {
    // A directory's name may be anything; as a TOML string it is quoted.
    let name = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let quoted = toml::Value::String(name);
    let branch = current_branch(root).unwrap_or_else(|| "main".into());
    let base = toml::Value::String(branch);
    format!("# Every key and its default: fairway config example\n[project]\nname = {quoted}\nbase_branch = {base}\n")
}

/// The branch that is checked out, read from git's own file.
fn current_branch(root: &Path) -> Option<String> {
    let head = fs::read_to_string(root.join(".git/HEAD")).ok()?;
    head.trim_end().strip_prefix("ref: refs/heads/").map(str::to_owned)
}
