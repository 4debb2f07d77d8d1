//! The `git` in the PATH of a launched session. It hands every command to the git of the system. To a push it adds the guard's
//! hooks, ahead of every other setting, and drops the option that skips them, so that the guard is asked.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::time::Duration;

use super::call::{catch_panic, one_line};
use fairway_core::env::{Env, git_hooks, vars};
use fairway_core::guard::git_commands::{BUILT_IN_COMMANDS, takes_value};
use fairway_core::os::capture::{self, Call};
use fairway_core::os::exit_reason::ExitReason;
use fairway_core::os::{exec, executable, git};

/// The commands that push through the repository's hooks.
const PUSHES: [&str; 2] = ["push", "subtree"];
/// The option of a push that skips its hook. git also accepts shortened forms of it. When both this option and its opposite
/// are given, the last one counts.
const SKIP_HOOK: &str = "--no-verify";
const SHORTEST_SKIP_HOOK: &str = "--no-v";
const ASK_HOOK: &str = "--verify";
const NO_AUTOCORRECT: &str = "help.autoCorrect=0";

/// How many aliases are expanded one after the other.
const MAX_ALIASES: usize = 32;
/// How long git may take to name the aliases.
const QUERY_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs `hook session-git DIRECTORY ARGUMENTS…`: replaces this process with git, called with these arguments. `DIRECTORY`
/// contains the git hooks of the session, which ask the guard; a push runs them. Returns only on a failure, with the exit
/// code.
pub(super) fn run(args: &[OsString], env: &Env) -> u8 {
    let Some((hooks, args)) = args.split_first() else { return 2 };
    let path = env.var_os(vars::PATH).map(OsString::as_os_str);
    let (code, why) = match git::find_program(path, &env.cwd) {
        None => (127, "git is not installed".to_owned()),
        Some(git) => match catch_panic(|| words(&SessionGit { git: &git, hooks: Path::new(hooks), env }, args)) {
            Ok(words) => {
                let argv: Vec<OsString> = std::iter::once(git.into_os_string()).chain(words).collect();
                (126, exec::hand_over(&argv).to_string())
            }
            Err(why) => (1, format!("git push: the push is denied: {why}")),
        },
    };
    let _ = io::stderr().write_all(format!("fairway: {}\n", one_line(&why)).as_bytes());
    code
}

struct SessionGit<'a> {
    git: &'a Path,
    hooks: &'a Path,
    env: &'a Env,
}

/// The arguments for the git of the system. Aliases are expanded as far as a push needs it: git itself would run an aliased
/// command with its own directory before the PATH, and so bypass this program.
fn words(call: &SessionGit<'_>, args: &[OsString]) -> Result<Vec<OsString>, String> {
    let mut words = args.to_vec();
    for _ in 0..MAX_ALIASES {
        let at = command_at(&words);
        let Some(command) = words.get(at) else { break };
        let Some(command) = command.to_str() else { return Ok(uncorrected(args)) };
        if PUSHES.contains(&command) {
            return call.asking(&words, at);
        }
        if BUILT_IN_COMMANDS.contains(&command) || command.starts_with('-') {
            break;
        }
        let Some((key, text)) = call.alias(words.get(..at).unwrap_or_default(), command) else {
            return Ok(uncorrected(args));
        };
        if let Some(shell) = text.strip_prefix(b"!") {
            words.splice(at..at, ["-c".into(), call.shell_alias(&key, shell)]);
            return Ok(words);
        }
        let Some(expansion) = split(&text).filter(|words| !words.is_empty()) else { break };
        words.splice(at..=at, expansion);
    }
    Ok(args.to_vec())
}

/// Arguments that keep git from running a command which it guesses from an unknown one: the guess could be a push.
fn uncorrected(args: &[OsString]) -> Vec<OsString> {
    let mut words = args.to_vec();
    let at = command_at(args).min(args.len());
    words.splice(at..at, ["-c".into(), NO_AUTOCORRECT.into()]);
    words
}

/// The index of git's command, which follows git's own options.
fn command_at(words: &[OsString]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| word.as_bytes().starts_with(b"-")) {
        at += if word.to_str().is_some_and(takes_value) { 2 } else { 1 };
    }
    at
}

