//! Writing an import. One write of a large file to a server would hold up every other host, so it is split into steps, each
//! with its events. Everything is checked before the first step. Tasks that a step has written stay, and the same command imports
//! the rest. Until then an intent shows that the import is incomplete.
//!
//! A task whose dependency comes in a later step is not ready: a missing dependency counts as open.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::import_record::{BLOCKS, ImportedTask, PARENT};
use crate::core::errors::{self, ImportStopped};
use crate::core::lookup;
use crate::{Answer, App};
use fairway_core::domain::claim::{self, Claim};
use fairway_core::domain::rules::dependency_cycle;
use fairway_core::domain::task::{Task, TaskState, TaskStatus};
use fairway_core::domain::{Event, EventKind, LaneName, Refusal, TaskId};
use fairway_core::os::digest::sha256_hex;
use fairway_core::os::host;
use fairway_core::store::claims::{self, ClaimPlace};
use fairway_core::store::{ReadTx, WriteTx, events, idempotency_keys, lanes, tasks};
use fairway_core::wire::import::MissingDependencyView;

/// Other writers wait for the end of a step, so its size is limited.
const STEP_TASKS: usize = 2_000;
const STEP_BYTES: usize = 4 << 20;
/// The space makes the id of an intent different from every `--request-id`.
const INTENT_PREFIX: &str = "import ";
/// How many characters of the file's digest are part of an intent's id.
const DIGEST_CHARS: usize = 32;

/// The data of a running import. Stored as JSON in its intent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportIntent {
    /// How many tasks the import adds.
    pub tasks: usize,
    /// The name of the host that began the import.
    pub host: String,
}

impl ImportIntent {
    /// Parses the intent of an import; `None` for any other request id.
    pub fn parse(id: &str, text: &str) -> Option<Self> {
        id.strip_prefix(INTENT_PREFIX).and_then(|_| serde_json::from_str(text).ok())
    }
}

/// The id of the intent for a file with this text.
pub(super) fn intent_of(text: &str) -> String {
    format!("{INTENT_PREFIX}{}", sha256_hex(text.as_bytes()).get(..DIGEST_CHARS).unwrap_or_default())
}

/// Records that an import of so many tasks has begun.
fn begin(tx: &WriteTx<'_>, intent: &str, tasks: usize) -> Result<()> {
    let facts = ImportIntent { tasks, host: host::name() };
    let text = serde_json::to_string(&facts).map_err(errors::internal)?;
    idempotency_keys::delete_open(tx, intent)?;
    idempotency_keys::upsert(tx, intent, &text, None)?;
    Ok(())
}

/// Records that the import of a file is complete, by deleting its intent.
pub(super) fn complete(tx: &WriteTx<'_>, intent: &str) -> Result<()> {
    Ok(idempotency_keys::delete_open(tx, intent)?)
}

/// How many of the tasks fit into one step; at least one.
pub(super) fn step_len<'f>(tasks: impl IntoIterator<Item = &'f ImportedTask>) -> usize {
    let (mut len, mut bytes) = (0, 0);
    for one in tasks {
        bytes += one.task.fields.title.len() + one.task.fields.body.len();
        if len == STEP_TASKS || (len > 0 && bytes > STEP_BYTES) {
            break;
        }
        len += 1;
    }
    len
}

/// The lanes that tasks name and that are not here.
pub(super) fn unknown_lanes<'a>(
    tx: &ReadTx<'_>,
    incoming: impl Iterator<Item = &'a ImportedTask>,
) -> Result<BTreeSet<LaneName>> {
    let mut named: BTreeSet<LaneName> = incoming.filter_map(|one| one.task.fields.lane.clone()).collect();
    if !named.is_empty() {
        for lane in lanes::all(tx)? {
            named.remove(&lane.name);
        }
    }
    Ok(named)
}

