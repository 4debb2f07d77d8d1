//! `fairway handoff create`

use std::path::PathBuf;

use anyhow::Result;

use crate::{
    actions::queue::handoff::{self, NewHandoff},
    cli::{context::Context, exit::Exit, values},
    domain::{LaneName, Role, TaskId},
};

/// Offer a task to another role or lane
///
/// The task stays claimed as it is until the recipient accepts; that claims it.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("recipient").required(true)))]
pub struct Args {
    /// Task id
    #[arg(value_parser = values::task)]
    task: TaskId,
    /// Role to offer the task to
    #[arg(long = "to-role", alias = "to", value_name = "ROLE", value_parser = values::role, group = "recipient")]
    to_role: Option<Role>,
    /// Lane to offer the task to
    #[arg(long, value_name = "LANE", value_parser = values::lane, group = "recipient")]
    to_lane: Option<LaneName>,
    /// Summary in one line
    #[arg(long, value_name = "TEXT")]
    summary: String,
    /// Details for the recipient; - reads stdin
    #[arg(long, value_name = "TEXT")]
    payload: Option<String>,
    /// Read the details from FILE; - reads stdin
    #[arg(long, value_name = "FILE", conflicts_with = "payload")]
    payload_file: Option<PathBuf>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let payload = ctx.text("payload", self.payload, self.payload_file.as_deref())?;
        let words = NewHandoff { to_role: self.to_role, to_lane: self.to_lane, summary: self.summary, payload };
        ctx.answer(&handoff::create(&ctx.app()?, &self.task, &words)?)
    }
}
