//! Whose identity is known.

use std::{collections::BTreeMap, rc::Rc};

use tokio::{sync::watch, task::JoinHandle};

use super::Identity;

/// Everybody's.
#[derive(Debug)]
pub(crate) struct Keeper {
    known: BTreeMap<String, Kept>,
    /// Changes whenever one does.
    changes: watch::Sender<u64>,
}

#[derive(Debug)]
struct Kept {
    identity: Rc<Identity>,
    /// How many there were before it, of all.
    version: u64,
    /// Until when its credential is near its end, and what happens then.
    watch: Option<JoinHandle<()>>,
    /// Whether it is near its end.
    expiring: bool,
}

/// One run's, as a stream looks at it.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) identity: Rc<Identity>,
    pub(crate) version: u64,
    pub(crate) expiring: bool,
}

impl Default for Keeper {
    fn default() -> Self {
        Self { known: BTreeMap::new(), changes: watch::Sender::new(0) }
    }
}

impl Keeper {
    /// Learns one; the one before is forgotten. Says whether there was one.
    pub(crate) fn learn(&mut self, run: &str, identity: Identity) -> bool {
        let version = *self.changes.borrow() + 1;
        let kept = Kept { identity: Rc::new(identity), version, watch: None, expiring: false };
        let rotated = self.known.insert(run.to_owned(), kept).is_some();
        self.changes.send_replace(version);
        rotated
    }

    /// Whoever watches for the end of this run's credential.
    pub(crate) fn watched_by(&mut self, run: &str, watch: JoinHandle<()>) {
        match self.known.get_mut(run) {
            Some(kept) => kept.watch = Some(watch),
            None => watch.abort(),
        }
    }

    /// This run's credential is near its end, if it still is this one.
    pub(crate) fn expires(&mut self, run: &str, version: u64) -> bool {
        let Some(kept) = self.known.get_mut(run).filter(|kept| kept.version == version) else { return false };
        kept.expiring = true;
        self.changes.send_modify(|count| *count += 1);
        true
    }

    /// One run's.
    pub(crate) fn find(&self, run: &str) -> Option<Known> {
        let kept = self.known.get(run)?;
        Some(Known { identity: Rc::clone(&kept.identity), version: kept.version, expiring: kept.expiring })
    }

    /// Forgets those of runs that are over.
    pub(crate) fn forget(&mut self, is_over: impl Fn(&str) -> bool) {
        self.known.retain(|run, _| !is_over(run));
    }

    /// Whether none is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Who is told of changes.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(watch) = &self.watch {
            watch.abort();
        }
    }
}
