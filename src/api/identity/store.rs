//! The identities that the server knows, by session run.

use std::{collections::BTreeMap, rc::Rc};

use tokio::{sync::watch, task::JoinHandle};

use super::credentials::Identity;
use crate::domain::RunId;

/// All known identities.
#[derive(Debug)]
pub(crate) struct IdentityStore {
    by_run: BTreeMap<RunId, StoredIdentity>,
    /// The number of changes, and the wake-up for streams.
    changes: watch::Sender<u64>,
}

#[derive(Debug)]
struct StoredIdentity {
    identity: Rc<Identity>,
    /// The value of `changes` when it was stored: unique per identity.
    version: u64,
    /// Waits until the credential is about to expire, then refreshes it.
    expiry_task: Option<JoinHandle<()>>,
    /// Whether the credential is about to expire.
    expiring: bool,
}

/// The identity of one session run at a point in time.
#[derive(Debug)]
pub(crate) struct IdentitySnapshot {
    pub(crate) identity: Rc<Identity>,
    pub(crate) version: u64,
    pub(crate) expiring: bool,
}

impl Default for IdentityStore {
    fn default() -> Self {
        Self { by_run: BTreeMap::new(), changes: watch::Sender::new(0) }
    }
}

impl IdentityStore {
    /// Stores an identity in place of the previous one. True when there was one.
    pub(crate) fn insert(&mut self, run: &RunId, identity: Identity) -> bool {
        let version = *self.changes.borrow() + 1;
        let stored = StoredIdentity { identity: Rc::new(identity), version, expiry_task: None, expiring: false };
        let rotated = self.by_run.insert(run.clone(), stored).is_some();
        self.changes.send_replace(version);
        rotated
    }

    /// Sets the task that waits for the credential's expiry.
    pub(crate) fn set_expiry_task(&mut self, run: &RunId, task: JoinHandle<()>) {
        match self.by_run.get_mut(run) {
            Some(stored) => stored.expiry_task = Some(task),
            None => task.abort(),
        }
    }

    /// Marks the credential as about to expire. False when a newer identity has replaced this version.
    pub(crate) fn mark_expiring(&mut self, run: &RunId, version: u64) -> bool {
        let Some(stored) = self.by_run.get_mut(run).filter(|stored| stored.version == version) else { return false };
        stored.expiring = true;
        self.changes.send_modify(|count| *count += 1);
        true
    }

    /// The identity of a session run.
    pub(crate) fn get(&self, run: &RunId) -> Option<IdentitySnapshot> {
        let stored = self.by_run.get(run)?;
        Some(IdentitySnapshot {
            identity: Rc::clone(&stored.identity),
            version: stored.version,
            expiring: stored.expiring,
        })
    }

    /// Removes the identities of ended session runs.
    pub(crate) fn remove_ended(&mut self, has_ended: impl Fn(&RunId) -> bool) {
        self.by_run.retain(|run, _| !has_ended(run));
    }

    /// Whether no identity is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_run.is_empty()
    }

    /// A receiver that is woken by every change.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

impl Drop for StoredIdentity {
    fn drop(&mut self) {
        if let Some(task) = &self.expiry_task {
            task.abort();
        }
    }
}
