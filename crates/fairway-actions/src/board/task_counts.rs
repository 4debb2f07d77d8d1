//! The numbers of tasks, kept up to date by the tasks that changed.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use anyhow::Result;

use super::changed_subjects::News;
use fairway_core::domain::TaskId;
use fairway_core::store::overview::{self, TaskCounts, TaskState};
use fairway_core::store::{ReadTx, tasks};

/// The counts, and the share of each task in them once a task has changed.
#[derive(Debug, Clone, Default)]
pub(super) struct KeptCounts {
    pub all: TaskCounts,
    states: Option<BTreeMap<String, TaskState>>,
}

impl KeptCounts {
    pub(super) fn advance(&mut self, tx: &ReadTx<'_>, news: &News) -> Result<()> {
        if news.everything {
            *self = Self { all: overview::counts(tx)?, states: None };
            return Ok(());
        }
        if news.tasks.is_empty() {
            return Ok(());
        }
        // A board that is composed once needs no states: they are read at the first change of a task.
        let Some(states) = &mut self.states else {
            let mut states = BTreeMap::new();
            self.all = TaskCounts::default();
            overview::for_each_state(tx, |id, state| {
                add(&mut self.all, state, 1);
                states.insert(id, state);
            })?;
            self.states = Some(states);
            return Ok(());
        };
        for task in &news.tasks {
            // When a task ends, the tasks that wait for it may become ready.
            let dependents = tasks::dependents(tx, task)?.into_iter().map(|(id, _)| id);
            for id in dependents.chain([task.clone()]) {
                refresh(tx, &id, &mut self.all, states)?;
            }
        }
        Ok(())
    }
}

fn refresh(tx: &ReadTx<'_>, id: &TaskId, all: &mut TaskCounts, states: &mut BTreeMap<String, TaskState>) -> Result<()> {
    let now = overview::state(tx, id)?;
    match (states.entry(id.to_string()), now) {
        (Entry::Occupied(before), None) => add(all, before.remove(), -1),
        (Entry::Occupied(mut before), Some(now)) => {
            add(all, before.insert(now), -1);
            add(all, now, 1);
        }
        (Entry::Vacant(place), Some(now)) => add(all, *place.insert(now), 1),
        (Entry::Vacant(_), None) => {}
    }
    Ok(())
}

fn add(all: &mut TaskCounts, state: TaskState, times: i64) {
    all.ready += state.ready * times;
    all.open += state.open * times;
    all.done += state.done * times;
}
