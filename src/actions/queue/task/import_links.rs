//! The links between the tasks of an import and those that the store has.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use super::import_record::{BLOCKS, ImportedTask, PARENT};
use crate::{
    domain::{Refusal, TaskId, rules::cycle, task::Task},
    store::{ReadTx, tasks},
    wire::import::MissingDependencyView,
};

/// The links of tasks, as far as they are known without a question to the store: a large file has many.
#[derive(Debug, Default)]
pub(super) struct Links<'f> {
    /// The tasks that the import adds.
    incoming: BTreeMap<&'f TaskId, &'f ImportedTask>,
    /// The tasks of the file that are there already, with what they depend on and their parents.
    existing: BTreeMap<TaskId, (Vec<TaskId>, Option<TaskId>)>,
    /// The tasks that the incoming ones name and that are neither in the file nor in the store.
    absent: BTreeSet<TaskId>,
}

impl<'f> Links<'f> {
    pub(super) fn add_existing(&mut self, task: Task) {
        self.existing.insert(task.id, (task.fields.depends_on, task.fields.parent));
    }

    pub(super) fn add_incoming(&mut self, one: &'f ImportedTask) {
        self.incoming.insert(&one.task.id, one);
    }

    pub(super) fn is_incoming(&self, id: &TaskId) -> bool {
        self.incoming.contains_key(id)
    }

    /// Asks which of the tasks outside of the file there are.
    pub(super) fn find_absent(&mut self, tx: &ReadTx<'_>) -> Result<()> {
        let is_known = |id: &TaskId| self.incoming.contains_key(id) || self.existing.contains_key(id);
        let targets = self.incoming.values().flat_map(|one| targets(one)).map(|(id, _)| id);
        let outside: BTreeSet<&TaskId> = targets.filter(|id| !is_known(id)).collect();
        let outside: Vec<&TaskId> = outside.into_iter().collect();
        let there = tasks::existing(tx, &outside)?;
        self.absent = outside.into_iter().filter(|id| !there.contains(*id)).cloned().collect();
        Ok(())
    }

    /// The links of an incoming task that lead nowhere.
    pub(super) fn absent_of(&self, one: &ImportedTask) -> Vec<MissingDependencyView> {
        let missing = targets(one).filter(|(id, _)| self.absent.contains(*id));
        missing
            .map(|(id, kind)| MissingDependencyView {
                task_id: one.task.id.to_string(),
                depends_on: id.to_string(),
                kind,
            })
            .collect()
    }

    /// Refuses a cycle that can be reached from one of these tasks. It may include existing tasks: they may depend on a task that
    /// the import adds. The links of `changed` are read anew.
    ///
    /// # Errors
    /// `cycle`; as the store fails.
    pub(super) fn check_cycles<'a>(
        &self,
        tx: &ReadTx<'_>,
        starts: impl IntoIterator<Item = &'a TaskId> + Clone,
        changed: &BTreeSet<TaskId>,
    ) -> Result<()> {
        let dependencies = |task: &TaskId| -> Result<Vec<TaskId>> {
            match (self.incoming.get(task), self.existing.get(task)) {
                _ if changed.contains(task) => Ok(tasks::dependencies(tx, task)?),
                (Some(one), _) => Ok(one.task.fields.depends_on.clone()),
                (None, Some((dependencies, _))) => Ok(dependencies.clone()),
                (None, None) if self.absent.contains(task) => Ok(Vec::new()),
                (None, None) => Ok(tasks::dependencies(tx, task)?),
            }
        };
        let up = |task: &TaskId| -> Result<Vec<TaskId>> {
            match (self.incoming.get(task), self.existing.get(task)) {
                _ if changed.contains(task) => Ok(tasks::parent(tx, task)?.into_iter().collect()),
                (Some(one), _) => Ok(one.task.fields.parent.iter().cloned().collect()),
                (None, Some((_, parent))) => Ok(parent.iter().cloned().collect()),
                (None, None) if self.absent.contains(task) => Ok(Vec::new()),
                (None, None) => Ok(tasks::parent(tx, task)?.into_iter().collect()),
            }
        };
        let circle = match cycle::find(starts.clone(), dependencies)? {
            None => cycle::find(starts, up)?,
            circle => circle,
        };
        circle.map_or(Ok(()), |path| Err(Refusal::Cycle { path }.into()))
    }
}

fn targets(one: &ImportedTask) -> impl Iterator<Item = (&TaskId, &'static str)> {
    let fields = &one.task.fields;
    fields.depends_on.iter().map(|on| (on, BLOCKS)).chain(fields.parent.iter().map(|up| (up, PARENT)))
}
