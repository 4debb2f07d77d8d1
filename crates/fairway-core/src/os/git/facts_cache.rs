//! The facts about a repository, kept in a file between processes. They are used again only while each file that git reads them
//! from is the same one. A configuration that includes other files is read each time.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use serde_json::{Value, json};

use super::command::{Git, GitError, QUERY_TIMEOUT, output_text};
use super::repository_facts::RepositoryFacts;
use crate::os::digest::sha256_hex;
use crate::os::exit_reason::ExitReason;
use crate::os::files;

/// A file that was changed within this time may change again without a trace in its times.
const RACY: Duration = Duration::from_secs(2);

/// Variables of git that say nothing about a repository or its configuration.
const IRRELEVANT: [&str; 9] = [
    "GIT_ASKPASS", "GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_EDITOR", "GIT_OPTIONAL_LOCKS", "GIT_PAGER",
    "GIT_SEQUENCE_EDITOR", "GIT_SSH", "GIT_TERMINAL_PROMPT",
];

impl RepositoryFacts {
    /// Like [`Self::read`], but takes the facts from the file `cache`, without calling git, while all files are unchanged from
    /// which git reads them. Otherwise reads the facts and writes them to `cache`.
    ///
    /// # Errors
    /// When git fails or is too old.
    pub fn read_cached(git: &Git<'_>, cache: &Path) -> Result<Self, GitError> {
        if let Some(kept) = kept(git, cache) {
            return Ok(kept);
        }
        // The files are looked at before git reads them.
        let sources = sources(git).and_then(|sources| states(&sources));
        let facts = Self::read(git)?;
        if let Some(text) = sources.filter(|_| !facts.has_includes).and_then(|states| text_of(git, &facts, &states)) {
            // Without it the next process asks git again.
            let _ = files::write_atomic_nosync(cache, text.as_bytes(), 0o600);
        }
        Ok(facts)
    }
}

/// The kept facts, if all that they come from is as it was.
fn kept(git: &Git<'_>, cache: &Path) -> Option<RepositoryFacts> {
    let value: Value = serde_json::from_slice(&fs::read(cache).ok()?).ok()?;
    let text = |key: &str| value.get(key)?.as_str();
    let is_same_call = text("dir") == git.dir().to_str()
        && text("git") == git.program().ok()?.to_str()
        && text("environment") == Some(&environment(git.vars()));
    let is_same = |pair: &Value| {
        let (path, state) = (pair.get(0)?.as_str()?, pair.get(1)?.as_str()?);
        (self::state(Path::new(path))? == state).then_some(())
    };
    if !is_same_call || !value.get("sources")?.as_array()?.iter().all(|pair| is_same(pair).is_some()) {
        return None;
    }
    let pair = |pair: &Value| Some((pair.get(0)?.as_str()?.to_owned(), pair.get(1)?.as_str()?.to_owned()));
    let facts = RepositoryFacts {
        format: text("format")?.to_owned(),
        objects: text("objects")?.into(),
        common: text("common")?.into(),
        carried: value.get("carried")?.as_array()?.iter().map(pair).collect::<Option<_>>()?,
        excludes: text("excludes").map(PathBuf::from),
        has_includes: false,
    };
    facts.is_valid().then_some(facts)
}

/// The facts and where they come from; `None` for names that are not UTF-8 and for another repository.
fn text_of(git: &Git<'_>, facts: &RepositoryFacts, states: &[(PathBuf, String)]) -> Option<String> {
    // A bare repository is not found as the others are.
    let is_same = |one: &Path| one.canonicalize().ok() == facts.common.canonicalize().ok();
    dirs(git.dir()).filter(|(_, _, common)| is_same(common))?;
    let states: Option<Vec<Value>> = states.iter().map(|(path, state)| Some(json!([path.to_str()?, state]))).collect();
    let excludes = facts.excludes.as_ref().map(|path| path.to_str().ok_or(())).transpose().ok()?;
    let value = json!({
        "dir": git.dir().to_str()?, "git": git.program().ok()?.to_str()?, "environment": environment(git.vars()),
        "sources": states?, "format": facts.format, "objects": facts.objects.to_str()?, "common": facts.common.to_str()?,
        "carried": facts.carried, "excludes": excludes,
    });
    Some(value.to_string())
}

