//! Moving a whole store between a SQLite file and a server. The store that is left is locked meanwhile and renamed afterwards, so
//! that no process goes on in it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Transaction, TransactionBehavior};
use serde_json::Map;

use super::backup::DraftFile;
use super::claim_epochs::{highest_epoch, renew_claims};
use super::postgres::{MOVED_SCHEMA, PostgresStore};
use super::schema::{self, STATE};
use super::sql::{self, Connection, Row, Value};
use super::sqlite_store::SqliteStore;
use super::{StoreAddress, StoreError, WriteTx, integrity, open, progress, sibling_path};
use crate::domain::{Event, EventKind};
use crate::env::{Clock, Timestamp};
use crate::os::{files, notify};

/// The tables that others refer to, in the order in which they are filled.
const REFERRED_TABLES: [&str; 3] = ["lanes", "tasks", "agent_sessions"];
const TABLES: &str = "SELECT name FROM sqlite_schema WHERE type = 'table' \
     AND name NOT LIKE 'sqlite@_%' ESCAPE '@' AND name <> 'refinery_schema_history' ORDER BY name";
const COLUMNS: &str = "SELECT name FROM pragma_table_info($1) ORDER BY cid";
const COUNTERS: &str = "SELECT name, seq FROM sqlite_sequence ORDER BY name";
const SET_COUNTER: &str = "INSERT INTO sqlite_sequence (name, seq) VALUES ($1, $2)";
const CLEAR_COUNTERS: &str = "DELETE FROM sqlite_sequence";
const NUMBERS: &str =
    "SELECT key, value::bigint FROM jsonb_each_text(current_setting('fairway.numbers')::jsonb) ORDER BY key";
const SET_HOST: &str = "UPDATE lanes SET host = $1, host_id = $2 WHERE worktree IS NOT NULL AND removed_at IS NULL \
     AND host_id IS NULL";
const SCHEMAS: &str = "SELECT nspname::text FROM pg_namespace";
const SET_NUMBERS: &str = "SELECT set_config('fairway.numbers', $1, true)";
// Reading a large file between two statements may take longer than a command may.
const NO_IDLE_TIMEOUT: &str = "SET LOCAL idle_in_transaction_session_timeout = 0";
/// The size of the rows that one statement inserts, in bytes.
const BATCH_BYTES: usize = 256 << 10;
/// The table whose rows refer to each other, so that one statement must insert all of them.
const SELF_REFERRING_TABLE: &str = "agent_sessions";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyReport {
    pub tasks: i64,
    pub rows: i64,
    /// The new epoch of every task.
    pub epoch: i64,
    /// The new name of the store that was left: a path or a schema.
    pub left: String,
}

struct Table {
    name: String,
    columns: Vec<String>,
}

impl Table {
    fn columns(&self) -> String {
        self.columns.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
    }

    fn select(&self) -> String {
        format!("SELECT {} FROM \"{}\"", self.columns(), self.name)
    }
}

/// A move to make: from where to where, by whom and when.
#[derive(Debug, Clone, Copy)]
pub struct CopyRequest<'a> {
    pub root: &'a Path,
    pub file: &'a Path,
    /// The directory where waiters bind their sockets.
    pub runtime: &'a Path,
    /// The directory for facts about stores outside of their trees.
    pub outside: Option<&'a Path>,
    pub address: &'a StoreAddress,
    pub clock: Clock,
    pub now: Timestamp,
    pub actor: &'a str,
    /// The name and the id of this host. Lanes that name no host have their worktrees on it.
    pub host: (&'a str, Option<&'a str>),
}

