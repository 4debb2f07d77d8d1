//! `fairway send`

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Error, Result};

use super::context::Context;
use super::exit::Exit;
use super::{each, values};
use fairway_actions::sessions::control::nudge;
use fairway_actions::sessions::prompt::{self, Audience, AwaitedReceipt, NewText, Receipt, TextRecipient};
use fairway_actions::{Answer, App};
use fairway_core::domain::message::Priority;
use fairway_core::domain::{Refusal, SessionId};

/// Send text to a session, a lane, a role, a person or all
///
/// WHO is a session's id, session:ID, lane:NAME, role:NAME or person:NAME. A lane or role means each of its live sessions but
/// the sender. Each session gets a prompt of its own; a person reads `fairway inbox`. The failure of one stops no other. The
/// end of a turn is known of structured sessions only.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway send s1 'run the tests again' --wait-ack 1m
fairway send --all 'stop: the schema has changed' --priority urgent")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub struct Args {
    /// Session id, session:ID, lane:NAME, role:NAME or person:NAME
    #[arg(value_name = "WHO", required_unless_present = "all")]
    who: Option<String>,
    /// Text; - reads stdin
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    /// Read the text from FILE; - reads stdin
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    text_file: Option<PathBuf>,
    /// Send to every live session; takes no WHO
    #[arg(long)]
    all: bool,
    /// Type the text into the terminals, without a receipt
    #[arg(long = "type", id = "keystrokes", conflicts_with_all = ["priority", "now", "wait_ack", "wait_answer", "ttl"])]
    keystrokes: bool,
    /// Type what waits for the session; takes no TEXT
    #[arg(long, conflicts_with_all = ["text", "text_file", "all", "keystrokes", "priority", "now", "wait_ack", "wait_answer", "ttl"])]
    queued: bool,
    /// Leave it for the next session where none is live
    #[arg(long, conflicts_with_all = ["all", "keystrokes", "queued"])]
    later: bool,
    /// With --type, type even as the answer to a question
    #[arg(long, requires = "keystrokes")]
    force: bool,
    /// Priority: normal, urgent or system
    #[arg(long, value_parser = values::priority, default_value = "normal")]
    priority: Priority,
    /// Do not wait until a session's state is known
    #[arg(long)]
    now: bool,
    /// Wait this long for each acknowledgement; exit 6 if none
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    wait_ack: Option<Duration>,
    /// Wait this long for the end of each turn; exit 6 if none
    #[arg(long, value_name = "DURATION", value_parser = values::duration, conflicts_with = "wait_ack")]
    wait_answer: Option<Duration>,
    /// Time after which undelivered text expires
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    ttl: Option<Duration>,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let usage = |why: &str| Refusal::Usage { why: why.to_owned() };
        // With --all the first argument is the text.
        let (who, text) = match (self.all, self.who, self.text) {
            (true, Some(_), Some(_)) => return Err(usage("--all takes no WHO: send --all TEXT").into()),
            (true, text, None) => (None, text),
            (_, who, text) => (who, text),
        };
        let audience = match &who {
            Some(who) => Audience::parse(who)?,
            None => Audience::All,
        };
        let app = ctx.app()?;
        let session_of =
            |to: &TextRecipient| to.session().cloned().ok_or_else(|| usage("a person has no terminal to type into"));
        if self.queued {
            let recipients = prompt::recipients_of(&app, &audience, false)?;
            return each::array(ctx, &app, &recipients, |app, to| prompt::type_queued(app, &session_of(to)?, false));
        }
        let content = ctx.text("prompt", text, self.text_file.as_deref())?;
        let content = content.ok_or_else(|| usage("the text is missing: give TEXT or --text-file FILE"))?;
        let recipients = prompt::recipients_of(&app, &audience, self.later)?;
        if self.keystrokes {
            return each::array(ctx, &app, &recipients, |app, to| {
                nudge::nudge(app, &session_of(to)?, content.as_bytes(), self.force)
            });
        }
        let sessions: Vec<_> = recipients.iter().filter_map(TextRecipient::session).cloned().collect();
        let awaited = awaited_receipt(&app, self.wait_ack, self.wait_answer, &sessions)?;
        let text = NewText { content, priority: self.priority, ttl: self.ttl, now: self.now };
        // All are sent before the first is waited for.
        let mut sent: Vec<Result<Answer>> =
            recipients.iter().map(|to| send(&each::app_for(&app, to), to, &text)).collect();
        sent.reverse();
        each::array(ctx, &app, &recipients, |app, _| {
            let sent = sent.pop().unwrap_or_else(|| Err(Error::msg("nothing was sent")))?;
            match &awaited {
                Some(awaited) => with_receipt(app, awaited, sent),
                None => Ok(sent),
            }
        })
    }
}

/// Sends to one recipient, and has a session's prompt delivered.
fn send(app: &App, to: &TextRecipient, text: &NewText) -> Result<Answer> {
    let answer = prompt::send_text(app, to, text)?;
    Ok(match to {
        TextRecipient::Session(session) => prompt::deliver_sent(app, session, answer),
        TextRecipient::Inbox(_) => answer,
    })
}

/// Returns the receipt to wait for: that the message is acknowledged within `acknowledgement`, else that it is answered
/// within `answer`. Returns `None` when the flags give neither time.
pub(super) fn awaited_receipt(
    app: &App,
    acknowledgement: Option<Duration>,
    answer: Option<Duration>,
    sessions: &[SessionId],
) -> Result<Option<AwaitedReceipt>> {
    let wanted = match (acknowledgement, answer) {
        (None, None) => return Ok(None),
        (Some(limit), _) => (Receipt::Acknowledged, limit),
        (None, Some(limit)) => (Receipt::Answered, limit),
    };
    AwaitedReceipt::of(app, wanted.0, sessions, wanted.1).map(Some)
}

/// Waits for the receipt of the message in `sent`, and keeps the notes of `sent`.
fn with_receipt(app: &App, awaited: &AwaitedReceipt, sent: Answer) -> Result<Answer> {
    let Some(id) = sent.ids.first().and_then(|id| id.parse().ok()) else { return Ok(sent) };
    let answer = prompt::wait_receipt(app, awaited, id)?;
    Ok(answer.with_notes(sent.notes))
}
