//! A yes-or-no question at a terminal.

use std::io::{self, BufRead, Write};

/// Asks on stderr and reads the answer from stdin. Only `y` and `yes` confirm.
pub fn confirm(question: &str) -> io::Result<bool> {
    let mut stderr = io::stderr().lock();
    write!(stderr, "{question} [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    if !answer.ends_with('\n') {
        writeln!(stderr)?;
    }
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}
