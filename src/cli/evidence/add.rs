//! `fairway evidence add`

use anyhow::Result;

use crate::{
    actions::evidence::add::{self, Words},
    cli::{context::Context, exit::Exit, values},
    domain::{TaskId, evidence::EvidenceResult, id::Label},
};

/// Record evidence that was seen elsewhere; it counts as claimed, not as observed
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task
    #[arg(value_parser = values::task)]
    task: TaskId,
    /// pass, fail, partial, skipped or blocked
    #[arg(long, value_parser = values::evidence_result)]
    result: EvidenceResult,
    /// What sort of evidence, by default test; a later failure of the same kind undoes a pass
    #[arg(long, value_parser = values::label)]
    kind: Option<Label>,
    /// The command that was run
    #[arg(long, value_name = "TEXT")]
    command: Option<String>,
    /// A file that belongs to it
    #[arg(long, value_name = "FILE")]
    artifact: Option<String>,
    /// What it shows, in a line
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// The commit it speaks of
    #[arg(long, value_name = "SHA", value_parser = values::commit)]
    commit: Option<String>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let words = Words {
            result: self.result,
            kind: self.kind,
            command: self.command,
            artifact: self.artifact,
            summary: self.summary,
            commit: self.commit,
        };
        ctx.answer(&add::add(&ctx.app()?, &self.task, &words)?)
    }
}
