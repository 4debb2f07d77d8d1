//! Whose identity is known.

use std::{collections::BTreeMap, rc::Rc};

use tokio::{sync::watch, task::JoinHandle};

use super::credentials::Identity;

/// Everybody's.
#[derive(Debug)]
pub(crate) struct IdentityStore {
    by_run: BTreeMap<String, StoredIdentity>,
    /// Changes whenever one does.
    changes: watch::Sender<u64>,
}

#[derive(Debug)]
struct StoredIdentity {
    identity: Rc<Identity>,
    /// How many there were before it, of all.
    version: u64,
    /// Until when its credential is near its end, and what happens then.
    expiry_task: Option<JoinHandle<()>>,
    /// Whether it is near its end.
    expiring: bool,
}

/// One run's, as a stream looks at it.
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
    /// Learns one; the one before is forgotten. Says whether there was one.
    pub(crate) fn insert(&mut self, run: &str, identity: Identity) -> bool {
        let version = *self.changes.borrow() + 1;
        let kept = StoredIdentity { identity: Rc::new(identity), version, expiry_task: None, expiring: false };
        let rotated = self.by_run.insert(run.to_owned(), kept).is_some();
        self.changes.send_replace(version);
        rotated
    }

    /// Whoever watches for the end of this run's credential.
    pub(crate) fn set_expiry_task(&mut self, run: &str, watch: JoinHandle<()>) {
        match self.by_run.get_mut(run) {
            Some(kept) => kept.expiry_task = Some(watch),
            None => watch.abort(),
        }
    }

    /// This run's credential is near its end, if it still is this one.
    pub(crate) fn mark_expiring(&mut self, run: &str, version: u64) -> bool {
        let Some(kept) = self.by_run.get_mut(run).filter(|kept| kept.version == version) else { return false };
        kept.expiring = true;
        self.changes.send_modify(|count| *count += 1);
        true
    }

    /// One run's.
    pub(crate) fn get(&self, run: &str) -> Option<IdentitySnapshot> {
        let kept = self.by_run.get(run)?;
        Some(IdentitySnapshot { identity: Rc::clone(&kept.identity), version: kept.version, expiring: kept.expiring })
    }

    /// Forgets those of runs that are over.
    pub(crate) fn remove_ended(&mut self, is_over: impl Fn(&str) -> bool) {
        self.by_run.retain(|run, _| !is_over(run));
    }

    /// Whether none is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_run.is_empty()
    }

    /// Who is told of changes.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

impl Drop for StoredIdentity {
    fn drop(&mut self) {
        if let Some(watch) = &self.expiry_task {
            watch.abort();
        }
    }
}
