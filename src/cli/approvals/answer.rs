//! `fairway approvals answer`

use anyhow::Result;

use crate::{
    actions::boundary::approval,
    cli::{context::Context, exit::Exit, values},
    domain::approval::Decision,
};

/// Allow or deny a permission request
///
/// The agent's hook waits for the answer. A session cannot answer its own request.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Approval number
    #[arg(value_name = "ID")]
    id: i64,
    /// allow or deny
    #[arg(value_name = "ANSWER", value_parser = values::decision)]
    decision: Decision,
    /// Reason, shown to the agent
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&approval::answer(&ctx.app()?, self.id, self.decision, self.reason.as_deref())?)
    }
}
