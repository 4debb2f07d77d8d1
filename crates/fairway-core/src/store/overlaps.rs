//! Snapshots of lanes and overlaps between them as rows.

use serde_json::{Value, json};

use super::sql::{self, Row, Statement};
use super::{ReadTx, StoreError, WriteTx};
use crate::domain::LaneName;
use crate::domain::lane_work::WorkState;
use crate::domain::overlap::{
    LaneOverlap, LaneSnapshot, LineRange, OverlapFile, OverlapLevel, SnapshotPath, ToldFiles,
};
use crate::env::Timestamp;

/// The size of a lane's change, without its paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneDiffstat {
    pub lane: LaneName,
    pub files: u64,
    pub added: u64,
    pub deleted: u64,
    /// When the worktree was examined.
    pub taken_at: Timestamp,
    /// Whether the change could be determined.
    pub is_known: bool,
    /// The commit that was checked out.
    pub tip: Option<String>,
    /// The changed paths that programs of a person run or read later.
    pub runs_later: Vec<String>,
    /// How that which was checked out stood to the lane's branch.
    pub work: Option<WorkState>,
}

const SNAPSHOTS: &str = "SELECT lane, host, tip, base, base_tip, digest, snapshot, paths, added, deleted, taken_at, unknown, \
     judged, work FROM lane_snapshots ORDER BY lane";
macro_rules! diffstats {
    ($files:literal) => {
        concat!(
            "SELECT lane, ",
            $files,
            ", added, deleted, taken_at, unknown IS NULL, tip, runs_later, work FROM lane_snapshots ORDER BY lane"
        )
    };
}
const DIFFSTATS: Statement<'_> = Statement {
    sqlite: diffstats!("json_array_length(paths)"),
    postgres: diffstats!("json_array_length(paths::json)"),
};
const UPSERT_SNAPSHOT: &str = "INSERT INTO lane_snapshots (lane, host, tip, base, base_tip, digest, snapshot, paths, added, \
     deleted, taken_at, unknown, judged, runs_later, work) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) \
     ON CONFLICT (lane) DO UPDATE SET host = excluded.host, tip = excluded.tip, base = excluded.base, \
     base_tip = excluded.base_tip, digest = excluded.digest, snapshot = excluded.snapshot, paths = excluded.paths, \
     added = excluded.added, deleted = excluded.deleted, taken_at = excluded.taken_at, unknown = excluded.unknown, \
     judged = excluded.judged, runs_later = excluded.runs_later, work = excluded.work";
const REMOVE_LANE: &str = "DELETE FROM lane_snapshots WHERE lane = $1";
// The name is a word of PostgreSQL.
const OVERLAPS: &str = "SELECT lane_a, lane_b, level, files, why, since, told FROM \"overlaps\" WHERE level <> 'none' \
     ORDER BY lane_a, lane_b";
const ALL_OVERLAPS: &str =
    "SELECT lane_a, lane_b, level, files, why, since, told FROM \"overlaps\" ORDER BY lane_a, lane_b";
const UPSERT_OVERLAP: &str = "INSERT INTO \"overlaps\" (lane_a, lane_b, level, files, why, since, told) \
     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (lane_a, lane_b) DO UPDATE SET level = excluded.level, \
     files = excluded.files, why = excluded.why, since = excluded.since, told = excluded.told";
const REMOVE_OVERLAPS: &str = "DELETE FROM \"overlaps\" WHERE lane_a = $1 OR lane_b = $1";

fn lane(text: &str) -> Result<LaneName, StoreError> {
    sql::parse_id("a lane", text, LaneName::parse)
}

fn number(row: &Row<'_>, column: usize) -> Result<u64, StoreError> {
    Ok(u64::try_from(row.get::<i64>(column)?).unwrap_or_default())
}

