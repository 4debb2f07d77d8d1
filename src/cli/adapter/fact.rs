//! `fairway adapter fact`

use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

use anyhow::Result;

use crate::{
    actions::backend::plumbing::look,
    cli::{context::Context, exit::Exit},
};

/// Print what a script needs to know of a session that was unpacked, without a newline
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's name
    name: String,
    /// Which one
    fact: Fact,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Fact {
    /// The terminal's height, in cells
    Rows,
    /// The terminal's width, in cells
    Cols,
    /// The transcript's file
    Transcript,
    /// Where the program starts
    Directory,
    /// The session's private folder
    Folder,
    /// A word of letters, digits, `_`, `-` and `%` that only this session has
    Token,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let facts = look::facts(&ctx.env, &self.name)?;
        let path = |path: &OsStr| path.as_bytes().to_vec();
        let fact = match self.fact {
            Fact::Rows => facts.terminal.rows.to_string().into_bytes(),
            Fact::Cols => facts.terminal.cols.to_string().into_bytes(),
            Fact::Transcript => path(facts.transcript.as_os_str()),
            Fact::Directory => path(facts.directory.as_os_str()),
            Fact::Folder => path(facts.folder.as_os_str()),
            Fact::Token => facts.folder.file_name().map(path).unwrap_or_default(),
        };
        ctx.out.bytes(&fact)?;
        Ok(0)
    }
}
