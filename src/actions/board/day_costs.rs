//! The known costs of today, kept up to date by the sessions that reported.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Result;

use crate::{
    domain::SessionId,
    env::Timestamp,
    store::{ReadTx, usage},
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Costs in billionths of a US dollar, by session and lane.
#[derive(Debug, Clone, Default)]
pub(super) struct DayCosts {
    day: Option<Timestamp>,
    of: BTreeMap<(String, Option<String>), i64>,
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
            *self = Self { day: Some(day), of: BTreeMap::new() };
            self.add(usage::known_costs(tx, day, None)?);
            return Ok(());
        };
        for session in sessions {
            self.of.retain(|(id, _), _| id != session.as_str());
            self.add(usage::known_costs(tx, day, Some(session))?);
        }
        Ok(())
    }

    fn add(&mut self, costs: Vec<usage::KnownCost>) {
        self.of.extend(costs.into_iter().map(|cost| ((cost.session, cost.lane), cost.nano_usd)));
    }

    /// The costs of today in a lane, in US dollars; `None` when none are known.
    pub(super) fn of_lane(&self, lane: &str) -> Option<f64> {
        dollars(self.of.iter().filter(|((_, of), _)| of.as_deref() == Some(lane)).map(|(_, nano)| *nano))
    }

    pub(super) fn all(&self) -> Option<f64> {
        dollars(self.of.values().copied())
    }

    /// When the costs start at zero again; `None` when there are none.
    pub(super) fn end(&self) -> Option<Timestamp> {
        self.day.filter(|_| !self.of.is_empty()).map(|day| day.plus(DAY))
    }
}

#[expect(clippy::cast_precision_loss, reason = "a sum of dollars is shown with few digits")]
fn dollars(costs: impl Iterator<Item = i64>) -> Option<f64> {
    costs.reduce(i64::saturating_add).map(|nano| nano as f64 / 1e9)
}
