//! Hooks of git in a launched session: a push that a rule may deny asks the guard, and every hook of the repository runs
//! as it would without Fairway, with its arguments, its input and its exit code.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::dup2_stdin;
use serde::{Deserialize, Serialize};

use super::call::{self, catch_panic, message_with_hint, one_line};
use fairway_actions::agents::guard;
use fairway_actions::sessions::sandbox::calls_from_inside;
use fairway_core::config::Project;
use fairway_core::config::project::git_dir;
use fairway_core::domain::RunId;
use fairway_core::env::{Env, git_hooks, vars};
use fairway_core::guard::{AUTHORIZE_PUSH, PushKind};
use fairway_core::os::capture::{self, Call};
use fairway_core::os::exit_reason::ExitReason;
use fairway_core::os::{exec, executable, git};

/// How long git may take to compare two commits.
const COMPARE_TIMEOUT: Duration = Duration::from_secs(20);
/// The maximum input of a push, in bytes: some hundred thousand refs.
const MAX_STDIN_BYTES: u64 = 64 << 20;

/// Runs `hook git HOOK ARGUMENTS…`: asks the guard about a push that deletes or overwrites refs, and about every push when a
/// guard rule may deny any of them, and then becomes the repository's own hook. Returns only on a failure, with the exit
/// code, or with 0 when the repository has no such hook.
pub(super) fn run(args: &[OsString], env: impl FnOnce() -> Env) -> u8 {
    let Some((name, args)) = args.split_first() else { return 2 };
    if name == AUTHORIZE_PUSH[2] {
        return answer_inside(&env());
    }
    let asks_always = name == git_hooks::EVERY_PUSH;
    let name = if asks_always { OsStr::new(git_hooks::PRE_PUSH) } else { name };
    match catch_panic(|| handle(name, args, asks_always, &env())) {
        Ok(()) => 0,
        Err(why) => {
            let name = name.to_string_lossy();
            let denied = if name == git_hooks::PRE_PUSH { "the push is denied: " } else { "" };
            let _ = io::stderr().write_all(format!("fairway: git {name}: {denied}{}\n", one_line(&why)).as_bytes());
            1
        }
    }
}

fn handle(name: &OsStr, args: &[OsString], asks_always: bool, env: &Env) -> Result<(), String> {
    if name == git_hooks::PRE_PUSH {
        let updates = read_updates()?;
        let mut changes = changes(&updates, env)?;
        changes.retain(|(kind, _)| asks_always || *kind != PushKind::Update);
        if !changes.is_empty() {
            let remote = args.first().map(|remote| remote.to_string_lossy().into_owned()).unwrap_or_default();
            let (kinds, refs) = changes.into_iter().unzip();
            let push = Push { remote, kinds, refs };
            if calls_from_inside::is_inside() { ask_outside(&push) } else { ask(env, &push) }?;
        }
        hand_on_stdin(&updates).map_err(|error| format!("cannot hand on the input: {error}"))?;
    }
    let Some(own) = own_hook(name, env)? else { return Ok(()) };
    let words: Vec<OsString> = std::iter::once(own.into_os_string()).chain(args.iter().cloned()).collect();
    Err(exec::replace_process(&words, env.vars()).to_string())
}

fn read_updates() -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(MAX_STDIN_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("cannot read stdin: {error}"))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > MAX_STDIN_BYTES) {
        return Err("it has too many refs".to_owned());
    }
    Ok(bytes)
}

/// The refs of the remote that a push changes, each with the kind of change. Lines are `LOCAL_REF LOCAL_ID REMOTE_REF
/// REMOTE_ID`.
fn changes(updates: &[u8], env: &Env) -> Result<Vec<(PushKind, String)>, String> {
    let text = String::from_utf8_lossy(updates);
    let mut changes = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let fields: Vec<&str> = line.split(' ').collect();
        let [_, local, remote_ref, remote] = fields.as_slice() else {
            return Err(format!("git has sent a line of another form: {line}"));
        };
        let is_none = |id: &str| !id.is_empty() && id.bytes().all(|byte| byte == b'0');
        let kind = if is_none(local) {
            PushKind::Delete
        } else if is_none(remote) || local == remote {
            PushKind::Update
        } else if remote_ref.starts_with("refs/tags/") || !is_ancestor(env, remote, local) {
            // A tag is moved only by force, whatever commit it moves to.
            PushKind::Overwrite
        } else {
            PushKind::Update
        };
        changes.push((kind, (*remote_ref).to_owned()));
    }
    Ok(changes)
}