impl CopyRequest<'_> {
    /// Moves the store from its file to the server, which must have no store of this project, or an empty one. `point` runs when
    /// the copy is complete, before the file is renamed; it must make commands use the server.
    /// Without a complete copy the file stays as it is.
    pub fn to_server<E: From<StoreError>>(&self, point: impl FnOnce() -> Result<(), E>) -> Result<CopyReport, E> {
        PostgresStore::migrate(self.address)?;
        let server = PostgresStore::open(self.address, self.root, self.clock)?;
        let file = SqliteStore::open(self.file, self.outside)?;
        let turn = open::acquire_turn(self.file, open::QUEUE_TIMEOUT).map_err(StoreError::from)?;
        // So that the file that is left is whole without its log. A reader may keep it from that.
        let _ = file.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        // Nothing is written: the lock keeps the other writers out.
        let held = Transaction::new_unchecked(&file.conn, TransactionBehavior::Immediate).map_err(StoreError::from)?;
        file.check_path_unchanged()?;
        let left = self.unused_path();
        let tables = tables(&held)?;
        let mut report = server.write(self.clock, self.actor, |tx| {
            sql::execute(tx.conn(), NO_IDLE_TIMEOUT, &[])?;
            self.refuse_filled(tx, &tables)?;
            let mut rows = 0;
            for table in &tables {
                rows += copy_to_server(&held, tx.conn(), table)?;
                compare_counts((&*held).into(), tx.conn(), table)?;
            }
            if let (name, Some(id)) = self.host {
                sql::execute(tx.conn(), SET_HOST, &[&name, &id])?;
            }
            let counters = sql::rows(&*held, COUNTERS, &[], |row| Ok((row.get::<String>(0)?, row.get::<i64>(1)?)))?;
            let numbers: Map<String, serde_json::Value> =
                counters.into_iter().map(|(name, number)| (name, number.into())).collect();
            sql::execute(tx.conn(), SET_NUMBERS, &[&serde_json::Value::Object(numbers).to_string()])?;
            self.raise_epochs(tx, rows, &self.file.display().to_string(), &left.display().to_string())
        })?;
        point()?;
        for table in &tables {
            // Plans of an empty table would be those of the first day.
            let analyze = format!("ANALYZE \"{}\".\"{}\"", self.address.schema, table.name);
            let _ = sql::execute(server.connection(), &analyze, &[]);
        }
        let io = |error| StoreError::io(left.display().to_string(), error);
        files::rename_noreplace(self.file, &left).map_err(io)?;
        // The log of the file goes with it. Its index is made again.
        let log = sibling_path(self.file, "-wal");
        if log.metadata().is_ok_and(|log| log.len() == 0) {
            fs::remove_file(&log).map_err(io)?;
        } else if log.exists() {
            fs::rename(&log, sibling_path(&left, "-wal")).map_err(io)?;
        }
        let _ = fs::remove_file(sibling_path(self.file, "-shm"));
        files::sync_parent_dir(&left).map_err(io)?;
        drop(held);
        drop(turn);
        notify::notify_all(&self.runtime.join("wake"));
        report.left = left.display().to_string();
        Ok(report)
    }

    /// Moves the store from the server to its file, which must not exist. The schema on the server gets another name, so that no
    /// host goes on working in it. `point` runs after that and must make commands use the file.
    /// Without a complete copy the schema stays as it is.
    pub fn to_file<E: From<StoreError>>(&self, point: impl FnOnce() -> Result<(), E>) -> Result<CopyReport, E> {
        let server = PostgresStore::open(self.address, self.root, self.clock)?;
        let _making = open::lock_for_create(self.file)?;
        if !open::is_absent(self.file)? {
            return Err(StoreError::NotEmpty { target: self.file.display().to_string() }.into());
        }
        let draft = DraftFile::create_for(self.file)?;
        let mut conn = open::open_checked(&draft.path, &STATE)?;
        schema::migrate(&mut conn, &STATE)?;
        conn.pragma_update(None, "journal_mode", "WAL").map_err(StoreError::from)?;
        let tables = tables(&conn)?;
        let report = server.write(self.clock, self.actor, |tx| -> Result<CopyReport, StoreError> {
            sql::execute(tx.conn(), NO_IDLE_TIMEOUT, &[])?;
            let file = Transaction::new_unchecked(&conn, TransactionBehavior::Immediate)?;
            file.pragma_update(None, "defer_foreign_keys", true)?;
            let mut rows = 0;
            for table in &tables {
                rows += copy_to_file(tx.conn(), &file, table)?;
                compare_counts(tx.conn(), (&file).into(), table)?;
            }
            sql::execute(&file, CLEAR_COUNTERS, &[])?;
            for (name, number) in
                sql::rows(tx.conn(), NUMBERS, &[], |row| Ok((row.get::<String>(0)?, row.get::<i64>(1)?)))?
            {
                sql::execute(&file, SET_COUNTER, &[&name, &number])?;
            }
            let known = self.outside.map(progress::known).unwrap_or_default();
            progress::raise_to((&file).into(), &known, tx.now().millis())?;
            let copied = WriteTx::new(&file, tx.now(), self.actor);
            let left = self.unused_schema(tx)?;
            let report = self.raise_epochs(&copied, rows, &self.address.to_string(), &left)?;
            file.commit()?;
            let schema = &self.address.schema;
            let rename = format!("ALTER SCHEMA \"{schema}\" RENAME TO \"{left}\"");
            let follow = format!("SET LOCAL search_path TO \"{left}\"");
            let tell = format!("SELECT pg_notify('fairway.{schema}', '0')");
            for statement in [rename, follow, tell] {
                sql::execute(tx.conn(), &statement, &[])?;
            }
            Ok(report)
        })?;
        conn.close().map_err(|(_, error)| StoreError::from(error))?;
        open::install_draft(&draft.path, self.file)?;
        if let Some(outside) = self.outside {
            progress::replace(&open::open_checked(self.file, &STATE)?, outside);
        }
        point()?;
        notify::notify_all(&self.runtime.join("wake"));
        Ok(report)
    }

    fn refuse_filled(&self, tx: &WriteTx<'_>, tables: &[Table]) -> Result<(), StoreError> {
        for table in tables {
            let any = format!("SELECT EXISTS (SELECT 1 FROM \"{}\")", table.name);
            if sql::first(tx.conn(), &any, &[], |row| row.get(0))?.unwrap_or(false) {
                return Err(StoreError::NotEmpty { target: self.address.to_string() });
            }
        }
        Ok(())
    }

    /// Raises every epoch, and records where the rows came from.
    fn raise_epochs(&self, tx: &WriteTx<'_>, rows: i64, from: &str, left: &str) -> Result<CopyReport, StoreError> {
        let epoch = highest_epoch(tx.conn())? + 1;
        renew_claims(tx, epoch)?;
        let event = Event::new(EventKind::StoreRestored).with("from", from).with("kept", left).with("epoch", epoch);
        tx.record(&event)?;
        Ok(CopyReport { tasks: integrity::count_tasks(tx)?, rows, epoch, left: left.to_owned() })
    }

    /// The name of the schema after the move: a free one.
    fn unused_schema(&self, tx: &WriteTx<'_>) -> Result<String, StoreError> {
        let names: BTreeSet<String> = sql::rows(tx.conn(), SCHEMAS, &[], |row| row.get(0))?.into_iter().collect();
        let plain = format!("{}{MOVED_SCHEMA}", self.address.schema);
        let numbered = (2..).map(|number| format!("{plain}_{number}"));
        Ok(std::iter::once(plain.clone()).chain(numbered).find(|name| !names.contains(name)).unwrap_or(plain))
    }

    /// The name of the file after the move: a free one.
    fn unused_path(&self) -> PathBuf {
        let plain = sibling_path(self.file, ".moved");
        let numbered = (2..).map(|number| sibling_path(&plain, &format!("-{number}")));
        std::iter::once(plain.clone()).chain(numbered).find(|path| !path.exists()).unwrap_or(plain)
    }
}

