//! The watchers of a job's output and their match counts.

use super::output_store::OutputStore;
use crate::{
    domain::{
        id::Label,
        job::JobId,
        job_output::WatcherState,
        watcher::{WatchScope, Watcher},
    },
    store::{
        StoreError,
        sql::{self, Row},
    },
};

const INSERT: &str = "INSERT INTO exec_watchers (run, place, regex, event, once, scope) VALUES ($1, $2, $3, $4, $5, $6) \
     ON CONFLICT (run, place) DO NOTHING";
const ALL: &str = "SELECT regex, event, once, scope, hits FROM exec_watchers WHERE run = $1 ORDER BY place";

fn read(row: &Row<'_>) -> Result<WatcherState, StoreError> {
    let watcher = Watcher {
        regex: row.get(0)?,
        event: sql::parse_id("a watcher's event", &row.get::<String>(1)?, Label::parse)?,
        once: row.get(2)?,
        scope: sql::parse_value("a watcher's scope", &row.get::<String>(3)?, WatchScope::parse)?,
    };
    Ok(WatcherState { watcher, match_count: row.get(4)? })
}

impl OutputStore {
    /// Adds the watchers of a new job.
    pub fn add_watchers(&self, job: &JobId, watchers: &[Watcher]) -> Result<(), StoreError> {
        if watchers.is_empty() {
            return Ok(());
        }
        self.write(|conn| {
            for (place, watcher) in (0_i64..).zip(watchers) {
                let values: &[&dyn sql::ToValue] = &[
                    job.bytes(),
                    &place,
                    &watcher.regex,
                    &watcher.event.as_str(),
                    &watcher.once,
                    &watcher.scope.as_str(),
                ];
                sql::execute(conn, INSERT, values)?;
            }
            Ok(())
        })
    }

    /// The watchers of a job, in their order, with their match counts.
    pub fn watchers(&self, job: &JobId) -> Result<Vec<WatcherState>, StoreError> {
        sql::rows(&self.conn, ALL, &[job.bytes()], read).map_err(|error| error.with_path(&self.path))
    }
}