/// Whether git finds the remote's commit among the ancestors of the local one. False if the commit is absent here.
fn is_ancestor(env: &Env, remote: &str, local: &str) -> bool {
    let args = ["merge-base", "--is-ancestor", remote, local].map(OsString::from);
    let mut vars = env.vars().clone();
    // Replaced commits are a view of this repository alone.
    vars.insert("GIT_NO_REPLACE_OBJECTS".into(), "1".into());
    vars.insert("GIT_GRAFT_FILE".into(), "/dev/null".into());
    run_git(env, &vars, &args).is_some_and(|done| done.exit == ExitReason::Code(0))
}

fn run_git(env: &Env, vars: &BTreeMap<OsString, OsString>, args: &[OsString]) -> Option<capture::Captured> {
    let path = vars.get(OsStr::new(vars::PATH)).map(OsString::as_os_str);
    let program = git::find_program(path, &env.cwd)?;
    let call = Call {
        program: &program,
        args,
        env: vars,
        cwd: &env.cwd,
        stdin: b"",
        limit: COMPARE_TIMEOUT,
        ends_group: true,
    };
    capture::capture(&call).ok()
}

/// A push that the guard decides about.
#[derive(Serialize, Deserialize)]
struct Push {
    remote: String,
    kinds: Vec<PushKind>,
    refs: Vec<String>,
}

/// Asks the process outside of the sandbox, which has the store and the rules.
fn ask_outside(push: &Push) -> Result<(), String> {
    let question = serde_json::to_string(push).map_err(|error| error.to_string())?;
    let reply = calls_from_inside::call(AUTHORIZE_PUSH.map(str::to_owned).to_vec(), question)
        .map_err(|error| format!("the process outside of the sandbox does not answer: {error}"))?;
    if reply.exit == 0 { Ok(()) } else { Err(reply.stderr) }
}

/// Answers `ask_outside`: a denial is exit code 1, and its reason on stderr.
fn answer_inside(env: &Env) -> u8 {
    let answer = || {
        let push: Push =
            serde_json::from_slice(&read_updates()?).map_err(|error| format!("it cannot be read: {error}"))?;
        ask(env, &push)
    };
    match catch_panic(answer) {
        Ok(()) => 0,
        Err(why) => {
            let _ = io::stderr().write_all(one_line(&why).as_bytes());
            1
        }
    }
}

fn ask(env: &Env, push: &Push) -> Result<(), String> {
    let Push { remote, kinds, refs } = push;
    let is_forced = kinds.iter().any(|kind| *kind != PushKind::Update);
    let what = if is_forced { "overwrites or deletes" } else { "changes" };
    let what = format!("it {what} {} of {remote}", refs.join(", "));
    let run = env.var(vars::FAIRWAY_RUN_ID).filter(|_| env.var(vars::FAIRWAY_SESSION_ID).is_some()).map(RunId::parse);
    let run = run.ok_or_else(|| format!("{what}, and the environment names no session"))?;
    let project = Project::discover(env, None).map_err(|error| message_with_hint(&error.into()))?;
    let app = call::build_app(env.clone(), project).map_err(|error| message_with_hint(&error))?;
    let decision = guard::authorize_push(&app, &run, remote, kinds, refs);
    if decision.allowed {
        return Ok(());
    }
    let rule = decision.rule.map(|rule| format!("{rule}: ")).unwrap_or_default();
    Err(format!("{rule}{} ({what})", decision.reason))
}

