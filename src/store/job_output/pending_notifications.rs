//! Events whose notification is pending: its message has not been queued yet.

use super::output_store::OutputStore;
use crate::{
    domain::{job::JobId, job_output::PendingNotification},
    store::{
        StoreError,
        sql::{self, Row},
    },
};

const ALL: &str = "SELECT run, seq, owes, payload, meta FROM exec_run_items INDEXED BY exec_run_items_owing \
     WHERE owes IS NOT NULL ORDER BY run, seq LIMIT $1";
const OF_RUN: &str = "SELECT run, seq, owes, payload, meta FROM exec_run_items INDEXED BY exec_run_items_owing \
     WHERE owes IS NOT NULL AND run = $1 ORDER BY seq";
const ACKNOWLEDGE: &str = "UPDATE exec_run_items SET owes = NULL WHERE run = $1 AND seq = $2 AND owes IS NOT NULL";

fn read(row: &Row<'_>) -> Result<PendingNotification, StoreError> {
    let run = row.get::<[u8; 16]>(0)?;
    Ok(PendingNotification {
        job: JobId::new(uuid::Uuid::from_bytes(run)),
        seq: row.get(1)?,
        key: row.get(2)?,
        payload: row.get(3)?,
        meta: row.get(4)?,
    })
}

impl OutputStore {
    /// At most `limit` events of all jobs with a pending notification.
    pub fn pending_notifications(&self, limit: i64) -> Result<Vec<PendingNotification>, StoreError> {
        sql::rows(&self.conn, ALL, &[&limit], read).map_err(|error| error.with_path(&self.path))
    }

    /// Every event of a job with a pending notification, in order.
    pub fn pending_notifications_of(&self, run: &JobId) -> Result<Vec<PendingNotification>, StoreError> {
        sql::rows(&self.conn, OF_RUN, &[run.bytes()], read).map_err(|error| error.with_path(&self.path))
    }

    /// Marks the notification of an event as sent.
    pub fn acknowledge_notification(&self, run: &JobId, seq: i64) -> Result<(), StoreError> {
        self.write(|conn| sql::execute(conn, ACKNOWLEDGE, &[run.bytes(), &seq]).map(drop))
    }
}
