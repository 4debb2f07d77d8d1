//! `fairway sandbox check`

use std::fmt::Write as _;

use anyhow::Result;

use super::options::Network;
use crate::{
    actions::sessions::sandbox::check,
    cli::{
        context::{Context, exit_even_if_closed},
        exit::Exit,
        values,
    },
    domain::sandbox::SandboxClass,
    render::{Meaning, Style, escape_line},
    wire::{FailureKind, SandboxCheckView},
};

/// Prove what a sandbox keeps in, here and now
///
/// Makes a project with a lane in the directory for temporary files. A program tries there to get out, once outside of a sandbox
/// as a control, and once inside. What counts is what is seen outside afterwards. Exit 5 when an attempt inside succeeded, or
/// something that must work did not. An attempt that fails outside too proves nothing, and is marked with '?'.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Class: namespace or command [default: sandbox.class]
    #[arg(value_name = "CLASS", value_parser = values::sandbox_class)]
    class: Option<SandboxClass>,
    #[command(flatten)]
    network: Network,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let view = check::check(&ctx.app()?, self.class, self.network.network)?;
        let exit = if view.passed { 0 } else { FailureKind::Refused.exit_code() };
        let names = || view.probes.iter().filter(|probe| probe.inside).map(|probe| probe.name.clone()).collect();
        exit_even_if_closed(exit, ctx.show(&view, names, || text(&view, ctx.out.style)))
    }
}

fn text(view: &SandboxCheckView, style: Style) -> String {
    let mut text = String::new();
    let mut line = |shape: char, meaning: Meaning, name: &str, what: &str| {
        let begin = style.paint(meaning, &format!("{shape} {name:<26}"));
        let _ = writeln!(text, "{begin} {}", escape_line(what));
    };
    for probe in &view.probes {
        let why = probe.why.as_deref().unwrap_or_default();
        match (probe.inside, probe.is_open, probe.outside) {
            (true, true, _) => line('○', Meaning::Notice, &probe.name, &format!("{}: open", probe.what)),
            (true, false, _) => line('✗', Meaning::Bad, &probe.name, &format!("{}: DONE", probe.what)),
            (false, _, true) => line('✓', Meaning::Good, &probe.name, &format!("{}: {why}", probe.what)),
            (false, _, false) => {
                line('?', Meaning::Notice, &probe.name, &format!("{}: not possible outside either", probe.what));
            }
        }
    }
    for need in &view.needs {
        match &need.why {
            None => line('✓', Meaning::Good, &need.name, "works"),
            Some(why) => line('✗', Meaning::Bad, &need.name, &format!("does not work: {why}")),
        }
    }
    let count = |is: fn(&crate::wire::SandboxProbeView) -> bool| view.probes.iter().filter(|probe| is(probe)).count();
    let _ = writeln!(
        text,
        "{} of {} attempts succeed outside; inside {} of them do; {} of {} needs work",
        count(|probe| probe.outside),
        view.probes.len(),
        count(|probe| probe.inside),
        view.needs.iter().filter(|need| need.works).count(),
        view.needs.len(),
    );
    text
}
