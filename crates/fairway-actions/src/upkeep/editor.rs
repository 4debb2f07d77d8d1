//! The person's editor, chosen as git does.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Result, bail};

use fairway_core::env::{Env, vars};
use fairway_core::os::exit_reason::ExitReason;
use fairway_core::os::foreground;

/// Opens a file or directory in the person's editor, with the working directory `cwd`, and waits until the editor exits.
///
/// # Errors
/// When the editor cannot be started, or exits with an error.
pub fn run(env: &Env, path: &Path, cwd: &Path) -> Result<()> {
    let editor = editor(env);
    // The editor's variable is shell text, as git has it: `code --wait`.
    let words: [OsString; 4] = ["-c".into(), format!("{editor} \"$@\"").into(), editor.clone().into(), path.into()];
    match foreground::run(Path::new("/bin/sh"), &words, env.vars(), cwd)? {
        ExitReason::Code(0) => Ok(()),
        ExitReason::Code(code) => bail!("the editor '{editor}' failed with exit code {code}"),
        ExitReason::Signal(number) => bail!("the editor '{editor}' was ended by signal {number}"),
        ExitReason::TimedOut => bail!("the editor '{editor}' took too long"),
    }
}

/// The editor's command: `VISUAL` on a terminal that can show it, then `EDITOR`, else `vi`.
fn editor(env: &Env) -> String {
    let is_dumb = env.var(vars::TERM).is_none_or(|term| term == "dumb");
    let visual = env.var(vars::VISUAL).filter(|_| !is_dumb);
    visual.or_else(|| env.var(vars::EDITOR)).unwrap_or("vi").to_owned()
}
