//! `fairway exec wait`

use std::time::Duration;

use anyhow::Result;

use super::format;
use crate::{
    actions::jobs::wait,
    cli::{context::Context, context::exit_even_if_closed, exit::Exit, values},
    domain::job::{Job, JobStatus},
    wire::FailureKind,
};

/// Wait for jobs to finish; exit 7 if one failed
///
/// A job whose supervisor died meanwhile is recovered by its policy.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job ids or their short forms
    #[arg(required = true, value_name = "JOB")]
    runs: Vec<String>,
    /// Maximum wait; exit 6 when it is over
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    timeout: Option<Duration>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        let shows = ctx.env.terminal.stderr && !ctx.out.json && !ctx.out.quiet;
        let progress = |runs: &[Job]| {
            if shows {
                ctx.out.progress(&progress(runs));
            }
        };
        let waited = wait::wait(&app, &self.runs, self.timeout, progress);
        if shows {
            ctx.out.progress("");
        }
        let runs = waited?;
        let succeeded = runs.iter().all(|run| run.status == JobStatus::Succeeded.as_str());
        let exit = if succeeded { 0 } else { FailureKind::External.exit_code() };
        let now = ctx.env.now();
        let lines = || runs.iter().map(|run| format::line(run, now, ctx.out.style) + "\n").collect();
        exit_even_if_closed(exit, ctx.show(&runs, || runs.iter().map(|run| run.run_id.clone()).collect(), lines))
    }
}

/// How far they are, in a line.
fn progress(runs: &[Job]) -> String {
    let left: Vec<&Job> = runs.iter().filter(|run| !run.status.is_final()).collect();
    let names: Vec<String> = left.iter().take(4).map(|run| format!("{} {}", run.id.short(), run.status)).collect();
    let more = if left.len() > 4 { ", …" } else { "" };
    format!("{} of {} ended; {}{more}", runs.len() - left.len(), runs.len(), names.join(", "))
}
