//! `fairway restore`

use std::path::PathBuf;

use anyhow::Result;

use super::context::Context;
use super::exit::Exit;
use super::{age, confirm};
use fairway_actions::App;
use fairway_actions::core::inside_session;
use fairway_actions::upkeep::backup;
use fairway_core::domain::Refusal;
use fairway_core::render::{Table, escape_line};

/// Restore the store from a backup or a snapshot
///
/// The backup is checked first, and the present store is kept beside it. Every epoch that was given out before becomes invalid,
/// so sessions that worked meanwhile are refused. Refused inside a session.
///
/// Snapshots are made at most every ten minutes, in the user's state directory; the newest twelve of seven days are kept.
/// --latest says which events are missing since.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway restore store.db
fairway restore --latest")]
pub struct Args {
    /// Backup file
    #[arg(value_name = "FILE", required_unless_present_any = ["latest", "list"], conflicts_with_all = ["latest", "list"])]
    file: Option<PathBuf>,
    /// Restore the newest snapshot
    #[arg(long)]
    latest: bool,
    /// List the snapshots, newest first, and restore nothing
    #[arg(long)]
    list: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        if self.list {
            return list(ctx, &app);
        }
        // A damaged store cannot be read; its place is not kept open.
        inside_session::refuse(&app.with_fresh_store(), "restore")?;
        let from = match &self.file {
            Some(file) => file.display().to_string(),
            None if self.latest => "the newest snapshot".to_owned(),
            None => return Err(Refusal::Usage { why: "name a backup, or give --latest".into() }.into()),
        };
        let question = escape_line(&format!("Replace the store {} with {from}?", app.project.store.display()));
        confirm::require(ctx, self.yes, &question)?;
        match self.file {
            Some(file) => ctx.answer(&backup::restore(&app, &file)?),
            None => ctx.answer(&backup::restore_latest(&app)?),
        }
    }
}

fn list(ctx: &Context, app: &App) -> Result<Exit> {
    let found = backup::list_snapshots(app);
    ctx.show(
        &found,
        || found.iter().map(|snapshot| snapshot.file.display().to_string()).collect(),
        || {
            let mut table = Table::new(&["age", "event", "bytes", "file"]);
            for one in &found {
                table.row([
                    age::age(&one.made_at, ctx.env.now()),
                    one.event.to_string(),
                    one.bytes.to_string(),
                    one.file.display().to_string(),
                ]);
            }
            if table.is_empty() { "no snapshots\n".into() } else { table.render(ctx.out.width) }
        },
    )
}
