//! The known costs of today, kept up to date by the sessions that reported.

use anyhow::Result;

use fairway_core::domain::SessionId;
use fairway_core::domain::budget::DAY;
use fairway_core::env::Timestamp;
use fairway_core::store::ReadTx;
use fairway_core::store::usage::{self, KnownCost};
use fairway_core::wire::CostView;

/// The costs of the day, by session and lane.
#[derive(Debug, Clone, Default)]
pub(super) struct DayCosts {
    day: Option<Timestamp>,
    of: Vec<KnownCost>,
}

impl DayCosts {
    /// Reads the costs of these sessions again. Reads those of all sessions on a new day, and when `sessions` is `None`.
    pub(super) fn advance<'a>(
        &mut self,
        tx: &ReadTx<'_>,
        now: Timestamp,
        sessions: Option<impl Iterator<Item = &'a SessionId>>,
    ) -> Result<()> {
        let day = now.start_of_day();
        let Some(sessions) = sessions.filter(|_| self.day == Some(day)) else {
            *self = Self { day: Some(day), of: usage::known_costs(tx, day, None)? };
            return Ok(());
        };
        for session in sessions {
            self.of.retain(|cost| cost.session != session.as_str());
            self.of.extend(usage::known_costs(tx, day, Some(session))?);
        }
        Ok(())
    }

    /// The cost of today in a lane.
    pub(super) fn of_lane(&self, lane: &str) -> CostView {
        total(self.of.iter().filter(|cost| cost.lane.as_deref() == Some(lane)))
    }

    pub(super) fn all(&self) -> CostView {
        total(self.of.iter())
    }

    /// When the costs start at zero again; `None` when there are none.
    pub(super) fn end(&self) -> Option<Timestamp> {
        self.day.filter(|_| !self.of.is_empty()).map(|day| day.plus(DAY))
    }
}

#[expect(clippy::cast_precision_loss, reason = "a sum of dollars is shown with few digits")]
fn total<'a>(costs: impl Iterator<Item = &'a KnownCost> + Clone) -> CostView {
    let nano = costs.clone().filter_map(|cost| cost.nano_usd).reduce(i64::saturating_add);
    CostView {
        cost_usd: nano.map(|nano| nano as f64 / 1e9),
        turns_without_cost: costs.map(|cost| cost.turns_without_cost).sum(),
    }
}
