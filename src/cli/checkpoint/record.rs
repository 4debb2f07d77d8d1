//! `fairway checkpoint record`

use std::time::Duration;

use anyhow::Result;

use crate::{
    actions::queue::checkpoint::{self, NewCheckpoint},
    cli::{context::Context, exit::Exit, values},
    domain::{TaskId, checkpoint::CheckpointState},
};

/// Record a checkpoint and read the session's messages
///
/// The task keeps its status. States: planned, active, awaiting_input, blocked, review, done, parked, abandoned.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Task id
    #[arg(value_parser = values::task)]
    task: TaskId,
    /// State of the work
    #[arg(long, value_parser = values::checkpoint_state)]
    state: CheckpointState,
    /// Summary in one line
    #[arg(long, value_name = "TEXT")]
    summary: String,
    /// Owner of the next step
    #[arg(long, value_name = "WHO")]
    owner: Option<String>,
    /// File that belongs to the checkpoint
    #[arg(long, value_name = "FILE")]
    artifact: Option<String>,
    /// Time until the next checkpoint is due
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    due: Option<Duration>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let words = NewCheckpoint {
            state: self.state,
            summary: self.summary,
            owner: self.owner,
            artifact: self.artifact,
            due: self.due,
        };
        ctx.answer(&checkpoint::record(&ctx.app()?, &self.task, words)?)
    }
}
