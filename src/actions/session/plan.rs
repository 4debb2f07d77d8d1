//! What a launch would do: everything resolved, everything checked, nothing done.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Result;

use crate::{
    actions::{App, failure, lookup, project::trust},
    adapters::{self, Located, OURS, Place, StartConfig, names_ours},
    config::{
        Launch,
        project::{STATE_DIR, STORE_FILE, normal},
    },
    domain::{
        LaneName, Refusal, Role, SessionId, TaskId,
        id::Label,
        lane::Lane,
        rules::command::{First, first},
        session::{Session, SessionStatus},
        task::Task,
    },
    env::vars,
    os::{host, program, user},
    store::{ReadTx, sessions},
};

/// The provider of a launch that names none: the user's shell.
const SHELL: &str = "shell";

/// The program of a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Shell text that a person wrote.
    Text(String),
    /// A program and its arguments, exactly.
    Words(Vec<String>),
}

/// What was asked for.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The role.
    pub role: Role,
    /// The lane.
    pub lane: Option<LaneName>,
    /// The backend.
    pub backend: Option<String>,
    /// The provider.
    pub provider: Option<Label>,
    /// The task.
    pub task: Option<TaskId>,
    /// The session's id.
    pub name: Option<SessionId>,
    /// The worktree's folder.
    pub worktree: Option<PathBuf>,
    /// The branch.
    pub branch: Option<String>,
    /// The transcript's file.
    pub transcript: Option<PathBuf>,
    /// More environment; an empty value unsets.
    pub env: BTreeMap<String, String>,
    /// The program.
    pub command: Option<Command>,
}

/// A launch, ready to be done.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The session as it will be recorded.
    pub session: Session,
    /// The script.
    pub located: Located,
    /// The folder where the script keeps its state.
    pub state: PathBuf,
    /// What the script gets.
    pub start: StartConfig,
    /// The command as shell text.
    pub command: String,
    /// The environment that is set.
    pub environment: BTreeMap<String, String>,
    /// How long the start may take.
    pub limit: Duration,
    /// What is worth saying.
    pub remarks: Vec<String>,
}

/// Resolves and checks a launch. Writes nothing and starts nothing.
///
/// # Errors
/// `not_found` for a task, lane, worktree, backend or program; `untrusted`; `exists`; `invalid_value`.
pub fn make(app: &App, wish: &Wish) -> Result<Plan> {
    for (name, value) in &wish.env {
        check_variable(name, value)?;
    }
    trust::refuse_tracked_store(app)?;
    trust::require(app)?;
    let role = app.settings.role(&wish.role);
    let (task, lane, id) = app.read(|tx| {
        let task = wish.task.as_ref().map(|id| lookup::task(tx, id)).transpose()?;
        let of_task = task.as_ref().and_then(|task| task.words.lane.clone());
        let lane = wish.lane.clone().or_else(|| role.lane.clone()).or(of_task);
        let lane = lane.map(|name| lookup::lane(tx, &name)).transpose()?;
        let provider = provider(wish, &role, lane.as_ref())?;
        Ok((task, lane, free_id(app, tx, wish, &provider)?))
    })?;
    let provider = provider(wish, &role, lane.as_ref())?;
    let entry = app.settings.providers.get(provider.as_str()).cloned().unwrap_or_default();
    let located = backend(app, wish, &role, lane.as_ref())?;
    let worktree = worktree(app, wish, lane.as_ref())?;
    let transcript = transcript(app, wish, &id)?;
    let branch = branch(wish, lane.as_ref(), task.as_ref());
    let now = app.env.now();
    let session = Session {
        lane: lane.map(|lane| lane.name),
        task: wish.task.clone(),
        provider: Some(provider.clone()),
        backend: Some(located.backend.clone()),
        session_name: Some(id.to_string()),
        host: host::identity(),
        transcript: Some(utf8("transcript", &transcript)?),
        worktree: Some(utf8("worktree", &worktree)?),
        branch,
        adapter_script: Some(utf8("backend", &located.script)?),
        ..Session::new(id, app.env.ids.uuid(now).to_string(), wish.role.clone(), SessionStatus::Starting, now)
    };
    let given = given_environment(wish, &role, &entry)?;
    let (command, argv) = command(app, wish, &role, &entry, &provider);
    let mut remarks = Vec::new();
    check_program(app, &command, argv.as_deref(), &given, &worktree, &mut remarks)?;
    if task.is_some_and(|task| task.state.status().is_closed()) {
        remarks.push(format!("the task {} is closed", wish.task.as_ref().map_or("", TaskId::as_str)));
    }
    let home = || Refusal::invalid("the environment", "names no home folder; set HOME or XDG_STATE_HOME");
    let state = adapters::state_folder(&app.env).ok_or_else(home)?;
    let session = Session { adapter_state: Some(utf8("the adapters' state folder", &state)?), ..session };
    let all = environment(app, &session, given)?;
    let start = StartConfig {
        work_dir: session.worktree.clone(),
        command: Some(command.clone()),
        argv,
        env: Some(all.clone()),
        transcript: session.transcript.clone(),
        session_id: Some(session.id.to_string()),
        run_id: Some(session.run_id.clone()),
        ..StartConfig::default()
    };
    let environment = all.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    Ok(Plan { session, located, state, start, command, environment, limit: app.settings.launch_timeout, remarks })
}

