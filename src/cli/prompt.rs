//! `fairway prompt`

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use super::context::Context;
use super::exit::Exit;
use super::send::awaited_receipt;
use super::values;
use fairway_actions::sessions::prompt::{self, NewPrompt};
use fairway_core::domain::SessionId;
use fairway_core::domain::id::Label;
use fairway_core::domain::message::{GOES_NOW, Priority};

/// Send a prompt to a session and track its delivery
///
/// The session's next hook delivers it; if no hook runs, it is typed into the terminal. It counts as acknowledged once the
/// agent provably has it. A session that has not reported its state gets only urgent prompts and those with --now. `fairway
/// send` does the same for a lane, a role or all.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway prompt s1 'run the tests again'
fairway prompt s1 --text-file note.md --wait-ack 1m")]
pub struct Args {
    /// Session id
    #[arg(value_parser = values::session)]
    session: SessionId,
    /// Text; - reads stdin
    #[arg(required_unless_present = "body_file")]
    text: Option<String>,
    /// Read the text from FILE; - reads stdin
    #[arg(long = "text-file", alias = "body-file", value_name = "FILE", conflicts_with = "text")]
    body_file: Option<PathBuf>,
    /// Priority: normal, urgent or system
    #[arg(long, value_parser = values::priority, default_value = "normal")]
    priority: Priority,
    /// Label that says where the prompt comes from
    #[arg(long, value_parser = values::label, default_value = "nudge")]
    source: Label,
    /// Wait this long for the acknowledgement; exit 6 if none
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    wait_ack: Option<Duration>,
    /// Wait this long for the end of the turn; exit 6 if none
    #[arg(long, value_name = "DURATION", value_parser = values::duration, conflicts_with = "wait_ack")]
    wait_answer: Option<Duration>,
    /// Send nothing if a prompt with this key is known
    #[arg(long, value_name = "KEY")]
    dedup: Option<String>,
    /// Do not wait until the session's state is known
    #[arg(long)]
    now: bool,
    /// Time after which an undelivered prompt expires
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    ttl: Option<Duration>,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let content = ctx.text("prompt", self.text, self.body_file.as_deref())?.unwrap_or_default();
        let app = ctx.app()?;
        let sessions = [self.session.clone()];
        let awaited = awaited_receipt(&app, self.wait_ack, self.wait_answer, &sessions)?;
        let prompt = NewPrompt {
            to: self.session,
            content,
            priority: self.priority,
            source: self.source,
            metadata: self.now.then(|| json!({ GOES_NOW: true })),
            dedup: self.dedup,
            ttl: self.ttl,
        };
        let answer = prompt::deliver_sent(&app, &prompt.to, prompt::send(&app, &prompt)?);
        if let (Some(awaited), Some(id)) = (&awaited, answer.document["message_id"].as_i64()) {
            for note in &answer.notes {
                ctx.out.note(&fairway_core::render::escape_controls(note));
            }
            return ctx.answer(&prompt::wait_receipt(&app, awaited, id)?);
        }
        ctx.answer(&answer)
    }
}