impl SessionGit<'_> {
    /// The arguments of a push that runs the guard's hook.
    fn asking(&self, words: &[OsString], at: usize) -> Result<Vec<OsString>, String> {
        if !executable::is_executable(&self.hooks.join(git_hooks::PRE_PUSH)) {
            return Err(format!("the hook in {} is gone; launch the session again", self.hooks.display()));
        }
        let (options, command) = words.split_at(at);
        let skips = |word: &OsString| {
            word.to_str().is_some_and(|word| word.starts_with(SHORTEST_SKIP_HOOK) && SKIP_HOOK.starts_with(word))
        };
        let mut asking = options.to_vec();
        let mut set = |path: &OsStr| {
            let mut setting = OsString::from(git_hooks::HOOKS_PATH);
            setting.push("=");
            setting.push(path);
            asking.extend(["-c".into(), setting]);
        };
        if command.iter().any(skips) {
            // The repository's own hook is skipped as before.
            set(OsStr::new("/dev/null"));
        }
        set(self.hooks.as_os_str());
        asking.extend(command.iter().map(|word| if skips(word) { ASK_HOOK.into() } else { word.clone() }));
        Ok(asking)
    }

    /// The setting that makes `key` an alias for the shell text `shell`, with a PATH in which `git` is this program again.
    fn shell_alias(&self, key: &[u8], shell: &[u8]) -> OsString {
        let bin = self.hooks.join(git_hooks::BIN);
        let path = format!("PATH={}:$PATH\n", shell_words::quote(&bin.to_string_lossy()));
        OsString::from_vec([key, b"=!", path.as_bytes(), shell].concat())
    }

    /// The key and the text of an alias under these options of git.
    fn alias(&self, options: &[OsString], command: &str) -> Option<(Vec<u8>, Vec<u8>)> {
        let query = ["config", "-z", "--get-regexp", r"^alias\."].map(OsString::from);
        let args: Vec<OsString> = options.iter().cloned().chain(query).collect();
        let call = Call {
            program: self.git,
            args: &args,
            env: self.env.vars(),
            cwd: &self.env.cwd,
            stdin: b"",
            limit: QUERY_TIMEOUT,
            ends_group: true,
        };
        let done = capture::capture(&call).ok().filter(|done| done.exit == ExitReason::Code(0))?;
        let aliases = done.stdout.split(|byte| *byte == 0).rev();
        let mut pairs = aliases.filter_map(|pair| {
            let at = pair.iter().position(|byte| *byte == b'\n')?;
            Some(pair.split_at(at))
        });
        let is_named = |key: &[u8]| {
            // Later versions of git also read `alias.NAME.command`.
            let name = key.get("alias.".len()..).unwrap_or_default();
            name.eq_ignore_ascii_case(command.as_bytes())
                || name.strip_suffix(b".command").is_some_and(|name| name == command.as_bytes())
        };
        let (key, text) = pairs.find(|(key, _)| is_named(key))?;
        Some((key.to_vec(), text.get(1..)?.to_vec()))
    }
}

/// The words of an alias, by the rules of git. Returns `None` for quotes without an end.
fn split(text: &[u8]) -> Option<Vec<OsString>> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (None, byte) if byte.is_ascii_whitespace() => words.extend(word.take()),
            (None, b'\'' | b'"') => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (Some(open), byte) if open == byte => quote = None,
            (Some(b'\''), byte) => word.get_or_insert_default().push(byte),
            (_, b'\\') => word.get_or_insert_default().push(bytes.next()?),
            (_, byte) => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    quote.is_none().then(|| words.into_iter().map(OsString::from_vec).collect())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test asks the git that is installed")]
mod tests {
    use std::process::Command;

    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        split(text.as_bytes()).unwrap()
    }

    #[test]
    fn aliases_are_split_as_git_splits_them() {
        assert_eq!(words(r#" push  --no-verify 'a b'\ c "d\"e" '' "#), ["push", "--no-verify", "a b c", "d\"e", ""]);
        assert_eq!(split(b"push 'a"), None);
        assert_eq!(split(b"push a\\"), None);
    }

    /// An alias with the name of such a command does nothing, so that none has to be looked for.
    #[test]
    fn built_in_commands_are_those_of_the_git_here() {
        let path = std::env::var_os("PATH");
        let git = git::find_program(path.as_deref(), Path::new("/")).unwrap();
        let listed = Command::new(git).arg("--list-cmds=builtins").output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        let others: Vec<_> = BUILT_IN_COMMANDS.iter().filter(|name| !listed.lines().any(|one| one == **name)).collect();
        assert!(others.is_empty(), "{others:?}");
    }

    #[test]
    fn command_stands_behind_options_and_their_values() {
        for (text, at) in [
            ("push -f", 0),
            ("-C push --git-dir x -c a=b --no-pager push", 7),
            ("--git-dir=x --config-env a=B push", 3),
            ("--version", 1),
            ("-C", 2),
            ("", 0),
        ] {
            assert_eq!(command_at(&words(text)), at, "{text}");
        }
    }
}