fn utf8(what: &'static str, path: &Path) -> Result<String, Refusal> {
    let text = path.to_str().ok_or_else(|| Refusal::invalid(what, "is no path in UTF-8"))?;
    if text.chars().any(char::is_control) {
        return Err(Refusal::invalid(what, "holds control characters"));
    }
    Ok(text.to_owned())
}

fn check_variable(name: &str, value: &str) -> Result<(), Refusal> {
    let is_first = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
    let is_name =
        name.starts_with(is_first) && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    let shown: String = name.chars().take(64).flat_map(char::escape_debug).collect();
    if !is_name {
        return Err(Refusal::Usage { why: format!("'{shown}' is no name of a variable") });
    }
    if names_ours(name) {
        return Err(Refusal::Usage { why: format!("{name} is set by fairway; it cannot be given") });
    }
    if value.contains('\0') {
        return Err(Refusal::Usage { why: format!("the value of {name} holds a NUL") });
    }
    Ok(())
}

fn provider(wish: &Wish, role: &Launch, lane: Option<&Lane>) -> Result<Label, Refusal> {
    let said = wish.provider.clone().or_else(|| role.provider.clone()).or_else(|| lane?.provider.clone());
    said.map_or_else(|| Label::parse(SHELL), Ok)
}

/// The id that was given, or a new one; no session ever had it.
fn free_id(app: &App, tx: &ReadTx<'_>, wish: &Wish, provider: &Label) -> Result<SessionId> {
    const PART: usize = 28;
    const TRIES: usize = 100;
    if let Some(name) = &wish.name {
        return match sessions::find(tx, name)? {
            Some(_) => Err(Refusal::Exists { noun: "session", id: name.to_string() }.into()),
            None => Ok(name.clone()),
        };
    }
    let cut = |text: &str| text.get(..text.len().min(PART)).unwrap_or_default().to_owned();
    let (role, provider) = (cut(wish.role.as_str()), cut(provider.as_str()));
    for _ in 0..TRIES {
        let id = SessionId::parse(&format!("{role}-{provider}-{}", app.env.ids.letters()))?;
        if sessions::find(tx, &id)?.is_none() {
            return Ok(id);
        }
    }
    Err(failure::internal("no free session id was found"))
}

fn backend(app: &App, wish: &Wish, role: &Launch, lane: Option<&Lane>) -> Result<Located, Refusal> {
    let (word, place) = match &wish.backend {
        Some(word) => (word.clone(), Place::Flag),
        None => {
            let said = role.backend.clone().or_else(|| lane?.backend.clone());
            (said.unwrap_or_else(|| app.settings.default_backend.clone()), Place::Project)
        }
    };
    adapters::locate(&word, place, &app.env, &app.project.root, &app.settings.backends)
}

fn worktree(app: &App, wish: &Wish, lane: Option<&Lane>) -> Result<PathBuf, Refusal> {
    let stated = match &wish.worktree {
        Some(folder) => app.env.cwd.join(folder),
        None => lane.and_then(|lane| lane.worktree.as_ref()).map_or_else(|| app.project.root.clone(), PathBuf::from),
    };
    let folder = normal(&stated);
    if folder.is_dir() {
        return Ok(folder);
    }
    Err(Refusal::not_found("worktree", folder.display().to_string()))
}

fn branch(wish: &Wish, lane: Option<&Lane>, task: Option<&Task>) -> Option<String> {
    wish.branch.clone().or_else(|| lane?.branch.clone()).or_else(|| task?.branch.clone())
}

/// The transcript's file, which can be written to as far as that can be told without writing.
fn transcript(app: &App, wish: &Wish, id: &SessionId) -> Result<PathBuf, Refusal> {
    let path = match &wish.transcript {
        Some(path) => normal(&app.project.root.join(path)),
        None => app.project.state.join("transcripts").join(format!("{id}.log")),
    };
    let no = |why: String| Refusal::Invalid { what: "transcript", why };
    match fs::symlink_metadata(&path) {
        Ok(found) if !found.is_file() => return Err(no(format!("{} is not a file", path.display()))),
        Ok(found) if found.uid() != user::uid() => return Err(no(format!("{} is another user's", path.display()))),
        Ok(_) if program::can_write(&path) => return Ok(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = path.ancestors().skip(1).find(|folder| folder.exists());
            if folder.is_some_and(|folder| folder.is_dir() && program::can_write(folder)) {
                return Ok(path);
            }
        }
        Ok(_) | Err(_) => {}
    }
    Err(no(format!("{} cannot be written", path.display())))
}

