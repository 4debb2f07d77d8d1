//! `fairway approvals answer`

use anyhow::Result;

use crate::{
    actions::agents::approval,
    cli::{context::Context, each, exit::Exit, values},
    domain::approval::Decision,
};

/// Allow or deny permission requests
///
/// The agent's hook waits for the answer. Once it waits no more, the choice is taken in the dialog on the agent's screen, if that
/// shows exactly this command. A session cannot answer its own request. Each request is answered by itself: the
/// failure of one stops no other, and the exit code is that of the first failure. With --json, several ids are answered with
/// an array.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Approval numbers
    #[arg(value_name = "ID", required = true)]
    id: Vec<i64>,
    /// allow or deny
    #[arg(value_name = "ANSWER", required = true, value_parser = values::decision)]
    decision: Decision,
    /// Take the agent's own option for further calls too
    ///
    /// For a structured session. The agent then asks no more about what it takes as the same, and the guard sees such a
    /// call only when it has run. An agent without that option takes the answer for this call.
    #[arg(long)]
    always: bool,
    /// Reason, shown to the agent
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        each::each(ctx, &ctx.app()?, &self.id, |app, id| {
            approval::answer(app, *id, self.decision, self.always, self.reason.as_deref())
        })
    }
}
