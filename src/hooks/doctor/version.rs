//! Whether the profile of a provider was tried with the version that is installed.

use std::{ffi::OsString, path::Path, time::Duration};

use crate::{
    domain::finding::{Finding, Severity},
    env::{Env, vars},
    os::{
        capture::{Call, capture},
        executable, packages,
    },
};

/// How long a program may take to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(20);

/// A finding about a version other than the proven one. `None` when they are the same, or the program is not in PATH.
pub(super) fn check(env: &Env, cwd: &Path, program: &str, proven: &str) -> Option<Finding> {
    let path = env.var_os(vars::PATH).map(OsString::as_os_str);
    let found = executable::find(program, path, cwd)?;
    let version = packages::recorded_version(&found).or_else(|| printed(&found, env, cwd));
    let message = match version {
        Some(version) if version == proven => return None,
        Some(version) => {
            format!("{program} {version} is unproven: the profile was tried with {proven} (see: fairway config show)")
        }
        None => format!("the version of {program} is unknown; its profile was tried with {proven}"),
    };
    Some(Finding::new("unproven_version", Severity::Note, message))
}

/// The version that the program prints.
fn printed(program: &Path, env: &Env, cwd: &Path) -> Option<String> {
    let args = ["--version".into()];
    let call =
        Call { program, args: &args, env: env.vars(), cwd, stdin: b"", limit: VERSION_TIMEOUT, ends_group: true };
    let output = capture(&call).ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_whitespace().find(|word| packages::is_version(word)).map(str::to_owned)
}
