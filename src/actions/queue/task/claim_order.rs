//! The order in which ready tasks are offered where `[overlap] claims` is `avoid`: within a priority, those whose paths no other
//! lane has changed come first. It is read from the store; no git runs inside a claim.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::{
    actions::App,
    config::ClaimOrder,
    domain::{LaneName, rules::globs, task::Task},
    store::{ReadTx, overlaps},
};

/// How many of the ready tasks are put in order.
pub(super) const MAX_ORDERED: usize = 64;

/// The paths that other lanes have changed.
#[derive(Debug, Default)]
pub(super) struct ChangedElsewhere {
    paths: BTreeSet<String>,
}

impl ChangedElsewhere {
    /// The changed paths of all lanes but `own`; `None` where the order is left alone.
    pub(super) fn read(app: &App, tx: &ReadTx<'_>, own: Option<&LaneName>) -> Result<Option<Self>> {
        if app.settings.overlap.claims != ClaimOrder::Avoid {
            return Ok(None);
        }
        let others = overlaps::snapshots(tx)?.into_iter().filter(|one| Some(&one.lane) != own);
        let paths: BTreeSet<String> = others.flat_map(|one| one.paths).map(|path| path.path).collect();
        Ok(Some(Self { paths }).filter(|found| !found.paths.is_empty()))
    }

    /// Puts tasks that are in the order of their priority in the order in which they are offered.
    pub(super) fn order(&self, tasks: &mut [Task]) {
        tasks.sort_by_cached_key(|task| (task.fields.priority, self.meets(task)));
    }

    fn meets(&self, task: &Task) -> bool {
        task.fields.paths.iter().any(|glob| {
            // Only what begins with the same words can fit.
            let fixed = glob.split(['*', '?', '[', '{', '\\']).next().unwrap_or_default();
            let candidates = self.paths.range(fixed.to_owned()..).take_while(|path| path.starts_with(fixed));
            candidates.into_iter().any(|path| globs::matches(glob, path))
        })
    }
}
