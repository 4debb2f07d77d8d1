//! The result of a hook that `doctor hooks` ran.

use crate::os::exit_reason::ExitReason;

/// The result of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookOutput {
    /// How the process ended.
    pub end: ExitReason,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// The end of a hook that is not a denial.
pub(super) fn describe_end(end: ExitReason) -> String {
    match end {
        ExitReason::Code(code) => format!("exit code {code}"),
        ExitReason::Signal(signal) => format!("killed by signal {signal}"),
        ExitReason::TimedOut => "it exceeded its timeout".to_owned(),
    }
}
