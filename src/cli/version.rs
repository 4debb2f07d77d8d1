//! `fairway --version`, alone on the line.

use std::ffi::OsString;
use std::io::{self, Write};

use super::exit::Exit;

const LINE: &str = concat!("fairway ", env!("CARGO_PKG_VERSION"), "\n");

/// Prints the version without the command line parser, which would take longer than everything else. Returns `None` for any
/// other arguments, and when printing fails: the caller must then parse the command line, and so reports the error.
pub fn fast_path(mut args: impl Iterator<Item = OsString>) -> Option<Exit> {
    let is_asked = args.next().is_some_and(|arg| arg == "--version" || arg == "-V") && args.next().is_none();
    let printed = is_asked && io::stdout().lock().write_all(LINE.as_bytes()).is_ok();
    printed.then_some(0)
}
