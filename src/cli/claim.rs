//! `fairway claim`

use std::time::Duration;

use anyhow::Result;

use super::{context::Context, exit::Exit, values};
use crate::{
    actions::queue::task::claim::{self, ClaimRequest},
    domain::{LaneName, Refusal, Role, TaskId},
};

/// Claim a task: by id, or the next ready one that fits
///
/// Without an id a session claims the task that it was started for, else the next ready task of its role and lane. The
/// answer names the claim's epoch. Pass it as --epoch to be refused once the task has changed hands.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Task id; default: the session's, else the next ready task
    #[arg(value_parser = values::task)]
    id: Option<TaskId>,
    /// Claim the next ready task even if FAIRWAY_TASK_ID is set
    #[arg(long, conflicts_with = "id")]
    any: bool,
    /// Match tasks of this role
    #[arg(long, value_parser = values::role)]
    role: Option<Role>,
    /// Match tasks of this lane [env: FAIRWAY_LANE]
    #[arg(long, value_parser = values::lane)]
    lane: Option<LaneName>,
    /// Match tasks of every role
    #[arg(long)]
    any_role: bool,
    /// Let others take over after DURATION without a heartbeat
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    lease: Option<Duration>,
    /// Take the claim away from its claimant; needs --reason
    #[arg(long, requires = "reason")]
    steal: bool,
    /// Reason for --steal, kept in the history
    #[arg(long, value_name = "TEXT", requires = "steal")]
    reason: Option<String>,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let id = match self.id {
            None if !self.any => ctx.task()?,
            id => id,
        };
        if self.steal && id.is_none() {
            return Err(Refusal::Usage { why: "--steal needs the task's id".into() }.into());
        }
        let app = ctx.app()?;
        let wish = ClaimRequest {
            id,
            role: self.role.or_else(|| app.actor.role.clone()),
            lane: self.lane.or_else(|| app.actor.lane.clone()),
            any_role: self.any_role,
            lease: self.lease,
            steal: self.reason,
        };
        ctx.answer(&claim::claim(&app, &wish)?)
    }
}
