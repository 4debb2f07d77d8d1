//! `fairway claim`

use std::time::Duration;

use anyhow::Result;

use super::context::Context;
use super::exit::Exit;
use super::values;
use fairway_actions::queue::task::claim::{ClaimRequest, LaneScope};
use fairway_actions::sessions;
use fairway_core::domain::{LaneName, Refusal, Role, TaskId};

/// Claim a task: by id, or the next ready one that fits
///
/// Without an id a session claims its own task, else continues one of a dead session of its lane, else claims the next ready
/// one of its role: of its lane, then without a lane. With --json the answer has the claim's epoch: pass it as --epoch to be
/// refused once the task has changed hands.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway claim
fairway claim T-4 --lease 30m
fairway task claim T-4")]
#[expect(clippy::struct_excessive_bools, reason = "one for each flag")]
pub struct Args {
    /// Task id; default: the session's, else the next ready task
    #[arg(value_parser = values::task)]
    id: Option<TaskId>,
    /// Ignore the session's own task
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
    /// Match tasks of your lane only, none without a lane
    #[arg(long, conflicts_with_all = ["id", "any_lane"])]
    own_lane: bool,
    /// Match tasks of every lane
    #[arg(long)]
    any_lane: bool,
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
        // The environment describes its own session, not one that --session names.
        let is_described = ctx.is_own_session();
        let id = match self.id {
            None if !self.any && is_described => ctx.task()?,
            id => id,
        };
        if self.steal && id.is_none() {
            return Err(Refusal::Usage { why: "--steal needs the task's id".into() }.into());
        }
        let app = ctx.app()?;
        let lane_scope = match (self.own_lane, self.any_lane) {
            (true, _) => LaneScope::Own,
            (_, true) => LaneScope::Any,
            _ => LaneScope::Configured,
        };
        let request = ClaimRequest {
            id,
            any: self.any,
            role: self.role.or_else(|| app.actor.role.clone().filter(|_| is_described || ctx.globals.role.is_some())),
            lane: self.lane.or_else(|| app.actor.lane.clone().filter(|_| is_described)),
            any_role: self.any_role,
            lane_scope,
            lease: self.lease,
            steal: self.reason,
        };
        ctx.answer(&sessions::claim::claim(&app, &request)?)
    }
}
