//! `fairway adapter …`: the backends, and the commands that backend scripts call. None of it needs a project.

mod plumbing;

use std::{fmt::Write, path::PathBuf};

use anyhow::Result;
use clap::Subcommand;

use crate::{
    actions::Answer,
    adapters::{
        conformance::{self, OPERATIONS},
        list::{self, InstalledScripts},
    },
    cli::{context::Context, exit::Exit},
    render::{Meaning, Table, escape_line},
    wire::{AdapterCheckView, InstalledScriptsView, ProbeOutcome},
};

/// List, install and check backends
#[derive(Debug, Subcommand)]
#[command(after_help = "\
fairway adapter list
fairway adapter check tmux")]
#[command(defer = true)]
pub enum Verb {
    List(ListArgs),
    Install(InstallArgs),
    Check(CheckArgs),
    #[command(flatten)]
    Plumbing(plumbing::Plumbing),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::List(args) => args.run(ctx),
            Self::Install(args) => args.run(ctx),
            Self::Check(args) => args.run(ctx),
            Self::Plumbing(command) => command.run(ctx),
        }
    }
}

/// List the built-in and configured backends
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway adapter list")]
pub struct ListArgs {}

impl ListArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let backends = list::list(&ctx.env, ctx.globals.root.as_deref())?;
        ctx.show(
            &backends,
            || backends.iter().map(|one| one.name.clone()).collect(),
            || {
                let mut table = Table::new(&["name", "source", "script", "about"]);
                for one in &backends {
                    table.row([&one.name, one.source, &one.script, one.about.as_deref().unwrap_or("-")]);
                }
                table.render(ctx.out.width)
            },
        )
    }
}

/// Write the backend scripts and examples to a directory
///
/// The scripts of the built-in backends and provider-event.sh; minimal.sh, the template of a backend script; bridges/, which
/// launch a session by ROLE and TASK; watchers/, which follow a provider's events. A file that differs is kept and refused.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway adapter install ./backends")]
pub struct InstallArgs {
    /// Directory
    dir: PathBuf,
}

impl InstallArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let InstalledScripts { dir, written } = list::install(&ctx.env, &self.dir)?;
        let names: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
        let line = if names.is_empty() {
            format!("unchanged: {} has every file already", dir.display())
        } else {
            format!("wrote {}", names.join(", "))
        };
        let document = InstalledScriptsView { dir: dir.clone(), written: names };
        ctx.answer(&Answer::new(&document, dir.display(), line)?)
    }
}

/// Run the conformance suite against a backend script
///
/// Exits 7 when the script fails. The suite starts and stops sessions of its own in a private directory. Exit code 2 of
/// a script means "not supported", and is no failure except for start, stop and is-running.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway adapter check ./backends/tmux.sh --operation start")]
pub struct CheckArgs {
    /// Path, backend, or exec:PROGRAM
    script: String,
    /// Check only this operation; repeatable
    #[arg(long, value_name = "OPERATION", value_parser = clap::builder::PossibleValuesParser::new(OPERATIONS))]
    operation: Vec<String>,
}

impl CheckArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let (report, broken) = conformance::run(&ctx.env, ctx.globals.root.as_deref(), &self.script, &self.operation)?;
        ctx.show(
            &report,
            || {
                let failed = report.operations.iter().filter(|one| one.verdict == ProbeOutcome::Fail);
                failed.map(|one| one.operation.to_owned()).collect()
            },
            || words(ctx, &report),
        )?;
        broken.map_or(Ok(0), |broken| Err(broken.into()))
    }
}

fn words(ctx: &Context, report: &AdapterCheckView) -> String {
    let mut table = Table::new(&["operation", "verdict", "probes"]);
    for one in &report.operations {
        let passed = one.probes.iter().filter(|probe| probe.verdict == ProbeOutcome::Pass).count();
        let probes = match one.probes.iter().filter(|probe| probe.verdict != ProbeOutcome::NotSupported).count() {
            0 => "-".to_owned(),
            tried => format!("{passed} of {tried}"),
        };
        table.row([one.operation, one.verdict.as_str(), &probes]);
    }
    table.render(ctx.out.width) + &failures(ctx, report)
}

/// The failed checks, each with the expected and the seen answer; one cause often fails many.
fn failures(ctx: &Context, report: &AdapterCheckView) -> String {
    let mut told: Vec<(Vec<String>, Option<&str>, Option<&str>)> = Vec::new();
    for one in &report.operations {
        for probe in one.probes.iter().filter(|probe| probe.verdict == ProbeOutcome::Fail) {
            let title = format!("{}: {}", one.operation, probe.what);
            let (expected, seen) = (probe.expected.as_deref(), probe.seen.as_deref());
            match told.iter_mut().find(|known| (known.1, known.2) == (expected, seen)) {
                Some((titles, ..)) => titles.push(title),
                None => told.push((vec![title], expected, seen)),
            }
        }
    }
    let mut text = String::new();
    for (titles, expected, seen) in told {
        text.push('\n');
        for title in titles {
            let _ = writeln!(text, "{}", ctx.out.style.paint(Meaning::Bad, &escape_line(&title)));
        }
        let (expected, seen) = (escape_line(expected.unwrap_or("-")), escape_line(seen.unwrap_or("-")));
        let _ = writeln!(text, "  expected  {expected}\n  seen      {seen}");
    }
    text
}
