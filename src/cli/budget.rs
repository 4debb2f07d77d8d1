//! `fairway budget …`

use anyhow::Result;
use clap::Subcommand;

use crate::cli::context::Context;
use crate::cli::exit::Exit;
use fairway_actions::sessions::budget;
use fairway_core::domain::budget::Amount;
use fairway_core::render::Table;
use fairway_core::wire::BudgetView;

/// Show what is used of each budget, and raise one
///
/// Of the caps in [budgets]: those of open tasks and live sessions that have used anything, and that of the day (UTC). At 80 %
/// the session is told, and an item appears. When all is used, it is paused at the end of its turn: prompts wait, tools are
/// denied, claim and conversation stay. A cap in USD counts the cost that agents report.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway budget
fairway budget raise T-1 5usd --reason 'nearly done'")]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum Verb {
    Raise(RaiseArgs),
}

/// Raise the budget of a task, a session or today
///
/// The sessions that it has paused go on. A person's command.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway budget raise T-1 5usd --reason 'nearly done'
fairway budget raise day '80 USD' --reason 'the release is tomorrow'")]
struct RaiseArgs {
    /// Task or session id, or day for today
    #[arg(value_name = "TASK|SESSION|day")]
    subject: String,
    /// New cap, such as 5usd or '2M tokens'
    #[arg(value_parser = Amount::parse)]
    amount: Amount,
    /// Reason, for the event log
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        if let Some(Verb::Raise(args)) = self.verb {
            return ctx.answer(&budget::raise(&app, &args.subject, args.amount, &args.reason)?);
        }
        let budgets: Vec<BudgetView> = budget::list(&app)?.iter().map(BudgetView::from).collect();
        ctx.show(
            &budgets,
            || budgets.iter().map(|one| one.of.clone()).collect(),
            || {
                let mut table = Table::new(&["budget", "of", "used", "cap", "share", "state", "costs known"]);
                for one in &budgets {
                    table.row([
                        one.kind.to_string(),
                        one.of.clone(),
                        one.used.clone(),
                        one.cap.clone(),
                        format!("{} %", one.percent),
                        one.state.as_str().replace('_', " "),
                        format!("{} of {} turns", one.turns - one.turns_without_cost, one.turns),
                    ]);
                }
                if table.is_empty() { "no budget has a subject yet\n".to_owned() } else { table.render(ctx.out.width) }
            },
        )
    }
}
