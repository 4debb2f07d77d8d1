//! `fairway checkpoint record`

use std::time::Duration;

use anyhow::Result;

use crate::{
    actions::checkpoint::record::{self, Words},
    cli::{context::Context, exit::Exit, values},
    domain::{TaskId, checkpoint::CheckpointState},
};

/// Record where a task stands, and read this session's messages; the task does not move
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task
    #[arg(value_parser = values::task)]
    task: TaskId,
    /// planned, active, awaiting_input, blocked, review, done, parked or abandoned
    #[arg(long, value_parser = values::checkpoint_state)]
    state: CheckpointState,
    /// Where it stands, in a line
    #[arg(long, value_name = "TEXT")]
    summary: String,
    /// Who owns the next step
    #[arg(long, value_name = "WHO")]
    owner: Option<String>,
    /// A file that belongs to it
    #[arg(long, value_name = "FILE")]
    artifact: Option<String>,
    /// How long until the next one is due, as 2h
    #[arg(long, value_name = "SPAN", value_parser = values::duration)]
    due: Option<Duration>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let words = Words {
            state: self.state,
            summary: self.summary,
            owner: self.owner,
            artifact: self.artifact,
            due: self.due,
        };
        ctx.answer(&record::record(&ctx.app()?, &self.task, words)?)
    }
}