fn read_snapshot(row: &Row<'_>) -> Result<LaneSnapshot, StoreError> {
    Ok(LaneSnapshot {
        lane: lane(&row.get::<String>(0)?)?,
        host: row.get(1)?,
        tip: row.get(2)?,
        fork: row.get(3)?,
        base_tip: row.get(4)?,
        digest: row.get(5)?,
        commit: row.get(6)?,
        paths: read_paths(&row.get::<String>(7)?)?,
        added: number(row, 8)?,
        deleted: number(row, 9)?,
        taken_at: row.get(10)?,
        unknown: row.get(11)?,
        judged: row.get(12)?,
        work: read_work(row.get(13)?)?,
    })
}

fn read_overlap(row: &Row<'_>) -> Result<LaneOverlap, StoreError> {
    let other: String = row.get(1)?;
    Ok(LaneOverlap {
        lane: lane(&row.get::<String>(0)?)?,
        other: if other.is_empty() { None } else { Some(lane(&other)?) },
        level: level(&row.get::<String>(2)?)?,
        files: read_files(&row.get::<String>(3)?)?,
        why: row.get(4)?,
        since: row.get(5)?,
        told: read_told(&row.get::<String>(6)?)?,
    })
}

fn level(text: &str) -> Result<OverlapLevel, StoreError> {
    sql::parse_value("a level of an overlap", text, OverlapLevel::parse)
}

fn parse_json(what: &'static str, text: &str) -> Result<Vec<Value>, StoreError> {
    sql::parse_value(what, text, |text| serde_json::from_str(text).ok())
}

/// `[["src/a", "M", [[1, 2, "digest", false], …]], …]`; the lines are null where they are not known.
fn read_paths(text: &str) -> Result<Vec<SnapshotPath>, StoreError> {
    let path = |value: &Value| {
        let range = |value: &Value| {
            let digest = value.get(2)?.as_str()?.to_owned();
            let is_list = value.get(3).and_then(Value::as_bool).unwrap_or_default();
            Some(LineRange { start: value.get(0)?.as_u64()?, end: value.get(1)?.as_u64()?, digest, is_list })
        };
        let lines = value.get(2)?.as_array().map(|lines| lines.iter().map(range).collect::<Option<Vec<_>>>());
        let letter = value.get(1)?.as_str()?.chars().next()?;
        Some(SnapshotPath { path: value.get(0)?.as_str()?.to_owned(), letter, lines: lines.flatten() })
    };
    let all = parse_json("the changed paths of a lane", text)?;
    sql::parse_value("the changed paths of a lane", text, |_| all.iter().map(path).collect())
}

fn paths_text(paths: &[SnapshotPath]) -> String {
    let path = |path: &SnapshotPath| {
        let range = |range: &LineRange| json!([range.start, range.end, range.digest, range.is_list]);
        let lines = path.lines.as_ref().map(|lines| lines.iter().map(range).collect::<Vec<_>>());
        json!([path.path, path.letter.to_string(), lines])
    };
    Value::Array(paths.iter().map(path).collect()).to_string()
}

/// `[["src/a", "conflict", [[1, 2], …], false], …]`; earlier versions wrote no last member.
fn read_files(text: &str) -> Result<Vec<OverlapFile>, StoreError> {
    let file = |value: &Value| {
        let range = |value: &Value| Some((value.get(0)?.as_u64()?, value.get(1)?.as_u64()?));
        Some(OverlapFile {
            path: value.get(0)?.as_str()?.to_owned(),
            level: OverlapLevel::parse(value.get(1)?.as_str()?)?,
            lines: value.get(2)?.as_array()?.iter().map(range).collect::<Option<_>>()?,
            in_list: value.get(3).and_then(Value::as_bool).unwrap_or_default(),
        })
    };
    let all = parse_json("the files of an overlap", text)?;
    sql::parse_value("the files of an overlap", text, |_| all.iter().map(file).collect())
}

fn files_text(files: &[OverlapFile]) -> String {
    let file = |file: &OverlapFile| json!([file.path, file.level.as_str(), file.lines, file.in_list]);
    Value::Array(files.iter().map(file).collect()).to_string()
}

fn read_told(text: &str) -> Result<ToldFiles, StoreError> {
    let entry =
        |value: &Value| Some((value.get(0)?.as_str()?.to_owned(), OverlapLevel::parse(value.get(1)?.as_str()?)?));
    let all = parse_json("the told files of an overlap", text)?;
    sql::parse_value("the told files of an overlap", text, |_| all.iter().map(entry).collect())
}

