//! `fairway evidence add`

use anyhow::Result;

use crate::{
    actions::queue::evidence::{self, NewEvidence},
    cli::{context::Context, exit::Exit, values},
    domain::{TaskId, evidence::EvidenceResult, id::Label},
};

/// Record a result that was produced elsewhere
///
/// The evidence counts as claimed, not as observed. A later failure of the same kind cancels a pass.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Task id
    #[arg(value_parser = values::task)]
    task: TaskId,
    /// Result: pass, fail, partial, skipped or blocked
    #[arg(long, value_parser = values::evidence_result)]
    result: EvidenceResult,
    /// Kind of evidence [default: test]
    #[arg(long, value_parser = values::label)]
    kind: Option<Label>,
    /// Command that produced the result
    #[arg(long, value_name = "TEXT")]
    command: Option<String>,
    /// File that belongs to the evidence
    #[arg(long, value_name = "FILE")]
    artifact: Option<String>,
    /// Summary in one line
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// Commit that was tested
    #[arg(long, value_name = "SHA", value_parser = values::commit)]
    commit: Option<String>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let words = NewEvidence {
            result: self.result,
            kind: self.kind,
            command: self.command,
            artifact: self.artifact,
            summary: self.summary,
            commit: self.commit,
        };
        ctx.answer(&evidence::add(&ctx.app()?, &self.task, &words)?)
    }
}
