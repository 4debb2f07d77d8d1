//! Reading the output items of a job. Each query is a range of an index over job and sequence number, so its cost does not
//! depend on other jobs.

use super::output_store::{OutputStore, parse_item_type};
use crate::{
    domain::{
        job::{ItemType, JobId},
        job_output::{Content, Item},
    },
    env::Timestamp,
    store::{
        StoreError,
        sql::{self, Row, ToValue},
    },
};

macro_rules! select {
    ($rest:literal) => {
        select!("", $rest)
    };
    ($index:literal, $rest:literal) => {
        concat!(
            "SELECT seq, type, segment, start, length, origin, payload, meta, created_at FROM exec_run_items ",
            $index,
            " WHERE run = $1 ",
            $rest
        )
    };
}

const SINCE: &str = select!("AND seq > $2 ORDER BY seq LIMIT $3");
const SINCE_IN_STREAM: &str = select!("AND seq > $2 AND type = $4 ORDER BY seq LIMIT $3");
const EVENTS_SINCE: &str =
    select!("INDEXED BY exec_run_items_events", "AND seq > $2 AND type = 'event' ORDER BY seq LIMIT $3");
const NEWEST_BEFORE: &str = select!("AND seq < $2 AND type <> 'event' ORDER BY seq DESC LIMIT $3");
const BEFORE_IN_STREAM: &str = select!("AND seq < $2 AND type = $4 ORDER BY seq DESC LIMIT $3");
const NEWEST_EVENT: &str = "SELECT seq FROM exec_run_items INDEXED BY exec_run_items_events \
     WHERE run = $1 AND seq > $2 AND type = 'event' ORDER BY seq DESC LIMIT 1";
const NEWEST_OUTPUT: &str =
    "SELECT seq FROM exec_run_items WHERE run = $1 AND seq > $2 AND type <> 'event' ORDER BY seq DESC LIMIT 1";

fn read(row: &Row<'_>) -> Result<Item, StoreError> {
    let kind = parse_item_type(&row.get::<String>(1)?)?;
    let content = if kind == ItemType::Event {
        Content::Event { payload: row.get(6)?, meta: row.get(7)? }
    } else {
        Content::Output { segment: row.get(2)?, start: row.get(3)?, length: row.get(4)?, origin: row.get(5)? }
    };
    Ok(Item { seq: row.get(0)?, kind, content, created_at: row.get::<Timestamp>(8)? })
}

impl OutputStore {
    fn query(&self, statement: &str, values: &[&dyn ToValue]) -> Result<Vec<Item>, StoreError> {
        sql::rows(&self.conn, statement, values, read).map_err(|error| error.with_path(&self.path))
    }

    /// At most `limit` items after `since_seq`, in order, of one type if given; and whether there are more.
    pub fn items(
        &self,
        run: &JobId,
        since_seq: i64,
        limit: usize,
        stream: Option<ItemType>,
    ) -> Result<(Vec<Item>, bool), StoreError> {
        let most = i64::try_from(limit.saturating_add(1)).unwrap_or(i64::MAX);
        let mut found = match stream {
            None => self.query(SINCE, &[run.bytes(), &since_seq, &most])?,
            Some(ItemType::Event) => self.query(EVENTS_SINCE, &[run.bytes(), &since_seq, &most])?,
            Some(stream) => self.query(SINCE_IN_STREAM, &[run.bytes(), &since_seq, &most, &stream])?,
        };
        let has_more = found.len() > limit;
        found.truncate(limit);
        Ok((found, has_more))
    }

    /// At most `limit` output items before the sequence number `before`, newest first.
    pub fn newest_before(&self, run: &JobId, before: i64, limit: i64) -> Result<Vec<Item>, StoreError> {
        self.query(NEWEST_BEFORE, &[run.bytes(), &before, &limit])
    }

    /// The items of a stream directly before a sequence number, newest first.
    pub fn before_in_stream(
        &self,
        run: &JobId,
        stream: ItemType,
        seq: i64,
        limit: i64,
    ) -> Result<Vec<Item>, StoreError> {
        self.query(BEFORE_IN_STREAM, &[run.bytes(), &seq, &limit, &stream])
    }

    /// The sequence number of the newest event, or of the newest output, after `since_seq`.
    pub fn newest_after(&self, run: &JobId, since_seq: i64, events: bool) -> Result<Option<i64>, StoreError> {
        let statement = if events { NEWEST_EVENT } else { NEWEST_OUTPUT };
        sql::first(&self.conn, statement, &[run.bytes(), &since_seq], |row| row.get(0))
            .map_err(|error| error.with_path(&self.path))
    }
}
