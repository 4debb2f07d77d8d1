//! `fairway doctor`

use anyhow::Result;

use super::{context::Context, exit::Exit};
use crate::{
    actions::project::doctor,
    domain::finding::{self, Finding},
    render::Table,
    wire::DoctorView,
};

mod hooks;

/// Check the store and state directory for problems
///
/// Exits 0 without findings and 1 with findings. --fix repairs what follows from other data: counts of open
/// dependencies, the history of claims, file modes, abandoned drafts.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    /// Repair findings where possible
    #[arg(long)]
    fix: bool,
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// What else is looked over.
#[derive(Debug, clap::Subcommand)]
enum Verb {
    Hooks(hooks::Args),
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self.verb {
            Some(Verb::Hooks(args)) => args.run(ctx),
            None => shown(ctx, &doctor::doctor(&ctx.app()?, self.fix)?),
        }
    }
}

/// Prints what was found; 1 when something is wrong.
fn shown(ctx: &Context, findings: &[Finding]) -> Result<Exit> {
    let view = DoctorView::from(findings);
    ctx.show(
        &view,
        || view.findings.iter().map(|one| one.code.to_owned()).collect(),
        || {
            let mut table = Table::new(&["severity", "code", "fix", "message"]);
            for one in &view.findings {
                table.row([one.severity, one.code, one.fix.as_deref().unwrap_or("-"), &one.message]);
            }
            table.render(ctx.out.width)
        },
    )?;
    Ok(u8::from(!finding::has_no_problems(findings)))
}
