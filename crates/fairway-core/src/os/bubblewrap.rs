//! Bubblewrap, the program `bwrap`: whether it can make a sandbox here.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::capture::{self, Call};
use super::executable;
use super::exit_reason::ExitReason;
use super::syscall_filter::SyscallFilter;

const PROGRAM: &str = "bwrap";
/// The first version that can forbid user namespaces inside.
const OLDEST: (u32, u32) = (0, 8);
/// The time limit of a trial.
const TRIAL_LIMIT: Duration = Duration::from_secs(10);
/// The namespaces and mounts that each sandbox needs, around a program that does nothing.
const TRIAL: &[&str] = &[
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net", "--disable-userns",
    "--cap-drop", "ALL", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--", "true",
];

/// The obstacle that keeps the kernel from making the namespaces of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocker {
    /// AppArmor allows user namespaces only to programs with a profile.
    AppArmor,
    /// A setting of the kernel allows none.
    Sysctl(&'static str),
    /// This process runs in a container, which forbids it.
    Container,
    Unknown,
}

/// Why there is no sandbox here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unavailable {
    NotInstalled,
    TooOld {
        found: (u32, u32),
        oldest: (u32, u32),
    },
    /// The filter of system calls is not known for this processor.
    Processor,
    Closed {
        why: String,
        blocker: Blocker,
    },
}

/// The program, which was tried and has made a sandbox on this machine.
#[derive(Debug, Clone)]
pub struct Bubblewrap {
    pub program: PathBuf,
}

impl Bubblewrap {
    /// Finds `bwrap` in the `PATH` of `vars`, and makes a sandbox with it as a trial.
    pub fn find(vars: &BTreeMap<OsString, OsString>) -> Result<Self, Unavailable> {
        let path = vars.get(OsStr::new("PATH")).map(OsString::as_os_str);
        let Some(program) = executable::find(PROGRAM, path, Path::new("/")) else {
            return Err(Unavailable::NotInstalled);
        };
        if !SyscallFilter::IS_KNOWN {
            return Err(Unavailable::Processor);
        }
        let Err(why) = run(&program, TRIAL, vars) else { return Ok(Self { program }) };
        let version = run(&program, &["--version"], vars).ok().and_then(|text| version(&text));
        match version.filter(|found| *found < OLDEST) {
            Some(found) => Err(Unavailable::TooOld { found, oldest: OLDEST }),
            None => Err(Unavailable::Closed { why, blocker: blocker() }),
        }
    }
}

/// Runs the program and returns its stdout, or the last line of its stderr when it fails.
fn run(program: &Path, args: &[&str], vars: &BTreeMap<OsString, OsString>) -> Result<String, String> {
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    let call =
        Call { program, args: &args, env: vars, cwd: Path::new("/"), stdin: b"", limit: TRIAL_LIMIT, ends_group: true };
    let done = capture::capture(&call).map_err(|error| error.to_string())?;
    if done.exit == ExitReason::Code(0) {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&done.stderr);
    Err(stderr.lines().last().unwrap_or("it gave no reason").trim_start_matches("bwrap: ").to_owned())
}

fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split_whitespace().nth(1)?.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

fn blocker() -> Blocker {
    let setting = |path: &str| fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<i64>().ok());
    if setting("/proc/sys/user/max_user_namespaces") == Some(0) {
        return Blocker::Sysctl("user.max_user_namespaces=15000");
    }
    if setting("/proc/sys/kernel/unprivileged_userns_clone") == Some(0) {
        return Blocker::Sysctl("kernel.unprivileged_userns_clone=1");
    }
    if setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == Some(1) {
        return Blocker::AppArmor;
    }
    let is_container = ["/.dockerenv", "/run/.containerenv"].iter().any(|file| Path::new(file).exists());
    if is_container { Blocker::Container } else { Blocker::Unknown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_read_from_what_the_program_prints() {
        assert_eq!(version("bubblewrap 0.8.0\n"), Some((0, 8)));
        assert_eq!(version("bubblewrap 0.11.0"), Some((0, 11)));
        assert_eq!(version("bwrap"), None);
    }

    #[test]
    fn missing_program_is_not_installed() {
        let vars = [("PATH".into(), "/nowhere".into())].into();
        assert_eq!(Bubblewrap::find(&vars).unwrap_err(), Unavailable::NotInstalled);
    }
}
