//! The board, updated by what has changed since the last time.

use std::collections::BTreeSet;
use std::os::fd::BorrowedFd;
use std::rc::Rc;

use anyhow::Result;

use super::changed_subjects::News;
use super::facts::Facts;
use super::watched_processes::{WatchedProcess, Watches};
use super::{silent_hosts, view};
use crate::App;
use crate::core::check_slot;
use crate::land::shared_base::BaseAnswers;
use crate::queue::lane::setup;
use crate::sessions::liveness::silence;
use crate::sessions::resumption;
use fairway_core::config::Settings;
use fairway_core::env::Timestamp;
use fairway_core::wire::BoardView;

/// The facts behind the last board. The next board reads only what has changed since, so its cost does not grow with the history
/// of the store.
#[derive(Debug, Default)]
pub struct BoardCache {
    kept: Option<Kept>,
    watches: Watches,
    next_change: Option<Timestamp>,
}

#[derive(Debug)]
struct Kept {
    facts: Facts,
    settings: Rc<Settings>,
}

impl BoardCache {
    /// A cache for a board that is composed repeatedly. It watches the processes of sessions.
    pub fn new() -> Self {
        Self { watches: Watches::on(), ..Self::default() }
    }

    /// Composes the board as it is now. `hook_providers` are the labels of the providers whose agents call hooks. After an
    /// error the next board is composed from scratch.
    pub fn compose(&mut self, app: &App, hook_providers: &[&str]) -> Result<BoardView> {
        // A changed setting may change any item.
        let kept = self.kept.take().filter(|kept| Rc::ptr_eq(&kept.settings, &app.settings));
        let (mut facts, seq) = match kept {
            Some(kept) => {
                let seq = kept.facts.seq;
                (kept.facts, Some(seq))
            }
            None => (Facts::default(), None),
        };
        self.next_change = None;
        self.watches.look();
        let (now, mut bases) = (app.env.now(), BaseAnswers::default());
        if app.settings.store.is_on_server() {
            let (watches, before) = (&self.watches, &facts);
            let (new, watched) = app.read_together(|tx| {
                let (mut facts, mut watches) = (before.clone(), watches.clone());
                facts.advance(app, tx, now, &News::since(tx, seq)?, &mut watches, &mut bases)?;
                Ok((facts, watches))
            })?;
            (facts, self.watches) = (new, watched);
        } else {
            app.read(|tx| facts.advance(app, tx, now, &News::since(tx, seq)?, &mut self.watches, &mut bases))?;
        }
        facts.setups = setup::unready(app, &facts.lanes);
        facts.waiting_checks = check_slot::waiting(app);
        let is_suppressed = silence::judge(app, &mut facts.sessions, facts.now, &BTreeSet::new());
        if is_suppressed && app.settings.store.is_on_server() {
            silence::judge(app, &mut facts.sessions, facts.now, &silent_hosts::find(app)?.ids);
        }
        let board = view::compose(app, &facts, hook_providers);
        if self.watches.is_on() {
            resumption::resume_in_background(app, &facts.sessions, facts.now);
        }
        self.watches.follow_rest(&facts.sessions, &facts.processes.borrow());
        self.next_change = facts.next_change(app).into_iter().chain(silent_hosts::next_silence(app, &facts)).min();
        self.kept = Some(Kept { facts, settings: Rc::clone(&app.settings) });
        Ok(board)
    }

    /// When the board changes next without an event; `None` when the passing of time changes nothing.
    pub fn next_change(&self) -> Option<Timestamp> {
        self.next_change
    }

    /// Descriptors of processes whose end changes the board. Each becomes readable when its process ends.
    pub fn fds(&self) -> Vec<BorrowedFd<'_>> {
        self.watches.fds()
    }

    /// The processes of [`Self::fds`] with their ids, for a thread that waits for them.
    pub fn processes(&self) -> Vec<WatchedProcess> {
        self.watches.processes()
    }

    /// Stops watching the ended processes. `ended` has a flag for each of [`Self::fds`], in that order.
    pub fn note_ended(&mut self, ended: &[bool]) {
        self.watches.note(ended);
    }

    /// Whether a process that the last board shows has ended.
    pub fn is_outdated(&self) -> bool {
        self.watches.has_ended()
    }
}
