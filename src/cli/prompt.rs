//! `fairway prompt`

use std::{path::PathBuf, time::Duration};

use anyhow::Result;

use super::{context::Context, exit::Exit, values};
use crate::{
    actions::prompt::{self, Awaited, Prompt},
    domain::{SessionId, id::Label, message::Priority},
};

/// Say something to a session, with a receipt
///
/// It is brought at the session's next turn, or typed when nothing else brings it. It counts as acknowledged when that is
/// proven, and not before.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session
    #[arg(value_parser = values::session)]
    session: SessionId,
    /// The text; - reads stdin
    #[arg(required_unless_present = "body_file")]
    text: Option<String>,
    /// The text from a file; - reads stdin
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    body_file: Option<PathBuf>,
    /// How much it may interrupt: normal, urgent or system
    #[arg(long, value_parser = values::priority, default_value = "normal")]
    priority: Priority,
    /// Where it comes from, a label
    #[arg(long, value_parser = values::label, default_value = "nudge")]
    source: Label,
    /// Wait so long until it is acknowledged; exit 6 when it is not
    #[arg(long, value_name = "SPAN", value_parser = values::duration)]
    wait_ack: Option<Duration>,
    /// Send nothing when one with this key was acknowledged; count it there when one waits
    #[arg(long, value_name = "KEY")]
    dedup: Option<String>,
    /// How long it is worth delivering; it expires then
    #[arg(long, value_name = "SPAN", value_parser = values::duration)]
    ttl: Option<Duration>,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let content = ctx.text("prompt", self.text, self.body_file.as_deref())?.unwrap_or_default();
        let app = ctx.app()?;
        let awaited = self.wait_ack.map(|limit| Awaited::within(&app, limit)).transpose()?;
        let prompt = Prompt {
            to: self.session,
            content,
            priority: self.priority,
            source: self.source,
            metadata: None,
            dedup: self.dedup,
            ttl: self.ttl,
        };
        let mut answer = prompt::send(&app, &prompt)?;
        let undelivered = prompt::untyped(&app, &prompt.to);
        if let (Some(awaited), Some(id)) = (&awaited, answer.document["message_id"].as_i64()) {
            if let Some(remark) = &undelivered {
                ctx.out.remark(&crate::render::safe(remark));
            }
            return ctx.answer(&prompt::awaited(&app, awaited, id)?);
        }
        answer.remarks.extend(undelivered);
        ctx.answer(&answer)
    }
}
