//! Bases in which nothing lands: a check or a preparation fails on them alone.

use super::{facts::Facts, need::Need};
use crate::domain::{landing::Landing, need::NeedKind};

/// An item for each base.
pub(super) fn items(facts: &Facts) -> Vec<Need> {
    facts.stopped.iter().map(item).collect()
}

fn item(one: &Landing) -> Need {
    let commit = one.commit.get(..12).unwrap_or(&one.commit);
    let evidence = format!("landing {} at {commit}", one.id);
    let line = one.error.clone().unwrap_or_else(|| format!("nothing lands in {}", one.base));
    Need::new(NeedKind::Landing, &one.id.to_string(), Some(one.started_at), line, evidence)
        .then("land again when it is mended", "fairway land --queue".to_owned())
}
