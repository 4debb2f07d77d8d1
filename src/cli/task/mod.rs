//! `fairway task …`

mod add;
mod cancel;
mod dep;
pub(super) mod done;
mod edit;
mod export;
mod import;
mod list;
mod reopen;
mod rm;
mod show;
mod submit;
pub(super) mod table;
mod transition;

use anyhow::Result;
use clap::Subcommand;

use super::{claim, context::Context, exit::Exit, merge_ready, release};

/// Add, show, edit and move tasks
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    Add(add::Args),
    List(list::Args),
    Show(show::Args),
    Edit(edit::Args),
    #[command(subcommand)]
    Dep(dep::Verb),
    Claim(claim::Args),
    Release(release::Args),
    /// Block a claimed task; the claim stays
    Block(transition::Args),
    /// Unblock a task
    Unblock(transition::Args),
    Submit(submit::Args),
    /// Resume a submitted task
    ///
    /// For its claimant, who keeps the claim, and for the reviewer who last asked for changes.
    Resume(transition::Args),
    Done(done::Args),
    MergeCheck(merge_ready::Args),
    Cancel(cancel::Args),
    Reopen(reopen::Args),
    #[command(alias = "remove")]
    Rm(rm::Args),
    Import(import::Args),
    Export(export::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Add(args) => args.run(ctx),
            Self::List(args) => args.run(ctx),
            Self::Show(args) => args.run(ctx),
            Self::Edit(args) => args.run(ctx),
            Self::Dep(verb) => verb.run(ctx),
            Self::Claim(args) => args.run(ctx),
            Self::Release(args) => args.run(ctx),
            Self::MergeCheck(args) => args.run(ctx),
            Self::Block(args) => args.block(ctx),
            Self::Unblock(args) => args.unblock(ctx),
            Self::Submit(args) => args.run(ctx),
            Self::Resume(args) => args.resume(ctx),
            Self::Done(args) => args.run(ctx),
            Self::Cancel(args) => args.run(ctx),
            Self::Reopen(args) => args.run(ctx),
            Self::Rm(args) => args.run(ctx),
            Self::Import(args) => args.run(ctx),
            Self::Export(args) => args.run(ctx),
        }
    }
}
