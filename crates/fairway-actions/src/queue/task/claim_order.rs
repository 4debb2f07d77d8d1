//! The order in which a claim without an id considers tasks.

use anyhow::Result;

use crate::App;
use fairway_core::domain::LaneName;
use fairway_core::domain::task::Task;
use fairway_core::store::tasks::{self, ReadyRole, ReadyScope};
use fairway_core::store::{ReadTx, WriteTx};

/// The lanes whose tasks a claim without an id may claim.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LaneScope {
    /// The lanes that the setting `[claims] own_lane_only` names.
    #[default]
    Configured,
    /// The claimant's lane only.
    Own,
    /// The claimant's lane, then no lane, then every other lane.
    Any,
}

/// The ready tasks that a claim without an id may take: those of these lanes, in this order, that fit the role.
pub(super) struct Candidates<'a> {
    lanes: Vec<ReadyScope<'a>>,
    role: ReadyRole<'a>,
}

impl<'a> Candidates<'a> {
    pub(super) fn new(app: &App, own: Option<&'a LaneName>, scope: LaneScope, role: ReadyRole<'a>) -> Self {
        let is_own_only =
            scope == LaneScope::Own || (scope == LaneScope::Configured && app.settings.claims.own_lane_only);
        let lanes = match own {
            None => vec![ReadyScope::Everywhere],
            Some(own) if is_own_only => vec![ReadyScope::In(own)],
            Some(own) if scope == LaneScope::Any => {
                vec![ReadyScope::In(own), ReadyScope::WithoutLane, ReadyScope::Elsewhere(own)]
            }
            Some(own) => vec![ReadyScope::In(own), ReadyScope::WithoutLane],
        };
        Self { lanes, role }
    }

    pub(super) fn includes_lane(&self, lane: Option<&LaneName>) -> bool {
        self.lanes.iter().any(|scope| scope.contains(lane))
    }

    /// Whether there is a candidate. The rules for a claim may exclude it.
    pub(super) fn exist(&self, tx: &ReadTx<'_>) -> Result<bool> {
        for scope in &self.lanes {
            if tasks::has_ready_in(tx, *scope, self.role)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Passes the candidates to `wants_more` until it returns false; then those whose lease has expired.
    pub(super) fn for_each(&self, tx: &WriteTx<'_>, mut wants_more: impl FnMut(Task) -> bool) -> Result<()> {
        for scope in &self.lanes {
            let mut goes_on = true;
            tasks::for_each_ready_in(tx, *scope, self.role, |task| {
                goes_on = wants_more(task);
                Ok(goes_on)
            })?;
            if !goes_on {
                return Ok(());
            }
        }
        tasks::expired(tx, tx.now())?.into_iter().all(wants_more);
        Ok(())
    }
}