/// Refuses tasks whose lane has gone since the file was read.
fn check_lanes<'a>(tx: &ReadTx<'_>, incoming: impl Iterator<Item = &'a ImportedTask>) -> Result<()> {
    let ids: Vec<String> = unknown_lanes(tx, incoming)?.iter().map(LaneName::to_string).collect();
    if ids.is_empty() { Ok(()) } else { Err(Refusal::NoneFound { noun: "lane", ids }.into()) }
}

pub(super) fn insert(tx: &WriteTx<'_>, fresh: &[&ImportedTask]) -> Result<()> {
    tasks::insert_all(tx, &fresh.iter().map(|one| &one.task).collect::<Vec<_>>())?;
    let event = |one: &&ImportedTask| {
        Event::new(EventKind::TaskImported)
            .task(&one.task.id)
            .lane(one.task.fields.lane.as_ref())
            .with("title", one.task.fields.title.as_str())
            .with("priority", i64::from(one.task.fields.priority))
            .with("status", one.task.state.status().as_str())
            .with("was", one.original_status.as_str())
            .with("close_reason", one.close_reason.as_deref())
    };
    tx.record_all(&fresh.iter().map(event).collect::<Vec<_>>())?;
    fresh.iter().try_for_each(|one| one.blocked.as_ref().map_or(Ok(()), |reason| block(tx, &one.task.id, reason)))
}

/// Blocks a task that was just imported, by a claim of the import, which no session and no person holds.
fn block(tx: &WriteTx<'_>, id: &TaskId, reason: &str) -> Result<()> {
    let task = lookup::task(tx, id)?;
    let epoch = task.epoch.saturating_add(1);
    let claim = Claim {
        claimant: claim::IMPORT.to_owned(),
        session: None,
        role: None,
        epoch,
        claimed_at: tx.now(),
        lease_until: None,
        lease: None,
    };
    claims::insert(tx, id, &claim, &ClaimPlace::default())?;
    tasks::set_state(tx, &task, &TaskState::Blocked(claim, reason.to_owned()))?;
    let lane = task.fields.lane.as_ref();
    tx.record_all(&[
        Event::new(EventKind::TaskClaimed)
            .task(id)
            .lane(lane)
            .with("epoch", epoch)
            .with("claimant", claim::IMPORT)
            .with("role", None::<&str>)
            .with("takeover", "fresh"),
        Event::new(EventKind::TaskBlocked)
            .task(id)
            .lane(lane)
            .with("from", TaskStatus::InProgress.as_str())
            .with("to", TaskStatus::Blocked.as_str())
            .with("epoch", epoch)
            .with("reason", reason),
    ])?;
    Ok(())
}

/// An import that is being written step by step.
pub(super) struct Steps<'p, 'f> {
    fresh: &'p [&'f ImportedTask],
    links: &'p Links<'f>,
    /// The newest event that was taken into account.
    seen: i64,
    /// The tasks that other hosts have added since the import began.
    taken: BTreeSet<TaskId>,
}

