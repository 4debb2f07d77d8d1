//! `fairway session event`

use std::path::PathBuf;

use anyhow::Result;

use crate::{
    actions::session::{
        event::{self, Reported},
        upsert::Told,
    },
    cli::{context::Context, exit::Exit, values},
    domain::{LaneName, Role, SessionId, TaskId, id::Label, provider_event::ProviderState},
};

/// Take in what a provider says about a session of its own: session, checkpoint, evidence or handoff in one step
///
/// started: the session runs, checkpoint active. running: it is busy. waiting_on_approval, waiting_on_input: it requires
/// action, checkpoint awaiting_input. completed: checkpoint done, evidence of the kind provider, which counts for no gate,
/// or a handoff; the session ends. failed: checkpoint blocked; the session fails. no_progress, stale: the session is stale,
/// checkpoint awaiting_input. Spellings like waitingOnApproval, waitingOnUserInput, inProgress, active and systemError are
/// understood. Claims nothing and moves no task.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How the session stands
    #[arg(long, value_parser = values::provider_state)]
    state: ProviderState,
    /// The provider, a label
    #[arg(long, value_parser = values::label)]
    provider: Label,
    /// The provider's own id for the session
    #[arg(long, value_name = "ID")]
    external_session_id: String,
    /// The session's own id, when it is not to be found by the provider's
    #[arg(long, value_parser = values::session)]
    id: Option<SessionId>,
    /// The backend, a label
    #[arg(long)]
    backend: Option<String>,
    /// The role it works in; a new session needs it
    #[arg(long, value_parser = values::role)]
    role: Option<Role>,
    /// The lane it is attached to
    #[arg(long, value_parser = values::lane)]
    lane: Option<LaneName>,
    /// The task it works on, by default the session's own; this claims nothing
    #[arg(long, value_name = "ID", value_parser = values::task)]
    task_id: Option<TaskId>,
    /// The request, question, reason or result, in words; '-' reads stdin
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    summary: Option<String>,
    /// The same from a file
    #[arg(long, value_name = "FILE")]
    summary_file: Option<PathBuf>,
    /// The transcript's file; relative to the project's root
    #[arg(long, value_name = "FILE")]
    transcript: Option<String>,
    /// A file that belongs to it
    #[arg(long, value_name = "FILE")]
    artifact: Option<String>,
    /// With completed: offer the task to this role, in place of evidence
    #[arg(long, value_name = "ROLE", value_parser = values::role)]
    handoff_to: Option<Role>,
    /// The branch
    #[arg(long)]
    branch: Option<String>,
    /// The worktree's folder
    #[arg(long, value_name = "DIR")]
    worktree: Option<String>,
    /// The event's own id: taking it in again is harmless
    #[arg(long, value_name = "ID", value_parser = values::request_id)]
    event_id: Option<String>,
    /// Check everything, say what would come of it, and write nothing
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let summary = ctx.text("summary", self.summary, self.summary_file.as_deref())?;
        let reported = Reported {
            state: self.state,
            told: Told {
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
                ..Told::default()
            },
            // A file's or pipe's last line ends; providers often have no words at all.
            summary: summary.map(|text| text.trim_end().to_owned()).filter(|text| !text.is_empty()),
            artifact: self.artifact,
            handoff_to: self.handoff_to,
            event_id: self.event_id,
        };
        ctx.answer(&event::event(&ctx.app()?, &reported, self.dry_run)?)
    }
}
