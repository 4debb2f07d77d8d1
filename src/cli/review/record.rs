//! `fairway review record`

use std::path::PathBuf;

use anyhow::Result;

use crate::{
    actions::queue::review::{self, NewReview},
    cli::{context::Context, exit::Exit, values},
    domain::{TaskId, id::Label, review::Verdict},
};

/// Record a review of a task
///
/// The task keeps its status. An approval is bound to its commit. An approval by a claimant of the task does not count.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Task id
    #[arg(value_parser = values::task)]
    task: TaskId,
    /// Verdict: approve, changes or reject
    #[arg(long, value_parser = values::verdict)]
    verdict: Verdict,
    /// Domain; default: the only possible one, else general
    #[arg(long, value_parser = values::label)]
    domain: Option<Label>,
    /// Reviewer; default: the actor
    #[arg(long, value_name = "WHO")]
    reviewer: Option<String>,
    /// Reviewed commit; default: the task's, else HEAD
    #[arg(long, value_name = "SHA", value_parser = values::commit)]
    commit: Option<String>,
    /// Notes; - reads stdin
    #[arg(long, value_name = "TEXT")]
    notes: Option<String>,
    /// Read the notes from FILE; - reads stdin
    #[arg(long, value_name = "FILE", conflicts_with = "notes")]
    notes_file: Option<PathBuf>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let notes = ctx.text("notes", self.notes, self.notes_file.as_deref())?;
        let words = NewReview {
            verdict: self.verdict,
            domain: self.domain,
            reviewer: self.reviewer,
            commit: self.commit,
            notes,
        };
        ctx.answer(&review::record(&ctx.app()?, &self.task, &words)?)
    }
}
