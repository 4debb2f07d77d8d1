//! Git hooks for a launched session: each push asks the guard, and every hook of the repository runs as before.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use anyhow::Result;

use crate::App;
use crate::core::errors;
use fairway_core::domain::{Refusal, Role};
use fairway_core::env::{git_hooks, vars};
use fairway_core::guard::PushKind;
use fairway_core::os::capture::{self, Call};
use fairway_core::os::exit_reason::ExitReason;
use fairway_core::os::git::{self, SESSION_GIT_HEAD};
use fairway_core::os::{digest, executable, files};

/// Every hook that git runs from the directory of `core.hooksPath`.
const HOOKS: &[&str] = &[
    "applypatch-msg", "commit-msg", "p4-changelist", "p4-post-changelist", "p4-pre-submit", "p4-prepare-changelist",
    "post-applypatch", "post-checkout", "post-commit", "post-merge", "post-receive", "post-rewrite", "post-update",
    "pre-applypatch", "pre-auto-gc", "pre-commit", "pre-merge-commit", "pre-push", "pre-rebase", "pre-receive",
    "prepare-commit-msg", "proc-receive", "push-to-checkout", "sendemail-validate", "update",
];

/// Hooks that git runs many times for one command, also for `git status`. They are written only for a repository that has them.
const FREQUENT_HOOKS: &[&str] = &["post-index-change", "reference-transaction"];

/// How long git may take to name the directory of the hooks.
const QUERY_TIMEOUT: Duration = Duration::from_secs(5);

/// The mark of a directory whose hook asks the guard about every push, also about one that only adds commits.
const EVERY_PUSH: &str = "a";

/// The directory of the git hooks for a session with this role and worktree. `None` when no guard rule denies the role any push.
pub(super) fn directory(app: &App, role: &Role, worktree: &Path) -> Result<Option<PathBuf>> {
    let Some(rules) = app.settings.guard.as_ref() else { return Ok(None) };
    if PushKind::ALL.into_iter().all(|kind| rules.denied_push(kind, role).is_none()) {
        return Ok(None);
    }
    let every = if rules.denied_push(PushKind::Update, role).is_some() { EVERY_PUSH } else { "" };
    let home = || Refusal::invalid("the environment", "has no home directory; set HOME or XDG_STATE_HOME");
    let base = git_hooks::base(&app.env).ok_or_else(home)?;
    let program = executable::current_executable().map_err(errors::internal)?;
    let name = digest::sha256_hex(program.as_os_str().as_encoded_bytes());
    let directory = if worktree.is_dir() { worktree } else { &app.project.root };
    let own = own_directory(app, directory);
    let marks = FREQUENT_HOOKS.iter().map(|hook| {
        let is_there = own.as_ref().is_some_and(|own| own.join(hook).exists());
        if is_there { hook.get(..1).unwrap_or_default() } else { "" }
    });
    Ok(Some(base.join(format!("{}-{}", name.get(..12).unwrap_or_default(), marks.chain([every]).collect::<String>()))))
}

/// The directory of the repository's own hooks.
fn own_directory(app: &App, directory: &Path) -> Option<PathBuf> {
    let program = git::find_program(app.env.var_os(vars::PATH).map(OsString::as_os_str), directory)?;
    let args = ["rev-parse", "--git-path", "hooks"].map(OsString::from);
    let (env, limit) = (app.env.vars(), QUERY_TIMEOUT);
    let call = Call { program: &program, args: &args, env, cwd: directory, stdin: b"", limit, ends_group: true };
    let done = capture::capture(&call).ok().filter(|done| done.exit == ExitReason::Code(0))?;
    Some(directory.join(String::from_utf8_lossy(&done.stdout).trim_end_matches('\n')))
}

/// The environment variables for a session with git hooks: git settings that name `directory`, in addition to those that `set` or
/// this process's environment has, and a `PATH` in which the session's own `git` comes first.
pub(super) fn variables(app: &App, directory: &Path, set: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let get = |name: &str| set.get(name).cloned().or_else(|| app.env.var(name).map(str::to_owned));
    let base = directory.parent().unwrap_or(directory);
    let mut settings = git_hooks::settings(get, base);
    settings.push((git_hooks::HOOKS_PATH.to_owned(), directory.to_string_lossy().into_owned()));
    let own = directory.join(git_hooks::BIN).to_string_lossy().into_owned();
    let path = get(vars::PATH).unwrap_or_else(|| executable::DEFAULT_PATH.to_owned());
    // A launch inside of a session has that of the other session.
    let others = path.split(':').filter(|dir| !Path::new(dir).starts_with(base)).map(str::to_owned);
    let path = std::iter::once(own).chain(others).collect::<Vec<_>>().join(":");
    git_hooks::variables(&settings).into_iter().chain([(vars::PATH.to_owned(), path)]).collect()
}

/// Writes the hooks and the session's own `git` into `directory`. Sessions that the same Fairway program launches with the same
/// hooks share it.
pub(super) fn write(directory: &Path) -> Result<()> {
    write_all(directory).map_err(errors::internal)
}

fn write_all(directory: &Path) -> io::Result<()> {
    let quote = |path: &Path| shell_words::quote(&path.to_string_lossy()).into_owned();
    let program = quote(&executable::current_executable()?);
    // Without the program nothing asks the guard: the hook fails, and so does what git was about to do.
    let script = |name: &str| {
        format!(
            "#!/bin/sh\n[ -x {program} ] || {{\n\techo \"fairway: {program} is gone, so git's ${{0##*/}} hook fails; launch the session again\" >&2\n\texit 1\n}}\nexec {program} hook git {name} \"$@\"\n"
        )
    };
    files::private_dir(directory)?;
    let marks = directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let marks = marks.rsplit('-').next().unwrap_or_default();
    let frequent = FREQUENT_HOOKS.iter().filter(|hook| hook.get(..1).is_some_and(|mark| marks.contains(mark)));
    for name in HOOKS.iter().chain(frequent) {
        let path = directory.join(name);
        let asks_always = *name == git_hooks::PRE_PUSH && marks.contains(EVERY_PUSH);
        write_script(&path, &script(if asks_always { git_hooks::EVERY_PUSH } else { name }))?;
    }
    let bin = directory.join(git_hooks::BIN);
    files::private_dir(&bin)?;
    write_script(
        &bin.join("git"),
        &session_git(&program, &quote(directory), &quote(directory.parent().unwrap_or(directory))),
    )
}

fn write_script(path: &Path, script: &str) -> io::Result<()> {
    if fs::read(path).is_ok_and(|content| content == script.as_bytes()) {
        return Ok(());
    }
    files::write_atomic(path, script.as_bytes(), 0o700)
}

/// The script of the session's own `git`; its parameters are quoted paths. When the program is gone, it passes every command
/// but a push to the next `git` in `PATH`.
fn session_git(program: &str, directory: &str, base: &str) -> String {
    format!(
        r#"{SESSION_GIT_HEAD}[ -x {program} ] && exec {program} hook session-git {directory} "$@"
case " $* " in
*' stash push '*) ;;
*' push '*)
	echo fairway: {program} "is gone, so git push fails; launch the session again" >&2
	exit 1
	;;
esac
set -f
IFS=:
for dir in $PATH; do
	case $dir in
	{base}/*) ;;
	*) [ ! -x "$dir/git" ] || exec "$dir/git" "$@" ;;
	esac
done
echo "fairway: git is not installed" >&2
exit 127
"#
    )
}
