//! `fairway explain …`

mod session;
mod task;

use std::time::Duration;

use anyhow::Result;
use clap::Subcommand;

use super::{context::Context, exit::Exit};
use crate::{config::show_duration, render::Table, wire::ExplainView};

/// Explain the state of a task or session
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    Task(task::Args),
    Session(session::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Task(args) => args.run(ctx),
            Self::Session(args) => args.run(ctx),
        }
    }
}

/// The facts as a table under a line.
fn words(view: &ExplainView, width: Option<usize>) -> String {
    let mut table = Table::new(&["fact", "source", "age"]);
    for fact in &view.facts {
        let age = fact.age_ms.map_or_else(|| "-".into(), |age| show_duration(Duration::from_millis(age)));
        table.row([fact.message.as_str(), &fact.source, &age]);
    }
    format!("{} is {}\n{}", view.id, view.status, table.render(width))
}