/// A digest of the variables that git's answers depend on; their values may be secrets.
fn environment(vars: &BTreeMap<OsString, OsString>) -> String {
    let counts = |name: &OsStr| {
        let name = name.as_bytes();
        name == b"HOME"
            || name == b"XDG_CONFIG_HOME"
            || (name.starts_with(b"GIT_") && !IRRELEVANT.iter().any(|other| name.starts_with(other.as_bytes())))
    };
    let kept = vars.iter().filter(|(name, _)| counts(name));
    let bytes: Vec<u8> =
        kept.flat_map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat()).collect();
    sha256_hex(&bytes)
}

/// The files that git finds the repository and its configuration by; `None` when they are unknown.
fn sources(git: &Git<'_>) -> Option<Vec<PathBuf>> {
    let var = |name: &str| git.vars().get(OsStr::new(name)).filter(|value| !value.is_empty()).map(PathBuf::from);
    let (mut found, git_dir, common) = dirs(git.dir())?;
    found.push(git.program().ok()?);
    found.extend([git_dir.join("commondir"), git_dir.join("config.worktree")]);
    found.extend(["config", "config.worktree"].map(|name| common.join(name)));
    if let Some(global) = var("GIT_CONFIG_GLOBAL") {
        found.push(global);
    } else {
        let home = var("HOME")?;
        found.push(var("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")).join("git/config"));
        found.push(home.join(".gitconfig"));
    }
    if !git.vars().contains_key(OsStr::new("GIT_CONFIG_NOSYSTEM")) {
        found.push(var("GIT_CONFIG_SYSTEM").or_else(|| system_config(git))?);
    }
    Some(found)
}

/// The configuration file of all users; `None` when it is unknown.
fn system_config(git: &Git<'_>) -> Option<PathBuf> {
    if let Ok(path) = git.run_checked("var", &["var", "GIT_CONFIG_SYSTEM"], QUERY_TIMEOUT) {
        return Some(path.into());
    }
    // Git before 2.41 names it as the origin of a setting, or as the file that it cannot read.
    let listed = git.run(&["config", "--system", "--list", "--show-origin", "-z"], QUERY_TIMEOUT).ok()?;
    if listed.exit == ExitReason::Code(0) {
        let origin = listed.stdout.split(|byte| *byte == 0).next()?.strip_prefix(b"file:")?;
        return Some(PathBuf::from(OsStr::from_bytes(origin)));
    }
    let message = output_text(&listed.stderr);
    let path = message.strip_prefix("fatal: unable to read config file '")?;
    path.strip_suffix("': No such file or directory").map(PathBuf::from)
}

/// The places where git looks for a repository around a directory, its git directory, and the one that its worktrees share.
fn dirs(around: &Path) -> Option<(Vec<PathBuf>, PathBuf, PathBuf)> {
    let mut tried = Vec::new();
    let top = around.ancestors().find(|dir| {
        tried.push(dir.join(".git"));
        dir.join(".git").exists()
    })?;
    let entry = top.join(".git");
    let git_dir = if entry.is_dir() { entry } else { top.join(path_in(&entry, b"gitdir: ")?) };
    let common = path_in(&git_dir.join("commondir"), b"").map(|path| git_dir.join(path));
    let common = common.unwrap_or_else(|| git_dir.clone());
    Some((tried, git_dir, common))
}

/// The path that a file of git contains behind a prefix.
fn path_in(file: &Path, prefix: &[u8]) -> Option<PathBuf> {
    let text = fs::read(file).ok()?;
    Some(PathBuf::from(OsStr::from_bytes(text.strip_prefix(prefix)?.trim_ascii_end())))
}