fn told_text(told: &ToldFiles) -> String {
    Value::Array(told.iter().map(|(path, level)| json!([path, level.as_str()])).collect()).to_string()
}

pub fn snapshots(tx: &ReadTx<'_>) -> Result<Vec<LaneSnapshot>, StoreError> {
    sql::rows(tx.conn(), SNAPSHOTS, &[], read_snapshot)
}

/// The size of each lane's changes, by lane.
pub fn diffstats(tx: &ReadTx<'_>) -> Result<Vec<LaneDiffstat>, StoreError> {
    sql::rows(tx.conn(), DIFFSTATS, &[], |row| {
        Ok(LaneDiffstat {
            lane: lane(&row.get::<String>(0)?)?,
            files: number(row, 1)?,
            added: number(row, 2)?,
            deleted: number(row, 3)?,
            taken_at: row.get(4)?,
            is_known: row.get(5)?,
            tip: row.get(6)?,
            runs_later: read_runs_later(row.get(7)?)?,
            work: read_work(row.get(8)?)?,
        })
    })
}

fn read_work(text: Option<String>) -> Result<Option<WorkState>, StoreError> {
    text.map(|text| sql::parse_value("the state of a lane's work", &text, WorkState::parse)).transpose()
}

fn read_runs_later(text: Option<String>) -> Result<Vec<String>, StoreError> {
    let what = "the paths of a lane that run later";
    let path = |value: &Value| value.as_str().map(str::to_owned);
    let all = text.map(|text| parse_json(what, &text)).transpose()?.unwrap_or_default();
    Ok(all.iter().filter_map(path).collect())
}

/// Inserts or replaces the snapshot of a lane. `runs_later` are those of its paths that the user's own programs run or read
/// later.
pub fn put_snapshot(tx: &WriteTx<'_>, snapshot: &LaneSnapshot, runs_later: &[&str]) -> Result<(), StoreError> {
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let values: &[&dyn sql::ToValue] = &[
        &snapshot.lane,
        &snapshot.host,
        &snapshot.tip,
        &snapshot.fork,
        &snapshot.base_tip,
        &snapshot.digest,
        &snapshot.commit,
        &paths_text(&snapshot.paths),
        &number(snapshot.added),
        &number(snapshot.deleted),
        &snapshot.taken_at,
        &snapshot.unknown,
        &snapshot.judged,
        &Some(json!(runs_later).to_string()).filter(|_| !runs_later.is_empty()),
        &snapshot.work.as_ref().map(WorkState::to_string),
    ];
    sql::execute(tx.conn(), UPSERT_SNAPSHOT, values)?;
    Ok(())
}

/// The present overlaps, ordered by the names of their lanes.
pub fn all(tx: &ReadTx<'_>) -> Result<Vec<LaneOverlap>, StoreError> {
    sql::rows(tx.conn(), OVERLAPS, &[], read_overlap)
}

/// As [`all`], together with overlaps that no longer exist.
pub fn all_with_gone(tx: &ReadTx<'_>) -> Result<Vec<LaneOverlap>, StoreError> {
    sql::rows(tx.conn(), ALL_OVERLAPS, &[], read_overlap)
}

pub fn put(tx: &WriteTx<'_>, overlap: &LaneOverlap) -> Result<(), StoreError> {
    let values: &[&dyn sql::ToValue] = &[
        &overlap.lane,
        &overlap.other.as_ref().map_or("", LaneName::as_str),
        &overlap.level,
        &files_text(&overlap.files),
        &overlap.why,
        &overlap.since,
        &told_text(&overlap.told),
    ];
    sql::execute(tx.conn(), UPSERT_OVERLAP, values)?;
    Ok(())
}

pub fn forget_lane(tx: &WriteTx<'_>, lane: &LaneName) -> Result<(), StoreError> {
    sql::execute(tx.conn(), REMOVE_LANE, &[&lane])?;
    sql::execute(tx.conn(), REMOVE_OVERLAPS, &[&lane])?;
    Ok(())
}
