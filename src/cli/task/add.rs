//! `fairway task add`

use std::path::PathBuf;

use anyhow::Result;

use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::values;
use fairway_actions::queue::task::add;
use fairway_core::domain::id::Label;
use fairway_core::domain::task::{Check, DEFAULT_PRIORITY, TaskFields};
use fairway_core::domain::{LaneName, Refusal, Role, TaskId};

/// Add a task
///
/// The title is one argument. A first argument with a hyphen and a digit, as SHOP-7, is the task's id; --id takes any id.
/// Without one the next number is used. An id is never given out again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway task add 'Fix the total'
fairway task add SHOP-7 'Gift cards' --check 'tests=cargo test'")]
pub struct Args {
    /// Title, with an id such as SHOP-7 in front or a generated one
    #[arg(value_name = "[ID] TITLE", required = true, num_args = 1..)]
    words: Vec<String>,
    /// Id of the task; default: the next number
    #[arg(long, value_name = "ID", value_parser = values::task)]
    id: Option<TaskId>,
    #[command(flatten)]
    fields: Fields,
}

/// The fields of a task besides its title.
#[derive(Debug, Clone, clap::Args)]
pub struct Fields {
    /// Description; - reads stdin
    #[arg(long, value_name = "TEXT")]
    pub body: Option<String>,
    /// Read the description from FILE; - reads stdin
    #[arg(long, value_name = "FILE", conflicts_with = "body")]
    pub body_file: Option<PathBuf>,
    /// Role that may claim the task
    #[arg(long)]
    pub role: Option<String>,
    /// Lane that the task belongs to
    #[arg(long)]
    pub lane: Option<String>,
    /// Task that it is a part of
    #[arg(long, value_name = "ID")]
    pub parent: Option<String>,
    /// Priority from 0 (first) to 4 (last) [default: 2]
    #[arg(long, value_name = "0-4", value_parser = values::task_priority)]
    pub priority: Option<u8>,
    /// Label; repeatable
    #[arg(long = "label", value_name = "LABEL")]
    pub labels: Vec<String>,
    /// Glob of files it is expected to change; repeatable
    #[arg(long = "path", value_name = "GLOB")]
    pub paths: Vec<String>,
    /// Task that must be done first; repeatable
    #[arg(long = "depends-on", value_name = "ID")]
    pub depends_on: Vec<String>,
    /// Command that the task must pass; repeatable
    #[arg(long = "check", value_name = "NAME=COMMAND")]
    pub checks: Vec<String>,
    /// Domain that must approve the task; repeatable
    #[arg(long = "review-domain", value_name = "DOMAIN")]
    pub review_domains: Vec<String>,
}

impl Fields {
    pub const fn is_empty(&self) -> bool {
        self.body.is_none()
            && self.body_file.is_none()
            && self.role.is_none()
            && self.lane.is_none()
            && self.parent.is_none()
            && self.priority.is_none()
            && self.labels.is_empty()
            && self.paths.is_empty()
            && self.depends_on.is_empty()
            && self.checks.is_empty()
            && self.review_domains.is_empty()
    }

    /// Writes the given fields into `fields`. A list replaces the old list; an empty text clears a field. The caller must
    /// already have read the body from its file.
    pub fn over(self, fields: &mut TaskFields) -> Result<()> {
        if let Some(body) = self.body {
            fields.body = body;
        }
        if let Some(role) = self.role {
            fields.role = cleared(&role, Role::parse)?;
        }
        if let Some(lane) = self.lane {
            fields.lane = cleared(&lane, LaneName::parse)?;
        }
        if let Some(parent) = self.parent {
            fields.parent = cleared(&parent, TaskId::parse)?;
        }
        fields.priority = self.priority.unwrap_or(fields.priority);
        replace(&mut fields.labels, self.labels, |text| Ok::<_, Refusal>(text.to_owned()))?;
        replace(&mut fields.paths, self.paths, |text| Ok::<_, Refusal>(text.to_owned()))?;
        replace(&mut fields.depends_on, self.depends_on, TaskId::parse)?;
        replace(&mut fields.checks, self.checks, check)?;
        replace(&mut fields.review_domains, self.review_domains, Label::parse)?;
        Ok(())
    }
}

fn cleared<T, E>(text: &str, parse: impl Fn(&str) -> Result<T, E>) -> Result<Option<T>, E> {
    if text.is_empty() { Ok(None) } else { parse(text).map(Some) }
}

fn replace<T, E>(list: &mut Vec<T>, texts: Vec<String>, parse: impl Fn(&str) -> Result<T, E>) -> Result<(), E> {
    if !texts.is_empty() {
        *list = texts.iter().filter(|text| !text.is_empty()).map(|text| parse(text)).collect::<Result<_, _>>()?;
    }
    Ok(())
}

fn check(text: &str) -> Result<Check, Refusal> {
    let (name, command) = text
        .split_once('=')
        .ok_or_else(|| Refusal::invalid("check", format!("'{}' is not NAME=COMMAND", text.escape_debug())))?;
    Ok(Check { name: Label::parse(name)?, command: command.to_owned() })
}

/// Separates the id from the title. Refuses a title of several words, because its quotes are then missing.
fn id_and_title(id: Option<TaskId>, words: Vec<String>) -> Result<(Option<TaskId>, String), Refusal> {
    match words.as_slice() {
        [title] if id.is_some() || !TaskId::is_distinct(title) => Ok((id, title.clone())),
        [first, title] if id.is_none() && TaskId::is_distinct(first) => Ok((Some(values::task(first)?), title.clone())),
        _ => Err(Refusal::TitleExpected { id, words }),
    }
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let (id, title) = id_and_title(self.id, self.words)?;
        let mut task = TaskFields { priority: DEFAULT_PRIORITY, ..TaskFields::with_title(title) };
        let mut fields = self.fields;
        fields.body = ctx.text("body", fields.body.take(), fields.body_file.take().as_deref())?;
        fields.over(&mut task)?;
        ctx.answer(&add::add(&ctx.app()?, id.as_ref(), task)?)
    }
}
