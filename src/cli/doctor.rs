//! `fairway doctor`

use anyhow::Result;

use super::{Context, Exit};
use crate::{actions::project::doctor, domain::finding, render::Table, wire::DoctorView};

/// Look over the store and the files around it, and say what is wrong
///
/// Exits 0 when nothing is wrong, and 1 when something is. --fix puts right what can be told from the rest: counts of open
/// dependencies, the history of claims, modes of files, drafts that nobody will finish.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Put right what can be told from the rest
    #[arg(long)]
    fix: bool,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let findings = doctor::doctor(&ctx.app()?, self.fix)?;
        let view = DoctorView::from(findings.as_slice());
        ctx.show(
            &view,
            || view.findings.iter().map(|one| one.code.to_owned()).collect(),
            || {
                let mut table = Table::new(&["severity", "code", "fix", "message"]);
                for one in &view.findings {
                    table.row([one.severity, one.code, one.fix.as_deref().unwrap_or("-"), &one.message]);
                }
                table.show(ctx.out.width)
            },
        )?;
        Ok(u8::from(!finding::all_well(&findings)))
    }
}
