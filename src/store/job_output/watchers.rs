//! The watchers of a job's output and their match counts.

use super::output_store::OutputStore;
use crate::{
    domain::{job::JobId, job_output::WatcherState, watcher::Watcher},
    store::{
        StoreError,
        sql::{self, Row},
    },
};

const INSERT: &str = "INSERT INTO exec_watchers (run, place, regex, event, once, scope) VALUES ($1, $2, $3, $4, $5, $6) \
     ON CONFLICT (run, place) DO NOTHING";
const ALL: &str = "SELECT regex, event, once, scope, hits FROM exec_watchers WHERE run = $1 ORDER BY place";

fn read(row: &Row<'_>) -> Result<WatcherState, StoreError> {
    let watcher = Watcher { regex: row.get(0)?, event: row.get(1)?, once: row.get(2)?, scope: row.get(3)? };
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
                let values: &[&dyn sql::ToValue] =
                    &[job.bytes(), &place, &watcher.regex, &watcher.event, &watcher.once, &watcher.scope];
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
