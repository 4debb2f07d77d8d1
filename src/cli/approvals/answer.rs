//! `fairway approvals answer`

use anyhow::Result;

use crate::{
    actions::approval,
    cli::{context::Context, exit::Exit, values},
    domain::approval::Decision,
};

/// Say whether an agent may do what it asks for
///
/// The agent's hook waits for this and carries it back. A session may not answer what it asks itself.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The approval's number
    #[arg(value_name = "ID")]
    id: i64,
    /// allow or deny
    #[arg(value_name = "ANSWER", value_parser = values::decision)]
    decision: Decision,
    /// Why; the agent is told
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&approval::answer(&ctx.app()?, self.id, self.decision, self.reason.as_deref())?)
    }
}