/// The command as shell text, and as exact words where it is that.
fn command(app: &App, wish: &Wish, role: &Launch, entry: &Launch, provider: &Label) -> (String, Option<Vec<String>>) {
    let of_words = |words: Vec<String>| (shell_words::join(&words), Some(words));
    match &wish.command {
        Some(Command::Text(text)) => return (text.clone(), None),
        Some(Command::Words(words)) => return of_words(words.clone()),
        None => {}
    }
    // A role's command is made for the role's provider; another one that was asked for has its own.
    let is_roles = wish.provider.is_none() || wish.provider == role.provider;
    let text = role.command.clone().filter(|_| is_roles).or_else(|| entry.command.clone());
    match text {
        Some(text) => (text, None),
        None if provider.as_str() == SHELL => of_words(vec![app.env.var(vars::SHELL).unwrap_or("/bin/sh").to_owned()]),
        None => of_words(vec![provider.to_string()]),
    }
}

fn given_environment(wish: &Wish, role: &Launch, entry: &Launch) -> Result<BTreeMap<String, String>, Refusal> {
    let mut given = BTreeMap::new();
    for (name, value) in entry.env.iter().chain(&role.env).chain(&wish.env) {
        check_variable(name, value)?;
        given.insert(name.clone(), value.clone());
    }
    Ok(given)
}

/// Everything that is set, and with an empty value everything that must not come from elsewhere.
fn environment(app: &App, session: &Session, given: BTreeMap<String, String>) -> Result<BTreeMap<String, String>> {
    let mut all: BTreeMap<String, String> = OURS.iter().map(|name| ((*name).to_owned(), String::new())).collect();
    all.extend(given);
    let root = utf8("the project's root", &app.project.root)?;
    let usual = app.project.root.join(STATE_DIR).join(STORE_FILE);
    let moved = (app.project.store != usual).then(|| utf8("the store", &app.project.store)).transpose()?;
    let ours = [
        (vars::FAIRWAY_BIN, Some(utf8("this program", &program::own().map_err(failure::internal)?)?)),
        (vars::FAIRWAY_ROOT, Some(root)),
        (vars::FAIRWAY_DB, moved),
        (vars::FAIRWAY_SESSION_ID, Some(session.id.to_string())),
        (vars::FAIRWAY_RUN_ID, Some(session.run_id.clone())),
        (vars::FAIRWAY_ROLE, Some(session.role.to_string())),
        (vars::FAIRWAY_LANE, session.lane.as_ref().map(ToString::to_string)),
        (vars::FAIRWAY_TASK_ID, session.task.as_ref().map(ToString::to_string)),
        (vars::FAIRWAY_PROVIDER, session.provider.as_ref().map(ToString::to_string)),
        (vars::FAIRWAY_BACKEND, session.backend.clone()),
        (vars::FAIRWAY_WORKTREE, session.worktree.clone()),
        (vars::FAIRWAY_BRANCH, session.branch.clone()),
        (vars::FAIRWAY_TRANSCRIPT, session.transcript.clone()),
    ];
    all.extend(ours.into_iter().map(|(name, value)| (name.to_owned(), value.unwrap_or_default())));
    Ok(all)
}

fn check_program(
    app: &App,
    command: &str,
    argv: Option<&[String]>,
    given: &BTreeMap<String, String>,
    worktree: &Path,
    remarks: &mut Vec<String>,
) -> Result<(), Refusal> {
    let word = match (argv, first(command)) {
        (Some(words), _) => words.first().cloned().unwrap_or_default(),
        (None, First::Program(word)) => word,
        (None, First::Unclear) => {
            if command.trim().is_empty() || command.contains('\0') {
                return Err(Refusal::invalid("command", "must not be empty or hold a NUL"));
            }
            remarks.push("the command is the shell's to read: whether its program exists was not checked".to_owned());
            return Ok(());
        }
    };
    if argv.is_some_and(|words| words.iter().any(|word| word.contains('\0'))) {
        return Err(Refusal::invalid("command", "must not hold a NUL"));
    }
    let own = given.get(vars::PATH).map(OsString::from);
    let path = own.as_deref().or_else(|| app.env.var_os(vars::PATH).map(OsString::as_os_str));
    match program::find(&word, path, worktree) {
        Some(_) => Ok(()),
        None => Err(Refusal::not_found("program", word)),
    }
}
