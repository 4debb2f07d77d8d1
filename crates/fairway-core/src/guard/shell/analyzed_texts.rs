//! Texts and commands that were already analyzed: a wrapper names the same words in several ways, and each of them is analyzed
//! again. Without this the work doubles with each wrapper.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};

/// How deep something stood when it was looked at: in texts, and behind wrappers.
type Depth = (usize, usize);

/// The texts and commands that were analyzed.
#[derive(Debug, Default)]
pub(super) struct SeenBefore {
    depths: HashMap<u64, Depth>,
    // Its keys are random: no text can be made to look like another.
    hashing: RandomState,
}

impl SeenBefore {
    /// Whether `key` was already analyzed at this depth or a lower one. A deeper analysis does not count, since the depth limit
    /// ends it earlier. Records `key` when the answer is no.
    pub fn is_seen(&mut self, key: impl Hash, depth: Depth) -> bool {
        let key = self.hashing.hash_one(key);
        let is_seen = self.depths.get(&key).is_some_and(|known| known.0 <= depth.0 && known.1 <= depth.1);
        if !is_seen {
            self.depths.insert(key, depth);
        }
        is_seen
    }
}
