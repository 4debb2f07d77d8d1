//! `fairway adapter meta …`

use anyhow::Result;
use clap::Subcommand;

use crate::{
    actions::backend::plumbing::meta,
    cli::{context::Context, exit::Exit},
};

/// Values that are kept with a session
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Print a value, or one of the session's start environment; nothing when it is unset
    Get(Which),
    /// Keep the value on stdin
    Set(Which),
    /// Forget a value
    Remove(Which),
}

/// A value's place
#[derive(Debug, clap::Args)]
pub struct Which {
    /// The session's name
    name: String,
    /// The value's name
    key: String,
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let env = &ctx.env;
        match self {
            Self::Get(Which { name, key }) => {
                if let Some(value) = meta::get(env, &name, &key)? {
                    ctx.out.bytes(&value)?;
                }
            }
            Self::Set(Which { name, key }) => meta::set(env, &name, &key, std::io::stdin().lock())?,
            Self::Remove(Which { name, key }) => meta::remove(env, &name, &key)?,
        }
        Ok(0)
    }
}
