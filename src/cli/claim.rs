//! `fairway claim`

use std::time::Duration;

use anyhow::Result;

use super::{context::Context, exit::Exit, values};
use crate::{
    actions::task::claim::{self, Wish},
    domain::{LaneName, Refusal, Role, TaskId},
};

/// Take a task: this one, or the first that is ready and fits
///
/// With `FAIRWAY_TASK_ID` set a bare claim takes that task and no other. The answer carries the claim's epoch; pass it as
/// --epoch to be told when the task has changed hands.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task; by default the one this session was started for, else the next ready one
    #[arg(value_parser = values::task)]
    id: Option<TaskId>,
    /// Take the next ready task, whatever `FAIRWAY_TASK_ID` says
    #[arg(long, conflicts_with = "id")]
    any: bool,
    /// In this role
    #[arg(long, value_parser = values::role)]
    role: Option<Role>,
    /// In this lane [env: FAIRWAY_LANE]
    #[arg(long, value_parser = values::lane)]
    lane: Option<LaneName>,
    /// Take tasks of every role
    #[arg(long)]
    any_role: bool,
    /// After so long without a sign of life another claim may take over
    #[arg(long, value_name = "SPAN", value_parser = values::duration)]
    lease: Option<Duration>,
    /// Take it from its holder
    #[arg(long, requires = "reason")]
    steal: bool,
    /// Why it is taken from its holder
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
        let wish = Wish {
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
