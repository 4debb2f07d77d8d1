//! `fairway sidecar`

use std::path::PathBuf;

use anyhow::Result;

use super::{context::Context, exit::Exit, values};
use crate::{
    actions::sidecar::{self, Wish},
    domain::{Refusal, id::Label},
    hooks::transcripts,
};

/// Run beside an agent that has neither hooks nor an API, until its session ends
///
/// Types what waits for the session (--session ID) into its terminal when the agent is idle, confirmed by the session's next
/// event, and reads the provider's own record for use and activity. One for each session: a second one takes the place of
/// the first.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The provider's own record of the session; without it what the session's reports or its row name
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,
    /// Whose record it is; without it the session's provider's
    #[arg(long, value_name = "PROVIDER", value_parser = values::label)]
    provider: Option<Label>,
    /// Type also while nobody says whether the agent is idle
    #[arg(long)]
    when_unknown: bool,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        let Some(session) = app.actor.session.clone() else {
            return Err(Refusal::Usage { why: "whose sidecar? name a session: --session ID".into() }.into());
        };
        let wish = Wish {
            session,
            record: self.transcript,
            provider: self.provider,
            when_unknown: self.when_unknown,
            providers: &transcripts::PROVIDERS,
            read: transcripts::since,
        };
        let out = &ctx.out;
        ctx.answer(&sidecar::run(&app, &wish, &mut |words| out.remark(&format!("warning: {words}")))?)
    }
}
