//! Which commits that landed on other hosts are in the bases of this host, as far as that was looked up.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use fairway_core::os::git::Git;

type Landed = (String, String);

/// Which landings of other hosts are in the base branches of this host. Only landings that were looked up are known.
#[derive(Debug, Default)]
pub struct LandedCommits {
    known: RefCell<BTreeMap<Landed, bool>>,
    /// Landings that were asked for and not looked up yet.
    unknown: RefCell<BTreeSet<Landed>>,
}

impl LandedCommits {
    /// Forgets the landings that this host did not have, so that they are looked up again.
    pub fn forget_missing(&self) {
        self.known.borrow_mut().retain(|_, is_here| *is_here);
        self.unknown.borrow_mut().clear();
    }

    pub fn has_unknown(&self) -> bool {
        !self.unknown.borrow().is_empty()
    }

    /// Whether this host's base branch contains the commit of a landing. A landing that was not looked up yet counts as missing
    /// until [`Self::look_up`] is called.
    pub(crate) fn has(&self, landed: &Landed) -> bool {
        let known = self.known.borrow().get(landed).copied();
        if known.is_none() {
            self.unknown.borrow_mut().insert(landed.clone());
        }
        known.unwrap_or(false)
    }

    pub(crate) fn look_up(&self, git: &Git<'_>) -> Result<()> {
        let mut starts: BTreeMap<String, Option<String>> = BTreeMap::new();
        for landed in std::mem::take(&mut *self.unknown.borrow_mut()) {
            let (base, commit) = &landed;
            let start = match starts.get(base) {
                Some(known) => known.clone(),
                None => starts.entry(base.clone()).or_insert(git.start_of(base)?).clone(),
            };
            let is_here = start.is_some_and(|start| git.is_ancestor(commit, &start) == Some(true));
            self.known.borrow_mut().insert(landed, is_here);
        }
        Ok(())
    }
}
