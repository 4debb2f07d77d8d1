//! Asking git about a folder: as a program, by argv, in no language but its own, with a deadline. What it does not tell
//! is `None`, also where there is no git or no repository.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io::Read,
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, Stdio},
    sync::mpsc,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

/// How long git may take.
const DEADLINE: Duration = Duration::from_secs(20);
/// The most of an answer that is read: only whether there is more matters then.
const MOST: u64 = 64 * 1024;

/// Git in one folder.
#[derive(Debug, Clone, Copy)]
pub struct Git<'a> {
    vars: &'a BTreeMap<OsString, OsString>,
    folder: &'a Path,
}

impl<'a> Git<'a> {
    /// Git in this folder, with these variables but its own.
    #[must_use]
    pub const fn new(vars: &'a BTreeMap<OsString, OsString>, folder: &'a Path) -> Self {
        Self { vars, folder }
    }

    /// The commit that is checked out.
    #[must_use]
    pub fn head(&self) -> Option<String> {
        self.commit("HEAD")
    }

    /// The commit that a name means, in full.
    #[must_use]
    pub fn commit(&self, name: &str) -> Option<String> {
        let meant = format!("{name}^{{commit}}");
        let (success, answer) = self.ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &meant])?;
        let answer = answer.trim();
        let is_commit = answer.len() >= 40 && answer.chars().all(|digit| digit.is_ascii_hexdigit());
        (success && is_commit).then(|| answer.to_owned())
    }

    /// Whether nothing is changed, staged or new.
    #[must_use]
    pub fn is_clean(&self) -> Option<bool> {
        let (success, answer) = self.ask(&["status", "--porcelain", "--untracked-files=normal"])?;
        success.then_some(answer.is_empty())
    }

    /// The commit that is checked out, if nothing else lies in the folder.
    #[must_use]
    pub fn clean_head(&self) -> Option<String> {
        let head = self.head()?;
        (self.is_clean() == Some(true)).then_some(head)
    }

    /// Whether everything in `base` is in `commit` too.
    #[must_use]
    pub fn contains(&self, base: &str, commit: &str) -> Option<bool> {
        let (base, commit) = (self.commit(base)?, self.commit(commit)?);
        // It lists what only the base has; at most one is needed to know.
        let (success, answer) = self.ask(&["rev-list", "--max-count=1", &format!("{commit}..{base}")])?;
        success.then_some(answer.trim().is_empty())
    }

    #[expect(clippy::disallowed_methods, reason = "the one place that runs git; argv only, own process group")]
    fn ask(&self, args: &[&str]) -> Option<(bool, String)> {
        let own = |name: &OsString| name.as_encoded_bytes().starts_with(b"GIT_");
        let mut child = Command::new("git")
            // No watcher program of the repository's configuration is started, and no lock is taken to read.
            .args(["--no-optional-locks", "-c", "core.fsmonitor=false"])
            .args(args)
            .env_clear()
            .envs(self.vars.iter().filter(|(name, _)| !own(name)))
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .current_dir(self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .ok()?;
        let answer = child.stdout.take();
        let (sender, receiver) = mpsc::channel();
        // A pipe has no deadline: a thread reads it.
        let reader = std::thread::Builder::new().name("git".into()).spawn(move || {
            let mut text = Vec::new();
            if let Some(answer) = answer {
                let _ = answer.take(MOST).read_to_end(&mut text);
            }
            let _ = sender.send(text);
        });
        let text = reader.ok().and_then(|_| receiver.recv_timeout(DEADLINE).ok());
        if text.is_none() {
            // It is our child and not yet waited for, so its group is still its own.
            let _ = killpg(Pid::from_raw(i32::try_from(child.id()).ok()?), Signal::SIGKILL);
        }
        let status = child.wait().ok()?;
        Some((status.success(), String::from_utf8_lossy(&text?).into_owned()))
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test needs a repository of its own")]
mod tests {
    use super::*;

    #[test]
    fn tells_commits_cleanness_and_ancestry_and_nothing_where_there_is_no_repository() {
        let home = tempfile::tempdir().unwrap();
        let vars: BTreeMap<OsString, OsString> = [
            (OsString::from("PATH"), std::env::var_os("PATH").unwrap_or_default()),
            ("HOME".into(), home.path().into()),
            // What a hook would have set; it must not lead us elsewhere.
            ("GIT_DIR".into(), "/nowhere".into()),
        ]
        .into();
        let outside = Git::new(&vars, home.path());
        assert_eq!((outside.head(), outside.is_clean()), (None, None));

        let repository = home.path().join("r");
        std::fs::create_dir(&repository).unwrap();
        let git = |args: &[&str]| {
            let mut command = Command::new("git");
            command.args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"]);
            let done = command.args(args).current_dir(&repository).env("HOME", home.path()).output().unwrap();
            assert!(done.status.success(), "{done:?}");
        };
        git(&["init", "-q"]);
        git(&["commit", "-q", "--allow-empty", "-m", "one"]);
        git(&["branch", "side"]);
        git(&["commit", "-q", "--allow-empty", "-m", "two"]);
        let here = Git::new(&vars, &repository);
        let head = here.head().unwrap();
        assert_eq!(here.commit(&head[..10]).as_ref(), Some(&head));
        assert_eq!(here.commit("--all"), None);
        assert_eq!(here.clean_head().as_ref(), Some(&head));
        assert_eq!((here.contains("side", "main"), here.contains("main", "side")), (Some(true), Some(false)));
        assert_eq!(here.contains("absent", "main"), None);
        std::fs::write(repository.join("new"), "x").unwrap();
        assert_eq!((here.is_clean(), here.clean_head()), (Some(false), None));
    }
}
