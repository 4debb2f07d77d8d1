//! What is done with evidence.

pub mod add;
pub mod list;
pub mod run;

use crate::domain::{Event, Kind, evidence::Evidence, task::Task};

/// The event of a new record.
fn recorded(task: &Task, record: &Evidence) -> Event {
    Event::new(Kind::EvidenceRecorded)
        .task(&task.id)
        .lane(task.words.lane.as_ref())
        .with("id", record.id)
        .with("kind", record.kind.as_str())
        .with("result", record.result.as_str())
        .with("observed", record.observed)
        .with("check", record.check.as_deref())
        .with("exit_code", record.exit_code)
        .with("commit", record.commit.as_deref())
}
