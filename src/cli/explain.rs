//! `fairway explain …`

use std::time::Duration;

use anyhow::Result;
use clap::Subcommand;

use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::values;
use fairway_actions::upkeep::explain;
use fairway_core::config::show_duration;
use fairway_core::domain::{Refusal, SessionId, TaskId};
use fairway_core::render::Table;
use fairway_core::wire::ExplainView;

/// Explain the state of a task or session
///
/// An id that is both a task and a session needs the word task or session before it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway explain T-4
fairway explain session s1")]
#[command(subcommand_negates_reqs = true)]
pub struct Args {
    /// Id of a task or session
    #[arg(required = true)]
    id: Option<String>,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Task(TaskArgs),
    Session(SessionArgs),
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match (self.verb, self.id) {
            (Some(Verb::Task(args)), None) => args.run(ctx),
            (Some(Verb::Session(args)), None) => args.run(ctx),
            (None, Some(id)) => {
                let view = explain::explain(&ctx.app()?, &id)?;
                ctx.show(&view, || vec![view.id.clone()], || facts(&view, ctx.out.width))
            }
            _ => {
                Err(Refusal::Usage { why: "give one id: explain ID, explain task ID or explain session ID".into() }
                    .into())
            }
        }
    }
}

/// Explain a task's status, blockers and claim
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway explain task T-4")]
pub struct TaskArgs {
    /// Task id
    #[arg(value_parser = values::task)]
    id: TaskId,
}

impl TaskArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let view = explain::task(&ctx.app()?, &self.id)?;
        ctx.show(&view, || vec![view.id.clone()], || facts(&view, ctx.out.width))
    }
}

/// Explain a session's status and what reconcile would do
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway explain session s1")]
pub struct SessionArgs {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
}

impl SessionArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let view = explain::session(&ctx.app()?, &self.id)?;
        ctx.show(&view, || vec![view.id.clone()], || facts(&view, ctx.out.width))
    }
}

/// Formats an explanation: one line with the status of the explained object, then a table of the facts behind it.
pub(super) fn facts(view: &ExplainView, width: Option<usize>) -> String {
    let mut table = Table::new(&["fact", "source", "age"]);
    for fact in &view.facts {
        let age = fact.age_ms.map_or_else(|| "-".into(), |age| show_duration(Duration::from_millis(age)));
        table.row([fact.message.as_str(), &fact.source, &age]);
    }
    format!("{} is {}\n{}", view.id, view.status, table.render(width))
}
