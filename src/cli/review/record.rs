//! `fairway review record`

use std::path::PathBuf;

use anyhow::Result;

use crate::{
    actions::review::record::{self, Words},
    cli::{context::Context, exit::Exit, values},
    domain::{TaskId, id::Label, review::Verdict},
};

/// Give a review; the task does not move
///
/// An approval is bound to its commit, and does not count from one who has held the task.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task
    #[arg(value_parser = values::task)]
    task: TaskId,
    /// approve, changes or reject
    #[arg(long, value_parser = values::verdict)]
    verdict: Verdict,
    /// The domain; by default the one that is asked for or required
    #[arg(long, value_parser = values::label)]
    domain: Option<Label>,
    /// Who has reviewed; by default whoever acts
    #[arg(long, value_name = "WHO")]
    reviewer: Option<String>,
    /// The commit it speaks of; by default the task's, else the one that is checked out
    #[arg(long, value_name = "SHA", value_parser = values::commit)]
    commit: Option<String>,
    /// The particulars; - reads stdin
    #[arg(long, value_name = "TEXT")]
    notes: Option<String>,
    /// The same from a file
    #[arg(long, value_name = "FILE", conflicts_with = "notes")]
    notes_file: Option<PathBuf>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let notes = ctx.text("notes", self.notes, self.notes_file.as_deref())?;
        let words =
            Words { verdict: self.verdict, domain: self.domain, reviewer: self.reviewer, commit: self.commit, notes };
        ctx.answer(&record::record(&ctx.app()?, &self.task, &words)?)
    }
}
