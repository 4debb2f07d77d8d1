//! The steps of the demo: the day of `docs/getting-started.md`, in the same order.

/// A bug: the total ignores the quantity.
pub(super) const CART: &str = "{ sum += $2 } END { print sum }\n";
/// The check of the first task.
pub(super) const CHECK: &str = "\
total=$(printf 'pen 2 3\\nink 5 1\\n' | awk -f cart.awk)
test \"${total%% *}\" = 11 || { echo \"the total is $total, not 11\"; exit 1; }
echo \"the total is $total\"
";
/// The scripted agents, by the names of the programs that they play.
pub(super) const AGENTS: [(&str, &str); 2] = [
    ("claude", include_str!("../../../examples/quickstart/claude.sh")),
    ("codex", include_str!("../../../examples/quickstart/codex.sh")),
];

/// A step.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// A sentence about the next commands.
    Say(&'static str),
    /// A command in the repository, shown as it is typed.
    Run(&'static str),
    /// Repeats a command, unseen, until its output has this text.
    Until(&'static str, &'static str),
}

use Step::{Run, Say, Until};

const SUBMITTED: &str = "\"status\":\"review\"";

pub(super) const STORY: &[Step] = &[
    Say("A shop with a bug. Its two agents are scripts that play claude and codex."),
    Run("fairway setup --yes --quiet"),
    Run("git add ."),
    Run("git commit --quiet --message 'a shop'"),
    Run("fairway add 'Cart: the total ignores the quantity' --check 'total=sh check.sh'"),
    Run("fairway start T-1 --provider claude --quiet"),
    Until("fairway approvals list", "git commit"),
    Run("fairway start 'Cart: name the currency' --provider codex --quiet"),
    Until("fairway status --json", "question:T-2-codex:"),
    Say("Each agent works on a branch of its own. What waits for you is one list."),
    Run("fairway status"),
    Run("fairway approvals answer 1 allow"),
    Run("fairway answer question:T-2-codex:c3 EUR"),
    Until("fairway task show T-1 --json", SUBMITTED),
    Until("fairway task show T-2 --json", SUBMITTED),
    Run("fairway guard log --denied"),
    Say("Claude has committed; its force push was denied. You look at its work, and send it back."),
    Run("fairway diff T-1"),
    Run("fairway changes T-1 'an empty cart must have the total 0'"),
    Until("fairway task show T-1 --json", SUBMITTED),
    Say("It has mended that. Codex has changed the same line: it hears of it, and mends its own work."),
    Run("fairway approve T-1"),
    Run("fairway land T-1"),
];
