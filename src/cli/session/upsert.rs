//! `fairway session upsert`

use anyhow::Result;

use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::values;
use fairway_actions::sessions::report::upsert::{self, SessionPatch};
use fairway_core::domain::id::Label;
use fairway_core::domain::session::{Activity, SessionStatus};
use fairway_core::domain::{LaneName, Role, RunId, SessionId, TaskId};
use fairway_core::env::Timestamp;

/// Register a session or update its fields
///
/// Omitted fields stay unchanged. The session is found by --id, else as the acting session, else by provider and external id,
/// else by backend, socket and pane or name on this host. Otherwise it is new and needs a role. An ended session stays ended.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway session upsert --id s1 --role backend --provider {provider}")]
pub struct Args {
    /// Session id [env: FAIRWAY_SESSION_ID]
    #[arg(long, value_parser = values::session)]
    id: Option<SessionId>,
    /// Role
    #[arg(long, value_parser = values::role)]
    role: Option<Role>,
    /// Lane
    #[arg(long, value_parser = values::lane)]
    lane: Option<LaneName>,
    /// Task; claims nothing
    #[arg(long = "task", alias = "task-id", value_name = "ID", value_parser = values::task)]
    task_id: Option<TaskId>,
    /// Provider, a label
    #[arg(long, value_parser = values::label)]
    provider: Option<Label>,
    /// Backend, a label
    #[arg(long)]
    backend: Option<String>,
    /// Name of the session in its backend
    #[arg(long = "backend-name", alias = "name", value_name = "NAME")]
    name: Option<String>,
    /// Provider's own session id
    #[arg(long, value_name = "ID")]
    external_session_id: Option<String>,
    /// Root process on this host
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pid: Option<i64>,
    /// Pane of the multiplexer
    #[arg(long)]
    pane: Option<String>,
    /// Socket of the multiplexer
    #[arg(long)]
    socket: Option<String>,
    /// Transcript, relative to the project's root
    #[arg(long, value_name = "FILE")]
    transcript: Option<String>,
    /// Directory of the worktree
    #[arg(long, value_name = "DIR")]
    worktree: Option<String>,
    /// Branch
    #[arg(long)]
    branch: Option<String>,
    /// Activity: unknown, idle, busy, requires_action, stopping
    #[arg(long, value_parser = values::activity)]
    activity: Option<Activity>,
    /// Status: starting, running or stale
    #[arg(long, value_parser = values::live_status)]
    status: Option<SessionStatus>,
    /// Start time, RFC 3339
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    started_at: Option<Timestamp>,
    /// Session run, a UUID
    #[arg(long, value_name = "UUID", value_parser = values::run_id)]
    run_id: Option<RunId>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let patch = SessionPatch {
            id: self.id,
            role: self.role,
            lane: self.lane,
            task: self.task_id,
            provider: self.provider,
            backend: self.backend,
            backend_name: self.name,
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
        ctx.answer(&upsert::upsert(&ctx.app()?, &patch)?)
    }
}
