//! `fairway send`

use std::{path::PathBuf, time::Duration};

use anyhow::Result;
use serde_json::json;

use super::{context::Context, exit::Exit, values};
use crate::{
    actions::{
        Answer, App,
        sessions::prompt::{self, AckWaiter, Audience},
    },
    domain::{Refusal, message::Priority},
};

/// Send text to a session, a lane, a role or everyone
///
/// WHO is a session's id, session:ID, lane:NAME or role:NAME. A lane or role means each of its live sessions but the sender.
/// Each session gets a prompt of its own, delivered as by `fairway prompt`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session id, session:ID, lane:NAME or role:NAME
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
    /// Priority: normal, urgent or system
    #[arg(long, value_parser = values::priority, default_value = "normal")]
    priority: Priority,
    /// Wait this long for each acknowledgement; exit 6 if none
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    wait_ack: Option<Duration>,
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
        let content = ctx.text("prompt", text, self.text_file.as_deref())?;
        let content = content.ok_or_else(|| usage("the text is missing: give TEXT or --text-file FILE"))?;
        let app = ctx.app()?;
        let awaited = self.wait_ack.map(|limit| AckWaiter::with_timeout(&app, limit)).transpose()?;
        let (mut answer, sessions) = prompt::send_to(&app, &audience, &content, self.priority, self.ttl)?;
        let undelivered = sessions.iter().filter_map(|session| prompt::try_deliver(&app, session));
        match awaited {
            None => answer.notes.extend(undelivered),
            Some(awaited) => {
                let notes: Vec<String> = undelivered.collect();
                answer = acknowledged(&app, &awaited, &answer)?;
                answer.notes.extend(notes);
            }
        }
        ctx.answer(&answer)
    }
}

/// Waits for each prompt of an answer in turn, within one timeout.
fn acknowledged(app: &App, awaited: &AckWaiter, sent: &Answer) -> Result<Answer> {
    let (mut views, mut lines) = (Vec::new(), Vec::new());
    for id in sent.ids.iter().filter_map(|id| id.parse().ok()) {
        let one = prompt::wait_acknowledged(app, awaited, id)?;
        views.push(one.document);
        lines.push(one.line);
    }
    let mut answer = Answer::new(&json!({ "sent": views }), "", lines.join("\n"))?;
    answer.ids.clone_from(&sent.ids);
    Ok(answer)
}
