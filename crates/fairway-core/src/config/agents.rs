//! The configuration of the boundary to agent runtimes: hooks, identity, and agents without a guard.

use std::time::Duration;

use super::section::{Form, section};
use super::values::{NonBlank, impl_word, reader};
use crate::domain::budget::{Amount, BudgetKind};
use crate::domain::string_enum::string_enum;
section! {
    /// The settings of hooks.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct HookSettings {
        /// How long a hook waits for `approvals answer` before the provider asks.
        pub approval_wait: Duration = "50s",
    }
}

section! {
    /// The settings of a runtime's identity.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct IdentitySettings {
        /// Shell command that prints a fresh identity as JSON before a credential expires; the session run is on stdin.
        #[sample("tools/credential.sh")]
        pub refresh: Option<String> as NonBlank,
    }
}

string_enum! {
    /// What becomes of a structured session whose agent is not in the mode in which it asks.
    Unguarded { Show => "show", Refuse => "refuse" }
}

impl_word!(Unguarded);

section! {
    /// The settings of agents.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct AgentSettings {
        /// How long after the end of its turn a session with an unfinished task needs you.
        pub unfinished_after: Duration = "2m",
        /// How long a turn may show nothing, while no tool and no job of it runs, before it needs you.
        pub silent_after: Duration = "10m",
        /// How often a session that stops is told in one claim what its task still needs, while it makes progress; 0 for never.
        #[env(FAIRWAY_AGENTS_CONTINUE)]
        pub r#continue: i64 as Reminders = 0,
        /// Whether a session goes on by itself when its usage limit, or the budget of the day, has passed: once, with its
        /// conversation. Set it to false to be there when it does.
        pub resume: bool = true,
        /// A structured session whose agent is not in the mode in which it asks: show (it runs, and is shown as not guarded) or
        /// refuse.
        pub unguarded: Unguarded = "show",
    }
}

section! {
    /// The settings of budgets, each a cap in tokens or in US dollars that agents report.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct BudgetSettings {
        /// The cap of a task, in tokens or in US dollars that agents report: its session is paused at the end of its turn.
        #[sample("5 USD")]
        pub task: Option<Amount> as Cap,
        /// The cap of a session.
        #[sample("2M tokens")]
        pub session: Option<Amount> as Cap,
        /// The cap of a day (UTC), over all sessions.
        #[sample("50 USD")]
        pub day: Option<Amount> as Cap,
    }
}

reader!(Cap(String) -> Option<Amount>; |text: &String| Amount::parse(text).map(Some); None);

impl BudgetSettings {
    pub const fn cap(&self, kind: BudgetKind) -> Option<Amount> {
        match kind {
            BudgetKind::Task => self.task,
            BudgetKind::Session => self.session,
            BudgetKind::Day => self.day,
        }
    }
}

/// A provider may let a hook continue a turn no more than eight times in a row.
const MAX_REMINDERS: u64 = 6;

reader! {
    Reminders(i64) -> i64, Form::Number { least: Some(0), most: Some(MAX_REMINDERS) };
    |times: &i64| match u64::try_from(*times) {
        Ok(0..=MAX_REMINDERS) => Ok(*times),
        _ => Err(format!("must be 0 to {MAX_REMINDERS}")),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Settings;

    #[test]
    fn agent_settings_have_defaults() {
        let usual = Settings::parse("").unwrap();
        assert_eq!(usual.hooks.approval_wait.as_secs(), 50);
    }
}
