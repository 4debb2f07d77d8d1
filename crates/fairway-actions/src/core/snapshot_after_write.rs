//! Makes a snapshot of the store at the end of a command that wrote, when one is due. A failure does not fail the command, whose
//! change is committed.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;

use fairway_core::config::Project;
use fairway_core::env::Timestamp;
use fairway_core::store::Store;
use fairway_core::store::snapshots::{self, When};

/// Makes a snapshot of the store, if one is due, when it is dropped at the end of a command.
#[derive(Debug)]
pub(super) struct AfterWrite {
    project: Rc<Project>,
    store: Rc<OnceCell<Store>>,
    reused: Rc<OnceCell<Store>>,
    due: Cell<Option<(When, Timestamp)>>,
}

impl AfterWrite {
    /// `store` becomes the store that is opened for writing, and `reused` the one that is opened for reading, through which a
    /// command may write too. Both may still be empty.
    pub fn new(project: &Rc<Project>, store: &Rc<OnceCell<Store>>, reused: &Rc<OnceCell<Store>>) -> Rc<Self> {
        let (store, reused) = (Rc::clone(store), Rc::clone(reused));
        Rc::new(Self { project: Rc::clone(project), store, reused, due: Cell::new(None) })
    }

    /// Notes that a change was committed at the time `at`.
    pub fn wrote(&self, at: Timestamp) {
        let when = self.due.get().map_or(When::Due, |(when, _)| when);
        self.due.set(Some((when, at)));
    }

    /// Notes that an import was committed at the time `at`: its snapshot is made even if none is due yet.
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
