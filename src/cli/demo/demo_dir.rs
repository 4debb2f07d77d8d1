//! The directory of a demo, and the commands that run in it. The user's own projects, settings and state are not touched.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use anyhow::{Context as _, Result};
use nix::sys::signal::Signal;

use super::demo_steps;
use fairway_actions::core::errors;
use fairway_core::config::project::normalize;
use fairway_core::domain::Refusal;
use fairway_core::env::{Env, vars};
use fairway_core::os::capture::{self, Call, Captured};
use fairway_core::os::exit_reason::ExitReason;
use fairway_core::os::signals::SignalPipe;
use fairway_core::os::{executable, files, foreground, poll_until, random};
use fairway_core::render::OutError;

/// The time limit of a command whose output is read.
const QUERY_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a scripted agent may take.
const AGENT_TIMEOUT: Duration = Duration::from_secs(40);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A demo's directory. Its sessions are stopped when it is dropped, and the directory is removed unless it is kept.
#[derive(Debug)]
pub(super) struct Scene {
    pub dir: PathBuf,
    is_kept: bool,
    program: PathBuf,
    env: BTreeMap<OsString, OsString>,
    signals: SignalPipe,
}

impl Scene {
    /// Creates the demo's directory and fills it. The directory is `wanted`, which must be absent or empty, or by default a
    /// new one in the directory for temporary files.
    ///
    /// # Errors
    /// `invalid_value` when `wanted` has files in it.
    pub fn new(env: &Env, wanted: Option<&Path>, is_kept: bool) -> Result<Self> {
        let dir = match wanted {
            Some(dir) => normalize(&env.cwd.join(dir)),
            None => {
                let base = env.var_os(vars::TMPDIR).map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
                let suffix: String = random::hex()?.chars().take(8).collect();
                env.cwd.join(base).join(format!("fairway-demo-{suffix}"))
            }
        };
        if fs::read_dir(&dir).is_ok_and(|mut found| found.next().is_some()) {
            return Err(Refusal::invalid("--dir", format!("{} has files in it", dir.display())).into());
        }
        let at = || format!("cannot make the demo in {}", dir.display());
        files::private_dir(&dir).with_context(at)?;
        let dir = dir.canonicalize().with_context(at)?;
        let signals = SignalPipe::install(&[Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP])?;
        let program = executable::current_executable()?;
        let scene = Self { env: environment(env, &dir), dir, is_kept, program, signals };
        scene.fill()?;
        Ok(scene)
    }

    fn fill(&self) -> Result<()> {
        for name in ["home", "bin", "run", "shop"] {
            files::private_dir(&self.dir.join(name))?;
        }
        symlink(&self.program, self.dir.join("bin/fairway"))?;
        for (name, text) in [("cart.awk", demo_steps::CART), ("check.sh", demo_steps::CHECK)] {
            files::write_atomic_nosync(&self.shop().join(name), text.as_bytes(), 0o644)?;
        }
        for (name, script) in demo_steps::AGENTS {
            files::write_atomic_nosync(&self.dir.join("bin").join(name), with_end(script).as_bytes(), 0o755)?;
        }
        let init = self.capture(&["git", "init", "--quiet", "--template=", "--initial-branch=main"])?;
        if init.exit != ExitReason::Code(0) {
            return Err(errors::internal(format!("git init: {}", String::from_utf8_lossy(&init.stderr).trim())));
        }
        Ok(())
    }

    /// The project of the demo, in which its commands run.
    pub fn shop(&self) -> PathBuf {
        self.dir.join("shop")
    }

    /// Runs one command of the demo in its project and fails unless the command succeeds. With `is_shown` the command's output
    /// goes to this process's stdout and stderr; otherwise it is discarded.
    pub fn run(&self, words: &[String], is_shown: bool) -> Result<()> {
        let (program, args) = self.resolve(words)?;
        let exit = if is_shown {
            foreground::run(&program, &args, &self.env, &self.shop())?
        } else {
            self.capture(words)?.exit
        };
        self.check_interrupt()?;
        match exit {
            ExitReason::Code(0) => Ok(()),
            // The reader of the output has closed the pipe.
            ExitReason::Signal(signal) if signal == Signal::SIGPIPE as i32 => Err(OutError::Closed.into()),
            ExitReason::Signal(_) => Err(interrupted()),
            _ => Err(Refusal::DemoFailed { command: shell_words::join(words) }.into()),
        }
    }

