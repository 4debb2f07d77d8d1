//! `fairway session upsert`

use anyhow::Result;

use crate::{
    actions::session::upsert::{self, Told},
    cli::{context::Context, exit::Exit, values},
    domain::{
        LaneName, Role, SessionId, TaskId,
        id::Label,
        session::{Activity, SessionStatus},
    },
    env::Timestamp,
};

/// Make a session known, or tell more about one that is; what is not given stays as it is
///
/// It is found by --id, else by the acting session, else by provider and external id, else by backend, socket and pane or
/// name on this host; else it is new, and needs a role. Prints its id. A session that has ended stays ended.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Its id [env: FAIRWAY_SESSION_ID]
    #[arg(long, value_parser = values::session)]
    id: Option<SessionId>,
    /// The role it works in
    #[arg(long, value_parser = values::role)]
    role: Option<Role>,
    /// The lane it is attached to
    #[arg(long, value_parser = values::lane)]
    lane: Option<LaneName>,
    /// The task it works on; this claims nothing
    #[arg(long, value_name = "ID", value_parser = values::task)]
    task_id: Option<TaskId>,
    /// The provider, a label
    #[arg(long, value_parser = values::label)]
    provider: Option<Label>,
    /// The backend, a label
    #[arg(long)]
    backend: Option<String>,
    /// Its name in the backend
    #[arg(long)]
    name: Option<String>,
    /// The provider's own id for it
    #[arg(long, value_name = "ID")]
    external_session_id: Option<String>,
    /// Its root process, which must run on this host
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pid: Option<i64>,
    /// The multiplexer's pane
    #[arg(long)]
    pane: Option<String>,
    /// The multiplexer's socket
    #[arg(long)]
    socket: Option<String>,
    /// The transcript's file; relative to the project's root
    #[arg(long, value_name = "FILE")]
    transcript: Option<String>,
    /// The worktree's folder
    #[arg(long, value_name = "DIR")]
    worktree: Option<String>,
    /// The branch
    #[arg(long)]
    branch: Option<String>,
    /// What it does: unknown, idle, busy, requires_action or stopping
    #[arg(long, value_parser = values::activity)]
    activity: Option<Activity>,
    /// How it stands: starting, running or stale
    #[arg(long, value_parser = values::live_status)]
    status: Option<SessionStatus>,
    /// When it was started, RFC 3339
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    started_at: Option<Timestamp>,
    /// Its run, a UUID
    #[arg(long, value_name = "UUID", value_parser = values::run_id)]
    run_id: Option<String>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let told = Told {
            id: self.id,
            role: self.role,
            lane: self.lane,
            task: self.task_id,
            provider: self.provider,
            backend: self.backend,
            name: self.name,
            external_session_id: self.external_session_id,
            pid: self.pid,
            pane: self.pane,
            socket: self.socket,
            transcript: self.transcript,
            worktree: self.worktree,
            branch: self.branch,
            activity: self.activity,
            status: self.status,
            started_at: self.started_at,
            run_id: self.run_id,
        };
        ctx.answer(&upsert::upsert(&ctx.app()?, &told)?)
    }
}