/// Makes `bytes` the stdin of the program that replaces this one.
fn hand_on_stdin(bytes: &[u8]) -> io::Result<()> {
    let mut file = File::from(memfd_create("updates", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    dup2_stdin(&file)?;
    Ok(())
}

/// The repository's own hook of this name, when there is one that may run.
fn own_hook(name: &OsStr, env: &Env) -> Result<Option<PathBuf>, String> {
    let directory = match default_directory(env) {
        Some(directory) => directory,
        None => configured_directory(env)?,
    };
    let hook = env.cwd.join(directory).join(name);
    let is_own = git_hooks::base(env).is_none_or(|base| !hook.starts_with(base));
    Ok(Some(hook).filter(|hook| is_own && hook.is_file() && executable::is_executable(hook)))
}

/// The directory in which git would look for hooks without Fairway. Asks git.
fn configured_directory(env: &Env) -> Result<PathBuf, String> {
    let failed = || "cannot find the hooks of the repository".to_owned();
    let vars = without_own_settings(env).ok_or_else(failed)?;
    let args = ["rev-parse", "--git-path", "hooks"].map(OsString::from);
    let done = run_git(env, &vars, &args).filter(|done| done.exit == ExitReason::Code(0)).ok_or_else(failed)?;
    let path = done.stdout.strip_suffix(b"\n").unwrap_or(&done.stdout);
    Ok(PathBuf::from(OsStr::from_bytes(path)))
}

/// The environment without Fairway's settings of git.
fn without_own_settings(env: &Env) -> Option<BTreeMap<OsString, OsString>> {
    let base = git_hooks::base(env)?;
    let settings = git_hooks::settings(|name| env.var(name).map(str::to_owned), &base);
    let is_setting = |name: &OsString| {
        let name = name.to_string_lossy();
        name == git_hooks::COUNT
            || name == git_hooks::PARAMETERS
            || name.starts_with(git_hooks::KEY)
            || name.starts_with(git_hooks::VALUE)
    };
    let others =
        env.vars().iter().filter(|(name, _)| !is_setting(name)).map(|(name, value)| (name.clone(), value.clone()));
    let parameters = own_parameters(env, &base).map(|text| (git_hooks::PARAMETERS.to_owned(), text));
    let own =
        git_hooks::variables(&settings).into_iter().chain(parameters).map(|(name, value)| (name.into(), value.into()));
    Some(others.chain(own).collect())
}

/// The settings that the caller of git has made with `-c`.
fn own_parameters(env: &Env, base: &Path) -> Option<String> {
    git_hooks::parameters(env.var(git_hooks::PARAMETERS)?, base)
}

/// The directory `hooks` of the repository, when it is certain that no setting names another one. git runs some hooks many times
/// for one command, and asking it each time would be slow. Returns `None` where git must be asked.
fn default_directory(env: &Env) -> Option<PathBuf> {
    let base = git_hooks::base(env)?;
    let names_another = |bytes: &[u8]| {
        let text = bytes.to_ascii_lowercase();
        [&b"hookspath"[..], b"include"].iter().any(|word| text.windows(word.len()).any(|part| part == *word))
    };
    let settings = git_hooks::settings(|name| env.var(name).map(str::to_owned), &base);
    if settings.iter().any(|(key, _)| names_another(key.as_bytes()))
        || own_parameters(env, &base).is_some()
        || ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].iter().any(|name| env.var_os(name).is_some())
    {
        return None;
    }
    // git sets the variable in linked worktrees, but not in the main one, and runs hooks at the top.
    let directory = match env.var_os("GIT_DIR") {
        Some(directory) => env.cwd.join(directory),
        None => git_dir(&env.cwd)?,
    };
    let common = match fs::read_to_string(directory.join("commondir")) {
        Ok(common) => directory.join(common.trim_end_matches('\n')),
        Err(_) => directory.clone(),
    };
    let home = env.home.clone()?;
    let user = env.var_os("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from);
    let system = ["/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig"].map(PathBuf::from);
    let files =
        [common.join("config"), directory.join("config.worktree"), home.join(".gitconfig"), user.join("git/config")];
    let is_silent = |path: &Path| match fs::read(path) {
        Ok(bytes) => !names_another(&bytes),
        Err(error) => matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
    };
    // Without a configuration it is no repository of the usual form.
    let is_usual = common.join("config").is_file() && files.iter().chain(&system).all(|path| is_silent(path));
    is_usual.then(|| common.join("hooks"))
}
