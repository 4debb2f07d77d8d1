//! `fairway provider …`: the agents that can be launched.

use anyhow::Result;
use clap::Subcommand;

use crate::cli::context::Context;
use crate::cli::doctor::proof_cell;
use crate::cli::exit::Exit;
use fairway_actions::agents::providers;
use fairway_core::env::Timestamp;
use fairway_core::render::{Table, escape_line};
use fairway_core::wire::{ProviderProgramView, ProviderView};

/// List the agents that can be launched
#[derive(Debug, Subcommand)]
#[command(after_help = "fairway provider list")]
#[command(defer = true)]
pub enum Verb {
    List(ListArgs),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::List(args) => args.run(ctx),
        }
    }
}

/// List the agents that can be launched
///
/// TERMINAL and STRUCTURED: the installed version of the program, and the one with which Fairway was tried. ASKS: the mode in
/// which a structured session asks before it runs a tool. GUARD: what `fairway doctor agents` has shown of that here. SWITCHES:
/// whether a conversation was seen to go on in the agent's terminal and back. To add an agent: a section [providers.NAME.acp].
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway provider list")]
pub struct ListArgs {}

impl ListArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let providers = providers::list(&ctx.env, ctx.globals.root.as_deref())?;
        ctx.show(
            &providers,
            || providers.iter().map(|one| one.name.clone()).collect(),
            || {
                let mut table = Table::new(&["name", "source", "terminal", "structured", "asks", "guard", "switches"]);
                for one in &providers {
                    table.row(cells(one, ctx.env.now()));
                }
                if providers.iter().any(is_to_be_proven) {
                    ctx.out.note("to prove that an agent asks before it runs a tool: fairway doctor agents");
                }
                table.render(ctx.out.width)
            },
        )
    }
}

/// Whether nothing is known yet of how an installed agent asks.
pub(super) fn is_to_be_proven(one: &ProviderView) -> bool {
    let is_installed = one.structured.as_ref().is_some_and(|program| program.installed == Some(true));
    is_installed && one.asking_mode.is_some() && one.proof.is_none()
}

fn cells(one: &ProviderView, now: Timestamp) -> [String; 7] {
    let structured = one.structured.as_ref().map_or_else(|| "-".to_owned(), state);
    // Some modes are addresses.
    let mode = one.asking_mode.as_deref().and_then(|mode| mode.rsplit('#').next()).unwrap_or("-").to_owned();
    let switches = one.switches.map_or("-", |switches| if switches { "yes" } else { "no" }).to_owned();
    let guard = match (&one.proof, &one.unproven) {
        (None, Some(why)) => escape_line(why),
        (None, None) if is_to_be_proven(one) => "unproven".to_owned(),
        (proof, _) => escape_line(&proof_cell(proof.as_ref(), now)),
    };
    [one.name.clone(), one.source.to_owned(), state(&one.terminal), structured, mode, guard, switches]
}

/// The program in a cell: whether it is there, and with which version it was tried.
fn state(program: &ProviderProgramView) -> String {
    let found = match (program.installed, &program.version) {
        (Some(false), _) => "not installed",
        (Some(true), Some(version)) => version,
        (Some(true), None) => "installed",
        (None, _) => "unknown",
    };
    match &program.proven_with {
        Some(tried) if program.version.as_ref() == Some(tried) => format!("{found} (tried)"),
        Some(tried) => format!("{found} (tried: {tried})"),
        None => format!("{found} (untried)"),
    }
}
