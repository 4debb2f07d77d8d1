//! Ids of tasks: the next number, and the ids that a wrong one may mean.

use crate::store::{ReadTx, StoreError, sql};

const NEWEST_NUMBERED: &str = "SELECT id FROM tasks INDEXED BY tasks_number WHERE length(id) = $1 AND id >= $2 AND id < $3 \
     ORDER BY id DESC";
const SPELLED_ALIKE: &str =
    "SELECT id FROM tasks WHERE lower(replace(id, '-', '')) = lower(replace($1, '-', '')) ORDER BY id LIMIT 3";
const NEAR: &str = "SELECT id FROM tasks WHERE id >= $1 ORDER BY id LIMIT 200";

/// The highest number of the ids `PREFIX-1`, `PREFIX-2`, …; 0 if there is none.
pub fn newest_number(tx: &ReadTx<'_>, prefix: &str) -> Result<u64, StoreError> {
    const DIGITS: usize = 18;
    let (from, to) = (format!("{prefix}-0"), format!("{prefix}-:"));
    // A longer number is larger: query the longest ids first. Ids of that length without a number are skipped.
    for length in (1..=DIGITS).rev().map(|digits| prefix.len() + 1 + digits) {
        let mut newest = None;
        sql::for_each(tx.conn(), NEWEST_NUMBERED, &[&i64::try_from(length).unwrap_or(0), &from, &to], |row| {
            let id: String = row.get(0)?;
            newest = id.get(prefix.len() + 1..).and_then(|digits| digits.parse::<u64>().ok());
            Ok(newest.is_none())
        })?;
        if let Some(number) = newest {
            return Ok(number);
        }
    }
    Ok(0)
}

/// Ids that differ from an unknown one only in case and hyphens, as `T-1` from `t1`; at most three.
pub fn ids_spelled_alike(tx: &ReadTx<'_>, id: &str) -> Result<Vec<String>, StoreError> {
    sql::rows(tx.conn(), SPELLED_ALIKE, &[&id], |row| row.get(0))
}

/// Ids similar to an unknown one: those with the same first characters.
pub fn similar_ids(tx: &ReadTx<'_>, id: &str) -> Result<Vec<String>, StoreError> {
    let beginning: String = id.chars().take(2).collect();
    sql::rows(tx.conn(), NEAR, &[&beginning], |row| row.get(0))
}