    /// Repeats a command until its output contains `text`. Fails when that takes longer than `AGENT_TIMEOUT`.
    pub fn wait_for(&self, words: &[String], text: &str) -> Result<()> {
        let found = poll_until::poll_until(AGENT_TIMEOUT, POLL_INTERVAL, || {
            if let Err(error) = self.check_interrupt() {
                return Some(Err(error));
            }
            let said = self.capture(words).ok()?;
            String::from_utf8_lossy(&said.stdout).contains(text).then_some(Ok(()))
        });
        found.unwrap_or_else(|| Err(Refusal::DemoFailed { command: shell_words::join(words) }.into()))
    }

    fn capture<T: AsRef<str>>(&self, words: &[T]) -> Result<Captured> {
        let (program, args) = self.resolve(words)?;
        let call = Call {
            program: &program,
            args: &args,
            env: &self.env,
            cwd: &self.shop(),
            stdin: b"",
            limit: QUERY_TIMEOUT,
            ends_group: true,
        };
        Ok(capture::capture(&call)?)
    }

    fn resolve<T: AsRef<str>>(&self, words: &[T]) -> Result<(PathBuf, Vec<OsString>)> {
        let (name, args) = words.split_first().ok_or_else(|| errors::internal("a step without a command"))?;
        let path = self.env.get(&OsString::from(vars::PATH)).map(OsString::as_os_str);
        let program = executable::find(name.as_ref(), path, &self.dir);
        let program = program.ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, format!("the demo needs {} in PATH", name.as_ref()))
        })?;
        Ok((program, args.iter().map(|arg| arg.as_ref().into()).collect()))
    }

    fn check_interrupt(&self) -> Result<()> {
        match self.signals.next()? {
            Some(_) => Err(interrupted()),
            None => Ok(()),
        }
    }
}

/// An agent's script that ends with this process, also when it is killed: nothing else would end a session then.
fn with_end(script: &str) -> String {
    let (interpreter, rest) = script.split_once('\n').unwrap_or_default();
    let watch = format!("while kill -0 {} && kill -0 $$; do sleep 1; done; kill $$", std::process::id());
    format!("{interpreter}\n[ -z \"$FAIRWAY_TASK_ID\" ] || ({watch}) >/dev/null 2>&1 &\n{rest}")
}

fn interrupted() -> anyhow::Error {
    io::Error::new(io::ErrorKind::Interrupted, "the demo was interrupted").into()
}

impl Drop for Scene {
    fn drop(&mut self) {
        // Whatever happened, no process of the demo stays.
        let _ = self.capture(&["fairway", "session", "stop", "--all", "--quiet"]);
        if !self.is_kept {
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}

/// The environment of the demo's commands: homes of its own, and nothing of a surrounding session or repository.
fn environment(env: &Env, dir: &Path) -> BTreeMap<OsString, OsString> {
    let is_foreign =
        |name: &OsString| name.to_str().is_some_and(|name| name.starts_with("FAIRWAY_") || name.starts_with("GIT_"));
    let mut vars: BTreeMap<OsString, OsString> = env
        .vars()
        .iter()
        .filter(|(name, _)| !is_foreign(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let path = env.var_os(vars::PATH).cloned().unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let mut own_path = dir.join("bin").into_os_string();
    own_path.push(":");
    own_path.push(path);
    let home = dir.join("home");
    for (name, value) in [
        (vars::PATH, own_path),
        (vars::HOME, home.clone().into()),
        (vars::XDG_STATE_HOME, home.join(".local/state").into()),
        (vars::XDG_RUNTIME_DIR, dir.join("run").into()),
        ("XDG_CONFIG_HOME", home.join(".config").into()),
        (vars::FAIRWAY_SESSIONS_DEFAULT_BACKEND, "shell".into()),
        ("GIT_CONFIG_NOSYSTEM", "1".into()),
        ("GIT_CONFIG_GLOBAL", "/dev/null".into()),
        ("GIT_AUTHOR_NAME", "demo".into()),
        ("GIT_AUTHOR_EMAIL", "demo@example.invalid".into()),
        ("GIT_COMMITTER_NAME", "demo".into()),
        ("GIT_COMMITTER_EMAIL", "demo@example.invalid".into()),
    ] {
        vars.insert(name.into(), value);
    }
    vars
}
