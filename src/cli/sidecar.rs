//! `fairway sidecar`

use std::path::PathBuf;

use anyhow::Result;

use super::context::Context;
use super::exit::Exit;
use super::values;
use crate::hooks::{Provider, transcripts};
use fairway_actions::sessions::sidecar::{self, SidecarOptions};
use fairway_core::domain::Refusal;
use fairway_core::domain::id::Label;

/// Deliver prompts to an agent without hooks or API
///
/// Runs beside the session named by --session until it ends. Waiting prompts are typed into its terminal while the
/// agent is idle. The provider's transcript is read for usage and activity. A second sidecar of a session replaces the
/// first.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway sidecar --session s1")]
pub struct Args {
    /// Provider's transcript; default: the one on record
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,
    /// Provider of the transcript; default: the session's
    #[arg(long, value_name = "PROVIDER", value_parser = values::label)]
    provider: Option<Label>,
    /// Type even if the agent's activity is unknown
    #[arg(long)]
    when_unknown: bool,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        let Some(session) = app.actor.session.clone() else {
            return Err(Refusal::Usage { why: "whose sidecar? name a session: --session ID".into() }.into());
        };
        let options = SidecarOptions {
            session,
            transcript: self.transcript,
            provider: self.provider,
            when_unknown: self.when_unknown,
            providers: Provider::ALL.iter().map(|provider| provider.label()).collect(),
            read_transcript: transcripts::read_since,
        };
        let out = &ctx.out;
        ctx.answer(&sidecar::run(&app, &options, &mut |words| out.note(&format!("warning: {words}")))?)
    }
}
