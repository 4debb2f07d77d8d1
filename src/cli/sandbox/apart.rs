//! `fairway sandbox apart`, which starts what Fairway observes: evidence, jobs and checks of a landing.

use std::{ffi::OsString, path::PathBuf};

use anyhow::Result;

use crate::{
    actions::sessions::sandbox::apart::{self, ApartRequest},
    cli::{context::Context, exit::Exit, values},
    domain::{LaneName, sandbox::SandboxClass},
};

/// Run a program whose commits are not kept
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Class of the sandbox
    #[arg(long, value_name = "CLASS", value_parser = values::sandbox_class, default_value = "namespace")]
    class: SandboxClass,
    /// Lane in whose worktree it runs
    #[arg(long, value_parser = values::lane, required_unless_present = "checkout")]
    lane: Option<LaneName>,
    /// Checkout of a landing
    #[arg(long, value_name = "DIR", conflicts_with = "lane")]
    checkout: Option<PathBuf>,
    /// Variable that reaches the program; repeatable
    #[arg(long = "env", value_name = "NAME")]
    env: Vec<String>,
    /// Program and arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    words: Vec<OsString>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let Self { class, lane, checkout, env, words } = self;
        let finished = apart::run(&ctx.app()?, &ApartRequest { class, lane, checkout, env, argv: words })?;
        Ok(super::run::exit(ctx, &finished))
    }
}
