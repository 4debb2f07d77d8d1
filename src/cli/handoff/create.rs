//! `fairway handoff create`

use std::path::PathBuf;

use anyhow::Result;

use crate::{
    actions::handoff::create::{self, Words},
    cli::{context::Context, exit::Exit, values},
    domain::{LaneName, Role, TaskId},
};

/// Offer a task to another role or lane; it stays where it is until somebody accepts with the claim
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("recipient").required(true)))]
pub struct Args {
    /// The task
    #[arg(value_parser = values::task)]
    task: TaskId,
    /// To this role
    #[arg(long = "to", value_name = "ROLE", value_parser = values::role, group = "recipient")]
    to_role: Option<Role>,
    /// To this lane
    #[arg(long, value_name = "LANE", value_parser = values::lane, group = "recipient")]
    to_lane: Option<LaneName>,
    /// What it is about, in a line
    #[arg(long, value_name = "TEXT")]
    summary: String,
    /// What the other needs to know, at length; - reads stdin
    #[arg(long, value_name = "TEXT")]
    payload: Option<String>,
    /// The same from a file
    #[arg(long, value_name = "FILE", conflicts_with = "payload")]
    payload_file: Option<PathBuf>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let payload = ctx.text("payload", self.payload, self.payload_file.as_deref())?;
        let words = Words { to_role: self.to_role, to_lane: self.to_lane, summary: self.summary, payload };
        ctx.answer(&create::create(&ctx.app()?, &self.task, &words)?)
    }
}
