//! The kinds of the standard streams.

use std::io::IsTerminal;

/// Which streams a person sits at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    /// stdin is a terminal.
    pub stdin: bool,
    /// stdout is a terminal.
    pub stdout: bool,
    /// stderr is a terminal.
    pub stderr: bool,
}

impl Terminal {
    /// Asks the operating system.
    pub fn detect() -> Self {
        Self {
            stdin: std::io::stdin().is_terminal(),
            stdout: std::io::stdout().is_terminal(),
            stderr: std::io::stderr().is_terminal(),
        }
    }
}