impl<'p, 'f> Steps<'p, 'f> {
    /// Writes the tasks of a plan. `seen` is the newest event at the time of the plan; `answer` is called with the ids of the
    /// tasks that others have added since. When a step fails, the tasks of earlier steps stay. Fails with `cycle` and
    /// `not_found` when others have changed the store since the plan.
    pub(super) fn write(
        app: &App,
        path: &Path,
        fresh: &'p [&'f ImportedTask],
        links: &'p Links<'f>,
        intent: &str,
        seen: i64,
        answer: impl FnOnce(&BTreeSet<TaskId>) -> Result<Answer>,
    ) -> Result<Answer> {
        let mut steps = Self { fresh, links, seen, taken: BTreeSet::new() };
        let mut written = 0;
        loop {
            let rest = fresh.get(written..).unwrap_or_default();
            let end = written + step_len(rest.iter().copied());
            let stopped = |error: anyhow::Error| match written {
                0 => error,
                written => error.context(ImportStopped { written, all: fresh.len(), path: path.to_owned() }),
            };
            if end == fresh.len() {
                let last = app.mutate(|tx| {
                    steps.step(tx, rest)?;
                    complete(tx, intent)?;
                    answer(&steps.taken)
                });
                return last.map_err(stopped);
            }
            let step = fresh.get(written..end).unwrap_or_default();
            let is_first = written == 0;
            let written_now = app.mutate_step(|tx| {
                if is_first {
                    begin(tx, intent, fresh.len())?;
                }
                steps.step(tx, step)
            });
            written_now.map_err(stopped)?;
            written = end;
        }
    }

    fn step(&mut self, tx: &WriteTx<'_>, step: &[&'f ImportedTask]) -> Result<()> {
        self.look(tx)?;
        let step: Vec<_> = step.iter().copied().filter(|one| !self.taken.contains(&one.task.id)).collect();
        insert(tx, &step)?;
        self.seen = events::last_seq(tx)?;
        Ok(())
    }

    /// Takes into account the changes of others since the plan or the previous step.
    fn look(&mut self, tx: &ReadTx<'_>) -> Result<()> {
        let mut changed = BTreeSet::new();
        for event in events::subjects_since(tx, self.seen, i64::MAX)? {
            match EventKind::parse(&event.kind) {
                Some(
                    EventKind::TaskAdded | EventKind::TaskImported | EventKind::TaskEdited | EventKind::TaskDepAdded,
                ) => changed.extend(event.task.and_then(|id| TaskId::parse(&id).ok())),
                Some(EventKind::LaneRemoved) => check_lanes(tx, self.fresh.iter().copied())?,
                _ => {}
            }
        }
        // An id that exists now was unused when the plan was made.
        self.taken.extend(changed.iter().filter(|id| self.links.is_incoming(id)).cloned());
        self.links.check_cycles(tx, &changed, &changed)
    }
}

/// The links between the imported tasks and those in the store. They are kept in memory, because a large file has many.
#[derive(Debug, Default)]
pub(super) struct Links<'f> {
    /// The tasks that the import adds.
    incoming: BTreeMap<&'f TaskId, &'f ImportedTask>,
    /// The tasks of the file that exist already, with their dependencies and their parent.
    existing: BTreeMap<TaskId, (Vec<TaskId>, Option<TaskId>)>,
    /// The tasks that incoming ones refer to and that exist neither in the file nor in the store.
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

    /// Looks up which tasks that the file refers to, but does not contain, are missing from the store too, and keeps their
    /// ids.
    pub(super) fn find_absent(&mut self, tx: &ReadTx<'_>) -> Result<()> {
        let is_known = |id: &TaskId| self.incoming.contains_key(id) || self.existing.contains_key(id);
        let targets = self.incoming.values().flat_map(|one| targets(one)).map(|(id, _)| id);
        let outside: BTreeSet<&TaskId> = targets.filter(|id| !is_known(id)).collect();
        let outside: Vec<&TaskId> = outside.into_iter().collect();
        let there = tasks::existing(tx, &outside)?;
        self.absent = outside.into_iter().filter(|id| !there.contains(*id)).cloned().collect();
        Ok(())
    }

    /// The links of an incoming task to tasks that exist neither in the file nor in the store.
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

    /// Refuses a cycle that can be reached from one of the tasks `starts`. Existing tasks may be part of the cycle, because
    /// they may depend on a task of the file. The links of `changed` are read from the store again. Fails with `cycle`.
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
        let circle = match dependency_cycle::find(starts.clone(), dependencies)? {
            None => dependency_cycle::find(starts, up)?,
            circle => circle,
        };
        circle.map_or(Ok(()), |path| Err(Refusal::Cycle { path }.into()))
    }
}

fn targets(one: &ImportedTask) -> impl Iterator<Item = (&TaskId, &'static str)> {
    let fields = &one.task.fields;
    fields.depends_on.iter().map(|on| (on, BLOCKS)).chain(fields.parent.iter().map(|up| (up, PARENT)))
}