/// The states of these files; `None` when one of them is unknown or was changed just now.
fn states(paths: &[PathBuf]) -> Option<Vec<(PathBuf, String)>> {
    let state = |path: &PathBuf| {
        let is_racy = fs::metadata(path).is_ok_and(|found| {
            found.is_file() && found.modified().ok().and_then(|at| at.elapsed().ok()).is_none_or(|age| age < RACY)
        });
        if is_racy { None } else { Some((path.clone(), state(path)?)) }
    };
    paths.iter().map(state).collect()
}

/// A text that differs between two states of a file. A directory always has the same one: its files are compared on their own.
fn state(path: &Path) -> Option<String> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Some(format!("directory {} {}", found.dev(), found.ino())),
        Ok(_) => stamp(path),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Some("absent".to_owned())
        }
        Err(_) => None,
    }
}

/// A text that differs between two states of a file: its inode, size and times. `None` when there is no such file.
pub(super) fn stamp(path: &Path) -> Option<String> {
    let found = fs::metadata(path).ok()?;
    let (changed, changed_nsec) = (found.ctime(), found.ctime_nsec());
    Some(format!("{} {} {} {} {changed} {changed_nsec}", found.ino(), found.size(), found.mtime(), found.mtime_nsec()))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test needs a repository of its own")]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    use super::*;

    /// The name of a change, and the change with a text for a configuration.
    type Step = (&'static str, fn(&mut World, &str));

    struct World {
        dir: tempfile::TempDir,
        vars: BTreeMap<OsString, OsString>,
    }

    impl World {
        /// A repository below a home, and a `git` that writes down each of its calls.
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let path = |name: &str| dir.path().join(name);
            for name in ["repo/sub", "bin", "xdg/git"] {
                fs::create_dir_all(path(name)).unwrap();
            }
            let real = std::env::var_os("PATH").unwrap();
            let real = super::super::super::executable::find("git", Some(&real), Path::new("/")).unwrap();
            let script =
                format!("#!/bin/sh\necho \"$*\" >>'{}'\nexec {} \"$@\"\n", path("calls").display(), real.display());
            fs::write(path("bin/git"), script).unwrap();
            fs::set_permissions(path("bin/git"), fs::Permissions::from_mode(0o755)).unwrap();
            fs::write(path("system"), "").unwrap();
            let vars = [
                ("PATH", format!("{}:{}", path("bin").display(), std::env::var("PATH").unwrap())),
                ("HOME", path("").display().to_string()),
                ("XDG_CONFIG_HOME", path("xdg").display().to_string()),
                ("GIT_CONFIG_SYSTEM", path("system").display().to_string()),
            ];
            let vars = vars.map(|(name, value)| (name.into(), value.into())).into_iter().collect();
            let world = Self { dir, vars };
            world.git(&["init", "--quiet"]);
            world.grow_old();
            world
        }

        fn path(&self, name: &str) -> PathBuf {
            self.dir.path().join(name)
        }

        fn git(&self, args: &[&str]) {
            let done =
                Command::new("git").args(args).current_dir(self.path("repo")).env_clear().envs(&self.vars).status();
            assert!(done.unwrap().success(), "{args:?}");
            self.grow_old();
        }

        /// Files that were written just now are not relied on.
        fn grow_old(&self) {
            let files = ["bin/git", "repo/.git/config", "repo/.git/config.worktree", "repo/.git/commondir", "system"];
            for name in files.into_iter().chain([".gitconfig", "xdg/git/config", "more"]) {
                if let Ok(file) = fs::File::options().append(true).open(self.path(name)) {
                    let old = file.metadata().unwrap().modified().unwrap() - Duration::from_secs(60);
                    file.set_modified(old).unwrap();
                }
            }
        }

        /// The facts from the cache, which are as git says them, and whether a git was asked.
        fn read(&self) -> (RepositoryFacts, bool) {
            let git = Git::new(&self.vars, Path::new(""));
            let dir = self.path("repo/sub");
            let git = Git::new(git.vars(), &dir);
            let calls = || fs::read(self.path("calls")).unwrap().len();
            let before = calls();
            let facts = RepositoryFacts::read_cached(&git, &self.path("facts")).unwrap();
            let asked = calls() > before;
            assert_eq!(facts, RepositoryFacts::read(&git).unwrap());
            (facts, asked)
        }
    }

    #[test]
    fn facts_are_kept_until_anything_that_they_come_from_changes() {
        let mut world = World::new();
        assert!(world.read().1);
        assert!(!world.read().1);
        let config = "[core]\n\tautocrlf = input\n";
        let steps: [Step; 9] = [
            ("the repository's configuration", |world, _| world.git(&["config", "core.autocrlf", "true"])),
            ("the user's", |world, text| fs::write(world.path(".gitconfig"), text).unwrap()),
            ("the user's other one", |world, text| fs::write(world.path("xdg/git/config"), text).unwrap()),
            ("the system's", |world, text| fs::write(world.path("system"), text).unwrap()),
            ("that of the worktree", |world, _| {
                world.git(&["config", "extensions.worktreeConfig", "true"]);
                world.git(&["config", "--worktree", "core.autocrlf", "input"]);
            }),
            ("a variable", |world, _| {
                world.vars.insert("GIT_CONFIG_GLOBAL".into(), "/dev/null".into());
            }),
            ("git itself", |world, _| {
                let text = fs::read_to_string(world.path("bin/git")).unwrap();
                fs::write(world.path("bin/git"), format!("{text}# newer\n")).unwrap();
            }),
            ("the file itself", |world, _| fs::write(world.path("facts"), "{}").unwrap()),
            ("a repository that is nearer", |world, _| {
                fs::create_dir_all(world.path("repo/sub/.git")).unwrap();
                fs::rename(world.path("repo/.git"), world.path("repo/sub/.git")).unwrap();
            }),
        ];
        for (about, change) in steps {
            change(&mut world, config);
            world.grow_old();
            assert!(world.read().1, "{about}");
            assert!(!world.read().1, "{about}");
        }
    }

    #[test]
    fn facts_are_kept_with_a_git_that_does_not_name_the_system_configuration() {
        for text in [None, Some("[user]\n\tname = t\n")] {
            let mut world = World::new();
            let system = world.path("system");
            world.vars.remove(OsStr::new("GIT_CONFIG_SYSTEM"));
            fs::remove_file(&system).unwrap();
            let script = fs::read_to_string(world.path("bin/git")).unwrap();
            let older = format!(
                "case \"$*\" in *' var GIT_CONFIG_SYSTEM') exit 129 ;; esac\nexport GIT_CONFIG_SYSTEM='{}'\n",
                system.display()
            );
            fs::write(world.path("bin/git"), script.replacen("exec ", &format!("{older}exec "), 1)).unwrap();
            if let Some(text) = text {
                fs::write(&system, text).unwrap();
            }
            world.grow_old();
            assert!(world.read().1);
            assert!(!world.read().1, "{text:?}");
            fs::write(&system, "[core]\n\teol = crlf\n").unwrap();
            world.grow_old();
            assert!(world.read().1, "{text:?}");
        }
    }

    #[test]
    fn facts_of_a_fresh_or_including_configuration_are_read_each_time() {
        let world = World::new();
        fs::write(world.path(".gitconfig"), "[core]\n\teol = crlf\n").unwrap();
        assert!(world.read().1);
        assert!(world.read().1, "it was written just now");
        world.grow_old();
        world.read();
        assert!(!world.read().1);
        fs::write(world.path("more"), "[core]\n\teol = lf\n").unwrap();
        let include = format!("[include]\n\tpath = {}\n", world.path("more").display());
        fs::write(world.path(".gitconfig"), include).unwrap();
        world.grow_old();
        assert!(world.read().1 && world.read().1, "another file is included");
    }
}
