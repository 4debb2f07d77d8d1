//! The steps of the demo.

/// A bug: the total ignores the quantity.
pub(super) const CART: &str = "{ sum += $2 } END { print sum }\n";
/// The check of the task.
pub(super) const CHECK: &str = "\
total=$(printf 'pen 2 3\\nink 5 1\\n' | awk -f cart.awk)
test \"$total\" = 11 || { echo \"the total is $total, not 11\"; exit 1; }
echo \"the total is 11\"
";
/// The scripted agents.
pub(super) const AGENT: &str = include_str!("agent.sh");
pub(super) const DYING_AGENT: &str = include_str!("dying.sh");

/// A step.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// A sentence about the next commands.
    Say(&'static str),
    /// A command in the repository, shown as it is typed.
    Run(&'static str),
    /// Waits until a session's document holds this text.
    Until(&'static str, &'static str),
    /// Waits until a task's document holds this text.
    UntilTask(&'static str, &'static str),
    /// Kills the root process of a session.
    Kill(&'static str),
}

use Step::{Kill, Run, Say, Until, UntilTask};

pub(super) const STORY: &[Step] = &[
    Say("A repository with a bug: the total of a cart ignores the quantity. Fairway keeps its queue of tasks."),
    Run("fairway init"),
    Run("git add cart.awk check.sh .fairway.toml"),
    Run("git commit --quiet --message 'a shop'"),
    Say("Two tasks. The first has a check that it must pass; the second waits for the first."),
    Run("fairway task add 'Cart: the total ignores the quantity' --check 'total=sh check.sh'"),
    Run("fairway task add 'Cart: discount codes' --depends-on T-1"),
    Run("fairway ready"),
    Run("fairway ready --why"),
    Say("A lane: a branch and a worktree of its own for one stream of work."),
    Run("fairway lane add cart --role dev --create-worktree"),
    Say("An agent in the lane. Here it is a shell script; your agents run in tmux or another terminal."),
    Run("fairway session launch --lane cart --task T-1 --name ada --backend shell -- agent"),
    Until("ada", "\"status\":\"ended\""),
    Run("fairway session peek ada"),
    Say(
        "It has claimed the task, fixed the bug, committed and proved it. You look at the work, merge it and close the task.",
    ),
    Run("git --no-pager diff main lane/cart"),
    Run("fairway merge-ready T-1"),
    Run("git merge --quiet lane/cart"),
    Run("fairway done T-1 --force --reason 'reviewed and merged'"),
    Say("The second task is ready now. Its agent dies in the middle of the work."),
    Run("fairway session launch --lane cart --task T-2 --name bob --backend shell -- agent-that-dies"),
    UntilTask("T-2", "expiry dates"),
    Kill("bob"),
    Say("Nothing is lost: the task, its last checkpoint and the way on stand in the status."),
    Run("fairway status"),
];
