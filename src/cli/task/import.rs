//! `fairway task import`

use std::path::PathBuf;

use anyhow::Result;

use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::values;
use fairway_actions::land;
use fairway_actions::queue::task::import;
use fairway_actions::queue::task::import_issues::{self, IssueImportOptions};
use fairway_core::domain::Role;
use fairway_core::wire::import::ImportFormat;

/// Import tasks from a JSONL or JSON file
///
/// Reads the output of `fairway task export` and of beads. With --from, asks a forge for open issues, or reads a file as
/// `gh issue list --json number,title,body,labels,url,state` writes it. Existing and removed tasks stay as they are; what is
/// odd is left out, and a table names it. A repeated import of issues updates those whose fields were not changed here.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway task import tasks.jsonl --dry-run
fairway task import --from github --dry-run")]
pub struct Args {
    /// File; - reads stdin
    #[arg(value_name = "FILE|-", required_unless_present = "from")]
    file: Option<PathBuf>,
    /// Write nothing; report what the import would do
    #[arg(long)]
    dry_run: bool,
    /// Take issues of a forge: github, gitlab, or a forge script
    #[arg(long, value_name = "FORGE")]
    from: Option<String>,
    /// Import closed issues too, as done or cancelled
    #[arg(long, requires = "from")]
    closed: bool,
    /// Role of new tasks with a label; repeatable
    #[arg(long, value_name = "LABEL=ROLE", requires = "from", value_parser = label_role)]
    label_role: Vec<(String, Role)>,
    /// Priority of new tasks with a label; repeatable
    #[arg(long, value_name = "LABEL=N", requires = "from", value_parser = label_priority)]
    label_priority: Vec<(String, u8)>,
}

/// Splits `LABEL=VALUE` at the last `=`, because a label may contain others.
fn label_and_value(text: &str) -> Result<(String, &str), String> {
    match text.rsplit_once('=') {
        Some((label, value)) if !label.trim().is_empty() => Ok((label.trim().to_owned(), value.trim())),
        _ => Err("must be a label, '=' and a value".to_owned()),
    }
}

fn label_role(text: &str) -> Result<(String, Role), String> {
    let (label, role) = label_and_value(text)?;
    Ok((label, values::role(role).map_err(|refusal| refusal.to_string())?))
}

fn label_priority(text: &str) -> Result<(String, u8), String> {
    let (label, priority) = label_and_value(text)?;
    match priority.parse() {
        Ok(priority @ 0..=4) => Ok((label, priority)),
        _ => Err("the priority must be from 0 to 4".to_owned()),
    }
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let text = self.file.as_ref().map(|file| ctx.input("the file", file)).transpose()?;
        let app = ctx.app()?;
        let Some(forge) = self.from else {
            let file = self.file.unwrap_or_default();
            let form = file.extension().and_then(|ending| ImportFormat::from_extension(&ending.to_string_lossy()));
            return ctx.answer(&import::import(&app, &file, &text.unwrap_or_default(), form, self.dry_run)?);
        };
        let (text, note) = match text {
            Some(text) => (text, None),
            None => land::forge_issues(&app, &forge, self.closed)?,
        };
        let (roles, priorities, closed) = (self.label_role, self.label_priority, self.closed);
        let options = IssueImportOptions { roles, priorities, closed, prefix: import_issues::prefix(&forge) };
        let mut answer = import_issues::import(&app, &text, &options, self.dry_run)?;
        answer.notes.extend(note);
        ctx.answer(&answer)
    }
}
