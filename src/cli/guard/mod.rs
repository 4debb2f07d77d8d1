//! `fairway guard …`

mod check;
mod log;
mod test;

use anyhow::Result;
use clap::Subcommand;
use serde_json::Value;

use super::{context::Context, exit::Exit};
use crate::domain::Refusal;

/// Check tool calls against the guard rules
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    Check(check::Args),
    Test(test::Args),
    Log(log::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Check(args) => args.run(ctx),
            Self::Test(args) => args.run(ctx),
            Self::Log(args) => args.run(ctx),
        }
    }
}

/// The input of a call as JSON.
fn object(text: &str) -> Result<Value, Refusal> {
    let wrong = |why: String| Refusal::invalid("input", why);
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(wrong("is no JSON object".to_owned())),
        Err(error) => Err(wrong(format!("is no JSON: {error}"))),
    }
}
