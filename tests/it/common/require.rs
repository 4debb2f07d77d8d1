//! The programs and rights that single tests need.
//!
//! Where one is missing, the test prints `skipped: REASON` and passes. With `FAIRWAY_REQUIRE_ALL=1`, which `tests/run.sh`
//! sets after it has installed everything, the test fails with the reason instead.

use std::env;
use std::fmt::Display;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// The variable that turns a skipped test into a failure.
pub const REQUIRE_ALL: &str = "FAIRWAY_REQUIRE_ALL";

/// Whether a program is in `PATH`.
#[track_caller]
pub fn program(name: &str) -> bool {
    met(find(name).is_some(), format_args!("{name} is not installed; tests/run.sh installs it"))
}

/// Whether bubblewrap can make a sandbox here. A kernel that allows no user namespaces is none that an installation changes, so
/// that the test is left out there, and says so.
#[track_caller]
pub fn sandbox() -> bool {
    if !program("bwrap") {
        return false;
    }
    let mut trial = std::process::Command::new("bwrap");
    trial.args(["--unshare-user", "--unshare-pid", "--unshare-net", "--disable-userns", "--ro-bind", "/", "/"]);
    trial.args(["--dev", "/dev", "--proc", "/proc", "--", "true"]);
    let done = trial.output().unwrap();
    if !done.status.success() {
        println!("skipped: no sandbox can be made here: {}", String::from_utf8_lossy(&done.stderr).trim());
    }
    done.status.success()
}

/// Whether this process is root: other users' files and processes cannot be made otherwise.
#[track_caller]
pub fn root() -> bool {
    met(nix::unistd::Uid::effective().is_root(), "this needs root; run tests/run.sh as root")
}

/// Whether a condition of the test is met; `reason` says what is missing.
#[track_caller]
pub fn met(condition: bool, reason: impl Display) -> bool {
    if !condition {
        let all = env::var_os(REQUIRE_ALL).is_some_and(|value| value == "1");
        assert!(!all, "{reason} ({REQUIRE_ALL}=1 permits no skipped test)");
        println!("skipped: {reason}");
    }
    condition
}

/// The executable file of this name in `PATH`.
fn find(name: &str) -> Option<PathBuf> {
    let executable =
        |path: &PathBuf| path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0);
    env::split_paths(&env::var_os("PATH")?).map(|directory| directory.join(name)).find(executable)
}
