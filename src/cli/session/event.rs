//! `fairway session event`

use std::path::PathBuf;

use anyhow::Result;

use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::values;
use fairway_actions::sessions::report::provider_event::{self, ProviderReport};
use fairway_actions::sessions::report::upsert::SessionPatch;
use fairway_core::domain::id::Label;
use fairway_core::domain::provider_event::ProviderState;
use fairway_core::domain::{LaneName, Role, SessionId, TaskId};

/// Report a provider event: session, checkpoint, evidence
///
/// started, running: the session works. waiting_on_approval, waiting_on_input: it requires action. completed: checkpoint done,
/// evidence of the kind provider (which counts for no gate) or a handoff; the session ends. failed: checkpoint blocked; the
/// session fails. no_progress, stale: the session is stale. Spellings like waitingOnApproval and systemError are understood.
/// Claims nothing and moves no task.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway session event --state running --provider acme --external-session-id 8")]
pub struct Args {
    /// Reported state
    #[arg(long, value_parser = values::provider_state)]
    state: ProviderState,
    /// Provider, a label
    #[arg(long, value_parser = values::label)]
    provider: Label,
    /// Provider's own session id
    #[arg(long, value_name = "ID")]
    external_session_id: String,
    /// Session id, if the provider's id is not known here
    #[arg(long, value_parser = values::session)]
    id: Option<SessionId>,
    /// Backend, a label
    #[arg(long)]
    backend: Option<String>,
    /// Role; a new session needs one
    #[arg(long, value_parser = values::role)]
    role: Option<Role>,
    /// Lane
    #[arg(long, value_parser = values::lane)]
    lane: Option<LaneName>,
    /// Task; default: the session's own; claims nothing
    #[arg(long = "task", alias = "task-id", value_name = "ID", value_parser = values::task)]
    task_id: Option<TaskId>,
    /// Request, question, reason or result; - reads stdin
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    summary: Option<String>,
    /// Read the summary from FILE; - reads stdin
    #[arg(long, value_name = "FILE")]
    summary_file: Option<PathBuf>,
    /// Transcript, relative to the project's root
    #[arg(long, value_name = "FILE")]
    transcript: Option<String>,
    /// File that belongs to the event
    #[arg(long, value_name = "FILE")]
    artifact: Option<String>,
    /// With completed: hand the task off to this role
    #[arg(long, value_name = "ROLE", value_parser = values::role)]
    handoff_to: Option<Role>,
    /// Branch
    #[arg(long)]
    branch: Option<String>,
    /// Directory of the worktree
    #[arg(long, value_name = "DIR")]
    worktree: Option<String>,
    /// Event id; a repeat is harmless
    #[arg(long, value_name = "ID", value_parser = values::request_id)]
    event_id: Option<String>,
    /// Check the event and write nothing
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let summary = ctx.text("summary", self.summary, self.summary_file.as_deref())?;
        let reported = ProviderReport {
            state: self.state,
            patch: SessionPatch {
                id: self.id,
                role: self.role,
                lane: self.lane,
                task: self.task_id,
                provider: Some(self.provider),
                backend: self.backend,
                external_session_id: Some(self.external_session_id),
                transcript: self.transcript,
                worktree: self.worktree,
                branch: self.branch,
                ..SessionPatch::default()
            },
            // A file's or pipe's last line ends; providers often have no words at all.
            summary: summary.map(|text| text.trim_end().to_owned()).filter(|text| !text.is_empty()),
            artifact: self.artifact,
            handoff_to: self.handoff_to,
            event_id: self.event_id,
        };
        ctx.answer(&provider_event::record(&ctx.app()?, &reported, self.dry_run)?)
    }
}
