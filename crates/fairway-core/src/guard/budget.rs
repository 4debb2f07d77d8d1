//! The limit on the work of judging one call. Steps are counted instead of time, so that the same call gets the same answer on
//! every machine, however busy.

use std::cell::Cell;
use std::rc::Rc;

/// The most steps of one call. One step is about as much work as a shell's reader has with one character: at most 250 ns.
pub const MAX_STEPS: usize = 200_000;

/// The reason for denying a call whose judgement would cost more.
pub(super) const TOO_COMPLEX: &str = "the text is too complex to judge";

/// The count of the work that was done for one call. Clones share the count.
#[derive(Debug, Clone, Default)]
pub(super) struct Budget {
    spent: Rc<Cell<usize>>,
}

impl Budget {
    /// Adds `steps` to the work that this tool call has cost so far. Returns `false` when the sum is more than [`MAX_STEPS`]; the
    /// caller must then skip the work.
    pub fn spend(&self, steps: usize) -> bool {
        self.spent.set(self.spent.get().saturating_add(steps));
        !self.is_spent()
    }

    /// Whether this tool call has cost more than [`MAX_STEPS`].
    pub fn is_spent(&self) -> bool {
        self.spent.get() > MAX_STEPS
    }

    pub fn steps(&self) -> usize {
        self.spent.get()
    }
}
