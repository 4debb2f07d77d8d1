//! `fairway message …`

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Subcommand;

use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::values;
use fairway_actions::mail::send::{self, NewMessage};
use fairway_core::domain::id::Label;
use fairway_core::domain::message::{Priority, Recipient};
use fairway_core::domain::{LaneName, Refusal, Role, SessionId};

/// Leave a message for a session, lane or role
#[derive(Debug, Subcommand)]
#[command(after_help = "fairway message send 'main is frozen' --to-lane api")]
#[command(defer = true)]
pub enum Verb {
    Send(SendArgs),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let Self::Send(args) = self;
        args.run(ctx)
    }
}

/// Send a message to a session, lane or role
///
/// A message to a lane or role goes to the first of its sessions that reads messages.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway message send 'main is frozen' --to-lane api")]
#[command(group(clap::ArgGroup::new("recipient").required(true)))]
pub struct SendArgs {
    /// Text; - reads stdin
    #[arg(required_unless_present = "text_file")]
    text: Option<String>,
    /// Read the text from FILE; - reads stdin
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    text_file: Option<PathBuf>,
    /// Session that gets the message
    #[arg(long, value_name = "ID", value_parser = values::session, group = "recipient")]
    to_session: Option<SessionId>,
    /// Lane whose first reading session gets it
    #[arg(long, value_name = "LANE", value_parser = values::lane, group = "recipient")]
    to_lane: Option<LaneName>,
    /// Role whose first reading session gets it
    #[arg(long, value_name = "ROLE", value_parser = values::role, group = "recipient")]
    to_role: Option<Role>,
    /// Priority: normal, urgent or system
    #[arg(long, value_parser = values::priority, default_value = "normal")]
    priority: Priority,
    /// Label that says where the message comes from
    #[arg(long, value_parser = values::label, default_value = "mail")]
    source: Label,
    /// Count it on a waiting message with this key
    #[arg(long, value_name = "KEY")]
    dedup: Option<String>,
    /// Time after which an unread message expires
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    ttl: Option<Duration>,
}

impl SendArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let content = ctx.text("message", self.text, self.text_file.as_deref())?.unwrap_or_default();
        let session = self.to_session.map(Recipient::Session);
        let to = session.or(self.to_lane.map(Recipient::Lane)).or(self.to_role.map(Recipient::Role));
        let missing = || Refusal::Usage { why: "a recipient is required: --to-session, --to-lane or --to-role".into() };
        let message = NewMessage {
            to: to.ok_or_else(missing)?,
            priority: self.priority,
            source: self.source,
            content,
            dedup: self.dedup,
            ttl: self.ttl,
        };
        ctx.answer(&send::send(&ctx.app()?, &message)?)
    }
}
