//! The work that the judgement of one call may cost. It is counted where it is done, so that the same call has the same answer on
//! every machine, however busy.

use std::{cell::Cell, rc::Rc};

/// The most steps of one call. One step is about as much work as a shell's reader has with one character: at most 250 ns.
pub const MAX_STEPS: usize = 200_000;

/// Why a call is denied whose judgement would cost more.
pub(super) const TOO_COMPLEX: &str = "the text is too complex to judge";

/// The work that was done for one call; clones count together.
#[derive(Debug, Clone, Default)]
pub(super) struct Budget {
    spent: Rc<Cell<usize>>,
}

impl Budget {
    /// Counts work that is about to be done; `false` where it is not to be done, since there was too much.
    pub fn spend(&self, steps: usize) -> bool {
        self.spent.set(self.spent.get().saturating_add(steps));
        !self.is_spent()
    }

    /// Whether there was too much.
    pub fn is_spent(&self) -> bool {
        self.spent.get() > MAX_STEPS
    }

    /// The steps that were counted.
    pub fn steps(&self) -> usize {
        self.spent.get()
    }
}
