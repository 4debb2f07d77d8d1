//! The end of a command that wrote: a snapshot of the store, when one is due. The caller has its answer by then, and a failure is
//! none of the caller's, whose change is committed.

use std::{
    cell::{Cell, OnceCell},
    rc::Rc,
};

use crate::{
    config::Project,
    env::Timestamp,
    store::{
        Store,
        snapshots::{self, When},
    },
};

/// Makes the snapshot when it is dropped.
#[derive(Debug)]
pub(super) struct AfterWrite {
    project: Rc<Project>,
    store: Rc<OnceCell<Store>>,
    reused: Rc<OnceCell<Store>>,
    due: Cell<Option<(When, Timestamp)>>,
}

impl AfterWrite {
    /// For the store that is opened for writing, or one that was opened for reading and is reused.
    pub fn new(project: &Rc<Project>, store: &Rc<OnceCell<Store>>, reused: &Rc<OnceCell<Store>>) -> Rc<Self> {
        let (store, reused) = (Rc::clone(store), Rc::clone(reused));
        Rc::new(Self { project: Rc::clone(project), store, reused, due: Cell::new(None) })
    }

    /// Something was committed at this time.
    pub fn wrote(&self, at: Timestamp) {
        let when = self.due.get().map_or(When::Due, |(when, _)| when);
        self.due.set(Some((when, at)));
    }

    /// What was committed at this time should be in a snapshot at once.
    pub fn imported(&self, at: Timestamp) {
        self.due.set(Some((When::Changed, at)));
    }
}

impl Drop for AfterWrite {
    fn drop(&mut self) {
        let Some((when, at)) = self.due.get() else { return };
        let store = self.store.get().or_else(|| self.reused.get());
        if let (Some(outside), Some(store)) = (self.project.outside_dir(), store) {
            let _ = snapshots::make(store, &outside, at, when);
        }
    }
}
