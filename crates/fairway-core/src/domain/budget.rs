//! Budgets: caps on the tokens or the reported US dollars of a task, a session or a day.

use std::fmt;
use std::time::Duration;

use super::parking::{ParkingCause, ParkingKind};
use super::string_enum::string_enum;
use crate::env::Timestamp;

/// The percentage of a cap at which the session is told.
const NEAR_PERCENT: i64 = 80;
const NANO_DIGITS: usize = 9;
pub const DAY: Duration = Duration::from_secs(24 * 60 * 60);

string_enum! {
    /// The subject of a budget.
    BudgetKind { Task => "task", Session => "session", Day => "day" }
}

string_enum! {
    /// How much of a budget is used.
    BudgetState {
        Free => "free",
        /// At least 80 %.
        Near => "near",
        /// All of it: a session is paused at the end of its turn, and nothing starts.
        Spent => "spent",
        /// A cap in US dollars, and turns that tell no cost.
        CannotHold => "cannot_hold",
    }
}

/// An amount of tokens, or of billionths of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount {
    pub number: i64,
    pub is_money: bool,
}

impl Amount {
    /// Parses an amount above zero such as `5usd`, `0.50 USD` or `2M tokens`.
    pub fn parse(text: &str) -> Result<Self, String> {
        const UNITS: [(&str, usize); 4] = [("usd", NANO_DIGITS), ("m tokens", 6), ("k tokens", 3), ("tokens", 0)];
        let lower = text.trim().to_ascii_lowercase();
        let in_unit = |(unit, digits): &(&str, usize)| Some((lower.strip_suffix(unit)?.trim_end(), *digits));
        let (number, digits) = UNITS.iter().find_map(in_unit).unwrap_or_default();
        let number = scaled(number, digits).filter(|number| *number > 0).ok_or_else(|| {
            format!("'{}' is not an amount such as 5usd, '0.50 USD' or '2M tokens'", text.escape_debug())
        })?;
        Ok(Self { number, is_money: digits == NANO_DIGITS })
    }
}

/// A decimal number, multiplied by ten to the power of `digits`; `None` for one with more decimals.
fn scaled(text: &str, digits: usize) -> Option<i64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || decimals.len() > digits || !is_number(whole) || !is_number(decimals) {
        return None;
    }
    format!("{whole}{decimals:0<digits$}").parse().ok()
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, is_money } = *self;
        if is_money {
            let cents = number.saturating_add(5_000_000) / 10_000_000;
            write!(f, "{}.{:02} USD", cents / 100, cents % 100)
        } else if number % 1_000_000 == 0 && number > 0 {
            write!(f, "{}M tokens", number / 1_000_000)
        } else {
            write!(f, "{number} tokens")
        }
    }
}

/// The sums of turns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    pub tokens: i64,
    /// The known cost, in billionths of a US dollar.
    pub nano_usd: i64,
    pub turns: i64,
    pub turns_without_cost: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    pub kind: BudgetKind,
    /// The id of the task or session, or the date.
    pub of: String,
    pub cap: Amount,
    pub used: Used,
}

impl Budget {
    /// The used amount in the unit of the cap, as far as it is known.
    pub const fn used(&self) -> Amount {
        Amount { number: if self.cap.is_money { self.used.nano_usd } else { self.used.tokens }, ..self.cap }
    }

    /// The used share in percent.
    pub const fn percent(&self) -> i64 {
        self.used().number.saturating_mul(100) / self.cap.number
    }

    pub fn state(&self) -> BudgetState {
        let percent = self.percent();
        if percent >= 100 {
            BudgetState::Spent
        } else if self.cap.is_money && self.used.turns_without_cost > 0 {
            BudgetState::CannotHold
        } else if percent >= NEAR_PERCENT {
            BudgetState::Near
        } else {
            BudgetState::Free
        }
    }

    /// The subject: `T-1`, `s-1` or `the day`.
    pub fn subject(&self) -> &str {
        if self.kind == BudgetKind::Day { "the day" } else { &self.of }
    }

    /// The cause of the pause of a session.
    pub fn pause_cause(&self) -> ParkingCause {
        ParkingCause::new(ParkingKind::Budget, self.subject())
    }

    pub fn sentence(&self) -> String {
        let (subject, used, cap) = (self.subject(), self.used(), self.cap);
        match self.state() {
            BudgetState::CannotHold => {
                let (known, turns) = (self.used.turns - self.used.turns_without_cost, self.used.turns);
                format!(
                    "the budget of {subject} cannot hold: {known} of {turns} turns tell their cost, {used} of {cap}"
                )
            }
            _ => format!("{subject} has used {used} of {cap}"),
        }
    }

    /// The command that doubles the cap.
    pub fn raise(&self) -> String {
        let twice = Amount { number: self.cap.number.max(self.used().number).saturating_mul(2), ..self.cap };
        let of = if self.kind == BudgetKind::Day { BudgetKind::Day.as_str() } else { &self.of };
        format!("fairway budget raise {of} '{twice}' --reason TEXT")
    }
}

/// The subject of the budget of a day.
pub fn day(at: Timestamp) -> String {
    at.start_of_day().to_string().split('T').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_and_shown() {
        let shown = |text| Amount::parse(text).map(|amount| amount.to_string());
        for (text, expected) in [
            ("5usd", "5.00 USD"),
            ("0.505 USD", "0.51 USD"),
            ("2M tokens", "2M tokens"),
            ("1.5k tokens", "1500 tokens"),
        ] {
            assert_eq!(shown(text).as_deref(), Ok(expected), "{text}");
        }
        for bad in ["", "5", "usd", "0usd", "-1usd", "1.5 tokens", "1e3 tokens", "99999999999usd", "é usd"] {
            assert!(shown(bad).unwrap_err().starts_with(&format!("'{bad}' is not an amount")), "{bad}");
        }
    }

    #[test]
    fn budget_is_near_at_four_fifths_and_one_without_costs_cannot_hold() {
        let of = |cap: &str, tokens, nano_usd, turns_without_cost| {
            let used = Used { tokens, nano_usd, turns: 3, turns_without_cost };
            Budget { kind: BudgetKind::Task, of: "T-1".into(), cap: Amount::parse(cap).unwrap(), used }
        };
        for (tokens, state) in
            [(79, BudgetState::Free), (80, BudgetState::Near), (99, BudgetState::Near), (100, BudgetState::Spent)]
        {
            assert_eq!(of("100 tokens", tokens, 0, 3).state(), state, "{tokens}");
        }
        let half = of("1usd", 0, 500_000_000, 2);
        assert_eq!(half.state(), BudgetState::CannotHold);
        let told = "the budget of T-1 cannot hold: 1 of 3 turns tell their cost, 0.50 USD of 1.00 USD";
        assert_eq!(half.sentence(), told);
        // What is known is enough.
        let spent = of("1usd", 0, 1_200_000_000, 2);
        assert_eq!((spent.state(), &*spent.sentence()), (BudgetState::Spent, "T-1 has used 1.20 USD of 1.00 USD"));
        assert_eq!(spent.raise(), "fairway budget raise T-1 '2.40 USD' --reason TEXT");
    }
}
