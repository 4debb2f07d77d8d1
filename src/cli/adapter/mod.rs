//! `fairway adapter …`: the backends, and the commands that backend scripts call. None of it needs a project.

mod plumbing;

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Subcommand;

use crate::cli::context::Context;
use crate::cli::exit::Exit;
use fairway_actions::Answer;
use fairway_core::adapters::BackendSource;
use fairway_core::adapters::conformance::{self, OPERATIONS};
use fairway_core::adapters::forge::{self, Forge};
use fairway_core::adapters::list::{self, InstalledScripts};
use fairway_core::render::{Meaning, Table, escape_line};
use fairway_core::wire::{AdapterCheckView, InstalledScriptsView, ProbeOutcome};

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
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct CheckArgs {
    /// Path, backend, or exec:PROGRAM
    #[arg(required = true)]
    script: Option<String>,
    /// Check only this operation; repeatable
    #[arg(long, value_name = "OPERATION", value_parser = clap::builder::PossibleValuesParser::new(OPERATIONS))]
    operation: Vec<String>,
    #[command(subcommand)]
    verb: Option<CheckVerb>,
}

/// What is checked besides backend scripts.
#[derive(Debug, Subcommand)]
enum CheckVerb {
    Forge(ForgeArgs),
}

/// Run the conformance cases against a forge script
///
/// Exits 7 when the script fails. The cases only read: they open, change and say nothing. --remote is the address of a repository of
/// the forge; a script may answer with a reason that there is none.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway adapter check forge ./forge.sh --remote https://forge.example/shop.git")]
struct ForgeArgs {
    /// Path, github, gitlab, or a program in PATH
    script: String,
    /// Address of the git remote
    #[arg(long, value_name = "ADDRESS", default_value = "")]
    remote: String,
    /// Also ask for this pull request
    #[arg(long, value_name = "NUMBER")]
    number: Option<i64>,
}

impl CheckArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let root = ctx.globals.root.as_deref();
        let (report, broken) = match (self.verb, self.script) {
            (Some(CheckVerb::Forge(asked)), _) => {
                let cwd = &ctx.env.cwd;
                let script = forge::resolve(&ctx.env, BackendSource::Flag, cwd, &asked.script)?;
                let forge = Forge::new(&script, cwd, &ctx.env, &asked.remote)?;
                conformance::check_forge(&script, &forge, asked.number)
            }
            (None, script) => conformance::run(&ctx.env, root, &script.unwrap_or_default(), &self.operation)?,
        };
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