/// Every table, those first that others refer to.
fn tables(conn: &rusqlite::Connection) -> Result<Vec<Table>, StoreError> {
    let mut names = sql::rows(conn, TABLES, &[], |row| row.get::<String>(0))?;
    names.sort_by_key(|name| REFERRED_TABLES.iter().position(|first| first == name).unwrap_or(REFERRED_TABLES.len()));
    let columns =
        |name: String| Ok(Table { columns: sql::rows(conn, COLUMNS, &[&name], |row| row.get::<String>(0))?, name });
    names.into_iter().map(columns).collect()
}

/// Refuses a copy with more or fewer rows.
fn compare_counts(from: Connection<'_>, to: Connection<'_>, table: &Table) -> Result<(), StoreError> {
    let count = |conn| -> Result<i64, StoreError> {
        let count = format!("SELECT count(*) FROM \"{}\"", table.name);
        Ok(sql::first(conn, &count, &[], |row| row.get(0))?.unwrap_or_default())
    };
    let (found, copied) = (count(from)?, count(to)?);
    if found == copied {
        return Ok(());
    }
    Err(StoreError::Incomplete { table: table.name.clone(), found, copied })
}

/// Copies a table in batches of rows as JSON.
fn copy_to_server(from: &rusqlite::Connection, to: Connection<'_>, table: &Table) -> Result<i64, StoreError> {
    let (name, columns) = (&table.name, table.columns());
    let insert = format!(
        "INSERT INTO \"{name}\" ({columns}) SELECT {columns} FROM json_populate_recordset(NULL::\"{name}\", $1::json)"
    );
    let mut batch = String::new();
    let mut rows = 0;
    sql::for_each(from, &table.select(), &[], |row| {
        batch.push(if batch.is_empty() { '[' } else { ',' });
        batch.push_str(&json_row(row, table)?.to_string());
        rows += 1;
        if batch.len() >= BATCH_BYTES && name != SELF_REFERRING_TABLE {
            batch.push(']');
            sql::execute(to, &insert, &[&batch])?;
            batch.clear();
        }
        Ok(true)
    })?;
    if !batch.is_empty() {
        batch.push(']');
        sql::execute(to, &insert, &[&batch])?;
    }
    Ok(rows)
}

fn json_row(row: &Row<'_>, table: &Table) -> Result<serde_json::Value, StoreError> {
    let mut object = Map::new();
    for (column, name) in table.columns.iter().enumerate() {
        let value = match row.value(column)? {
            Value::Null => serde_json::Value::Null,
            Value::Integer(number) => number.into(),
            Value::Real(number) => number.into(),
            Value::Text(text) => text.into(),
            Value::Bytes(bytes) => {
                let value = format!("{} bytes", bytes.len());
                return Err(StoreError::ColumnType { column: name.clone(), value });
            }
        };
        object.insert(name.clone(), value);
    }
    Ok(serde_json::Value::Object(object))
}

fn copy_to_file(from: Connection<'_>, to: &rusqlite::Connection, table: &Table) -> Result<i64, StoreError> {
    let places = (1..=table.columns.len()).map(|place| format!("?{place}")).collect::<Vec<_>>().join(", ");
    let insert = format!("INSERT INTO \"{}\" ({}) VALUES ({places})", table.name, table.columns());
    let mut insert = to.prepare(&insert)?;
    let mut rows = 0;
    sql::for_each(from, &table.select(), &[], |row| {
        for column in 0..table.columns.len() {
            insert.raw_bind_parameter(column + 1, row.value(column)?)?;
        }
        insert.raw_execute()?;
        rows += 1;
        Ok(true)
    })?;
    Ok(rows)
}
