//! Findings as text or JSON.

use anyhow::Result;

use crate::{
    cli::{context::Context, exit::Exit},
    domain::finding::{self, Finding},
    render::Table,
    wire::DoctorView,
};

/// Prints the findings; exit 1 when one is a problem.
pub(super) fn print(ctx: &Context, findings: &[Finding]) -> Result<Exit> {
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
