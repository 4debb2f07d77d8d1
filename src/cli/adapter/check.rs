//! `fairway adapter check`

use std::fmt::Write;

use anyhow::Result;

use crate::{
    adapters::conformance::{self, OPERATIONS},
    cli::{context::Context, exit::Exit},
    render::{Meaning, Table, escape_line},
    wire::{AdapterCheckView, ProbeOutcome},
};

/// Run the conformance suite against a backend script
///
/// Exits 7 when the script fails. The suite starts and stops sessions of its own in a private directory. Exit code 2 of
/// a script means "not supported", and is no failure except for start, stop and is-running.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Path, backend, or exec:PROGRAM
    script: String,
    /// Check only this operation; repeatable
    #[arg(long, value_name = "OPERATION", value_parser = clap::builder::PossibleValuesParser::new(OPERATIONS))]
    operation: Vec<String>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
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
