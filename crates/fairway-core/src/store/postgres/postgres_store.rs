//! Transactions on a server.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::time::{Duration, Instant};

use tokio_postgres::SimpleQueryRow;

use super::connect::{self, Connected, FACTS, KEEP_COMMITS};
use super::host_row::{Look, Writer};
use super::outcome::{self, SentWrite};
use super::{Listener, StoreAddress, schema};
use crate::domain::excerpt::excerpt;
use crate::env::{Clock, Timestamp};
use crate::os::notify::ChangeWaiter;
use crate::store::schema::STATE;
use crate::store::sql::PostgresConnection;
use crate::store::{ReadTx, StoreError, WriteTx};

/// One snapshot for all statements of a read.
const BEGIN_READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY";
/// No other process waits for a read: it may compute for a while between two statements, as an import of a large file does on a
/// busy machine.
const LONG_PAUSE: &str = "SET LOCAL idle_in_transaction_session_timeout = '60s'";
/// Under READ COMMITTED each statement sees what was committed before it began. A snapshot of the whole transaction would be
/// older than the lock that it waits for, and would show tasks as free that the process before has claimed.
const BEGIN_WRITE: &str = "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE";
// A time in the list of the locking statement would be that before the wait, and so would the row of the host: they are a
// statement of their own.
const LOCK: &str = "SELECT schema_version FROM project FOR UPDATE";
/// Waiters for a row overtake one another: each change of the row makes a new version of it, whose queue begins anew. So writers
/// take turns by this lock first, which is given in the order of asking. The row's lock stays what makes a write exclusive. The
/// first number is any that other programs in the database do not use.
const TURN: &str = "SELECT pg_advisory_xact_lock(1717660018, 'project'::regclass::oid::int)";
const CLOCK: &str = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint, pg_current_xact_id()";
const CLOCK_COLUMNS: usize = 2;
/// The suffix of a schema's name after its store was moved to a file.
pub(in crate::store) const MOVED_SCHEMA: &str = "_moved";
/// How long a write waits for others; each connection sets it as `lock_timeout`.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// How long to try to connect again after a connection broke.
const RECONNECT_LIMIT: Duration = Duration::from_secs(5);

/// An open store on a server.
#[derive(Debug)]
pub(in crate::store) struct PostgresStore {
    connection: PostgresConnection,
    address: StoreAddress,
    /// The root of the checkout that writes.
    root: String,
    clock: Clock,
    /// Identifies the run of the server; `None` before the server was checked.
    server_run: RefCell<Option<String>>,
    /// How long to wait for other processes; `None` for the default.
    lock_timeout: Cell<Option<Duration>>,
}

impl PostgresStore {
    /// Connects to the store of a project, for the checkout at `root`.
    pub fn open(address: &StoreAddress, root: &Path, clock: Clock) -> Result<Self, StoreError> {
        let client = connect::connect_unchecked(address)?;
        Ok(Self {
            connection: PostgresConnection::new(client, address.to_string()),
            address: address.clone(),
            root: root.to_string_lossy().into_owned(),
            clock,
            server_run: RefCell::default(),
            lock_timeout: Cell::new(None),
        })
    }

    /// Creates the store of a project, or migrates it to the newest schema.
    pub fn migrate(address: &StoreAddress) -> Result<(), StoreError> {
        schema::migrate(&connect::statements(address)?, address)
    }

    /// Begins a read that sees one state of the store. A read whose connection breaks is not repeated, because the caller may
    /// have shown some of it.
    pub fn begin_read(&self) -> Result<PostgresRead<'_>, StoreError> {
        let look = Look::now(&self.address.schema, &self.clock_expression());
        let is_due = look.as_ref().map_or("false", |look| &look.is_due);
        let statements = format!("{LONG_PAUSE}; {}; SELECT schema_version, {is_due} FROM project", self.search_path());
        let (open, rows) = self.begin(BEGIN_READ, &statements).map_err(|error| self.version_error(error))?;
        self.check_version(number(rows.first(), 0))?;
        let is_due = rows.first().and_then(|row| row.get(1)) == Some("t");
        let record = look.filter(|_| is_due).map(|look| look.record);
        Ok(PostgresRead { open, snapshot: ReadTx::from_connection(&self.connection), record })
    }

    /// Fails when the server allows only reading. It takes no lock.
    pub fn check_writable(&self) -> Result<(), StoreError> {
        const WRITABLE: &str =
            "SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean";
        self.check()?;
        let rows = self.with_reconnect(|| self.connection.batch_within(self.address.answer_limit(), WRITABLE))?;
        if rows.first().and_then(|row| row.get(0)) != Some("f") {
            let why = "the server allows only reading".into();
            return Err(StoreError::ServerReadOnly { address: self.address.to_string(), why });
        }
        Ok(())
    }

    /// The time in milliseconds, as SQL.
    fn clock_expression(&self) -> String {
        match self.clock {
            Clock::Fixed(now) => now.millis().to_string(),
            Clock::System => "(extract(epoch FROM clock_timestamp()) * 1000)::bigint".to_owned(),
        }
    }

    /// Takes the lock of the project, begins a write, and records that this host writes.
    pub fn begin_write<'a>(&'a self, clock: Clock, actor: &'a str) -> Result<PostgresWrite<'a>, StoreError> {
        let writer = Writer::now(&self.root);
        let path = self.search_path();
        let times = Writer::join(writer.as_ref(), CLOCK);
        let statements = format!("{path}; {TURN}; {LOCK}; {KEEP_COMMITS}; SELECT begin_write(); {times}");
        let begun = self.begin(BEGIN_WRITE, &statements);
        let told = |error| self.version_error(self.read_only_error(self.held_error(error)));
        let (open, rows) = begun.map_err(told)?;
        self.check_version(number(rows.get(1), 0))?;
        let now = match clock {
            Clock::Fixed(now) => now,
            Clock::System => Timestamp::from_millis(number(rows.last(), 0)),
        };
        if let Some(writer) = writer {
            writer.record(&self.connection, rows.last(), CLOCK_COLUMNS, now)?;
        }
        let transaction = rows.last().and_then(|row| row.get(1)).unwrap_or_default().to_owned();
        Ok(PostgresWrite { store: self, open, transaction, change: WriteTx::new(&self.connection, now, actor) })
    }

    /// The server's time; `now` when the clock is a fixed one.
    pub fn time(&self, now: Timestamp) -> Result<Timestamp, StoreError> {
        const TIME: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
        if matches!(self.clock, Clock::Fixed(_)) {
            return Ok(now);
        }
        self.check()?;
        let rows = self.with_reconnect(|| self.connection.batch_within(self.address.answer_limit(), TIME))?;
        Ok(Timestamp::from_millis(number(rows.first(), 0)))
    }

    /// Runs `change` as one transaction and commits it if `change` returns `Ok`. Wakes no waiting process.
    pub fn write<T, E: From<StoreError>>(
        &self,
        clock: Clock,
        actor: &str,
        change: impl FnOnce(&WriteTx<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let open = self.begin_write(clock, actor)?;
        let done = change(open.change())?;
        open.commit()?;
        Ok(done)
    }

    /// From now on, wakes a waiter when another host changes the store.
    pub fn listen(&self, waiter: ChangeWaiter) -> Result<ChangeWaiter, StoreError> {
        Listener::attach(&self.address, waiter)
    }

    /// Sets how long later calls wait for other processes; `None` restores the default.
    pub fn set_lock_timeout(&self, timeout: Option<Duration>) -> Result<(), StoreError> {
        self.check()?;
        self.lock_timeout.set(timeout);
        // Zero would mean: without end.
        let set = timeout.map_or_else(
            || "RESET lock_timeout".into(),
            |timeout| format!("SET lock_timeout = {}", timeout.as_millis().max(1)),
        );
        self.with_reconnect(|| self.connection.batch_within(self.address.answer_limit(), &set)).map(drop)
    }

    /// The address, which shows no password when it is printed.
    pub const fn address(&self) -> &StoreAddress {
        &self.address
    }

    pub const fn connection(&self) -> &PostgresConnection {
        &self.connection
    }

    fn search_path(&self) -> String {
        format!("SET LOCAL search_path TO \"{}\"", self.address.schema)
    }

    /// Begins a transaction; returns what its statements answered too. A connection that broke since the last one is replaced.
    /// The first one checks the server as well, so that a command waits for one answer less.
    fn begin(&self, begin: &str, statements: &str) -> Result<(OpenTransaction<'_>, Vec<SimpleQueryRow>), StoreError> {
        let limit = self.lock_timeout.get().unwrap_or(LOCK_TIMEOUT) + self.address.answer_limit();
        let open = OpenTransaction { connection: &self.connection, limit, is_open: true };
        let sent = self.with_reconnect(|| {
            let is_checked = self.is_checked();
            let facts = if is_checked { String::new() } else { format!("{FACTS}; ") };
            let rows = self.connection.batch_within(limit, &format!("{begin}; {facts}{statements}"))?;
            Ok((rows, is_checked))
        });
        let (mut rows, is_checked) = match sent {
            // A server that is not fit may lack what the statements need.
            Err(error) if !self.is_checked() && !self.connection.is_broken() => {
                drop(open);
                return self.check().and(Err(error));
            }
            sent => sent?,
        };
        if !is_checked {
            let server_run = connect::check_facts(rows.first(), &self.address)?;
            self.server_run.replace(Some(server_run));
            rows.remove(0);
        }
        Ok((open, rows))
    }

    fn is_checked(&self) -> bool {
        self.server_run.borrow().is_some()
    }

    /// Checks that the server is fit for a store, unless that was checked before.
    pub fn check(&self) -> Result<(), StoreError> {
        if !self.is_checked() {
            let rows = self.with_reconnect(|| self.connection.batch_within(self.address.answer_limit(), FACTS))?;
            if !self.is_checked() {
                self.server_run.replace(Some(connect::check_facts(rows.first(), &self.address)?));
            }
        }
        Ok(())
    }

    /// Runs statements that may be sent twice, once more when the connection turns out to be broken.
    fn with_reconnect<T>(&self, send: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
        let start = Instant::now();
        match send() {
            // A server that was silent for long is not asked for as long again.
            Err(_) if self.connection.is_broken() && start.elapsed() < self.address.answer_limit() => {
                let Connected { client, server_run } =
                    connect::reconnect(&self.address, Instant::now() + RECONNECT_LIMIT)?;
                self.connection.replace_client(client);
                self.server_run.replace(Some(server_run));
                self.set_up()?;
                send()
            }
            done => done,
        }
    }

    /// Applies the settings of the connection before to a new one.
    fn set_up(&self) -> Result<(), StoreError> {
        let Some(timeout) = self.lock_timeout.get() else { return Ok(()) };
        let set = format!("SET lock_timeout = {}", timeout.as_millis().max(1));
        self.connection.batch_within(self.address.answer_limit(), &set).map(drop)
    }

    /// The error of a transaction's beginning: a schema of another version may lack a table that it names, and one that the login
    /// may not use looks as if it had none.
    fn version_error(&self, error: StoreError) -> StoreError {
        if !matches!(error, StoreError::NotThere { .. }) {
            return error;
        }
        let version = format!("SELECT schema_version FROM \"{}\".project", self.address.schema);
        let found = self.connection.batch_within(self.address.answer_limit(), &version);
        match found.and_then(|rows| self.check_version(number(rows.first(), 0))) {
            Err(StoreError::NotThere { address }) => self.missing_error(address),
            found => found.err().unwrap_or(error),
        }
    }

    /// The error of a write's beginning: a replica refuses it in words of its own, and not as a read-only transaction.
    fn read_only_error(&self, error: StoreError) -> StoreError {
        let StoreError::Postgres(why) = error else { return error };
        let found = self.connection.batch_within(self.address.answer_limit(), "SELECT pg_is_in_recovery()");
        if found.unwrap_or_default().first().and_then(|row| row.get(0)) != Some("t") {
            return StoreError::Postgres(why);
        }
        StoreError::ServerReadOnly { address: self.address.to_string(), why }
    }

    /// The error of a write that waited too long for its turn: it names the process that has it, if that still has it.
    fn held_error(&self, error: StoreError) -> StoreError {
        if !matches!(error, StoreError::Busy) {
            return error;
        }
        let holder = format!(
            "SELECT a.application_name, a.client_addr, extract(epoch FROM clock_timestamp() - a.xact_start)::bigint \
             FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid WHERE l.locktype = 'advisory' AND l.granted \
             AND l.classid = 1717660018 AND l.objid = '\"{}\".project'::regclass::oid",
            self.address.schema
        );
        let found = self.connection.batch_within(self.address.answer_limit(), &holder).unwrap_or_default();
        let Some(row) = found.first() else { return error };
        let name = row.get(0).unwrap_or_default().to_owned();
        let who = match name.splitn(4, ' ').collect::<Vec<_>>().as_slice() {
            ["fairway", host, pid] => format!("fairway on {host}, pid {pid}"),
            ["fairway", host, pid, command] => format!("`fairway {}` on {host}, pid {pid}", excerpt(command)),
            _ => format!("the program {}", excerpt(&name)),
        };
        let from = row.get(1).map(|address| format!(" at {address}")).unwrap_or_default();
        let since = row.get(2).unwrap_or("0");
        StoreError::Held { holder: format!("{who}{from}, for {since} s by now") }
    }

    /// The error of a schema that is not there.
    fn missing_error(&self, address: String) -> StoreError {
        let schema = &self.address.schema;
        let prefix = format!("{schema}{MOVED_SCHEMA}");
        let moved = format!(
            "SELECT nspname FROM pg_namespace WHERE starts_with(nspname::text, '{prefix}') \
             ORDER BY length(nspname::text) DESC, nspname DESC LIMIT 1"
        );
        let found = self.connection.batch_within(self.address.answer_limit(), &moved).unwrap_or_default();
        match found.first().and_then(|row| row.get(0)) {
            Some(left) => StoreError::MovedAway { address, schema: schema.clone(), left: left.to_owned() },
            None => StoreError::NotThere { address },
        }
    }

    fn check_version(&self, found: i64) -> Result<(), StoreError> {
        let known = STATE.newest;
        match found {
            _ if found == known => Ok(()),
            _ if found > known => Err(StoreError::Newer { path: self.address.to_string().into(), found, known }),
            _ => Err(StoreError::Older { address: self.address.to_string(), found, known }),
        }
    }
}

/// A read that has begun. Dropping it rolls back.
pub(in crate::store) struct PostgresRead<'a> {
    open: OpenTransaction<'a>,
    snapshot: ReadTx<'a>,
    /// The statement that records that this host works; `None` when that is not due.
    record: Option<String>,
}

impl<'a> PostgresRead<'a> {
    pub const fn snapshot(&self) -> &ReadTx<'a> {
        &self.snapshot
    }

    /// Ends the read. A failure is ignored: nothing was written, and everything was read. It waits for the server's answer,
    /// because a connection that ends with an unread answer is an error in the server's log.
    pub fn end(self) {
        let Self { open, record, .. } = self;
        let (connection, limit) = (open.connection, open.limit);
        let is_ended = open.end("COMMIT").is_ok();
        // A look does not fail because it could not be noted.
        if let Some(record) = record.filter(|_| is_ended) {
            let _ = connection.batch_within(limit, &record);
        }
    }
}

/// A write that has begun. Dropping it rolls back.
pub(in crate::store) struct PostgresWrite<'a> {
    store: &'a PostgresStore,
    open: OpenTransaction<'a>,
    /// The number of the transaction, as the server says it.
    transaction: String,
    change: WriteTx<'a>,
}

impl<'a> PostgresWrite<'a> {
    pub const fn change(&self) -> &WriteTx<'a> {
        &self.change
    }

    /// Commits the write. When the connection breaks during the commit, finds out on a new one whether the write was committed.
    /// After an error nothing is written, unless the error says that the outcome is unknown.
    pub fn commit(self) -> Result<(), StoreError> {
        let Self { store, open, transaction, change } = self;
        let now = change.now();
        let event = Some(change.into_progress().event).filter(|event| *event > 0);
        let Err(error) = open.end("SELECT end_write(); COMMIT") else { return Ok(()) };
        if !store.connection.is_broken() {
            return Err(error);
        }
        let server_run = store.server_run.borrow().clone().unwrap_or_default();
        let event = event.map(|event| (event, now.millis()));
        let sent = SentWrite { transaction: &transaction, server_run: &server_run, event };
        let settled = outcome::settle(&sent, &store.connection, &store.address, &error)?;
        store.server_run.replace(Some(settled));
        store.set_up()
    }
}

/// Reads a number from a row; 0 where there is none.
fn number(row: Option<&SimpleQueryRow>, column: usize) -> i64 {
    row.and_then(|row| row.get(column)?.parse().ok()).unwrap_or(0)
}

/// A transaction that rolls back when it is dropped before its end.
struct OpenTransaction<'a> {
    connection: &'a PostgresConnection,
    /// How long its end may take.
    limit: Duration,
    is_open: bool,
}

impl OpenTransaction<'_> {
    fn end(mut self, statements: &str) -> Result<(), StoreError> {
        self.connection.batch_within(self.limit, statements)?;
        self.is_open = false;
        Ok(())
    }
}

impl Drop for OpenTransaction<'_> {
    fn drop(&mut self) {
        // A server that cannot be asked rolls back itself.
        if self.is_open && !self.connection.is_broken() {
            let _ = self.connection.batch_within(self.limit, "ROLLBACK");
        }
    }
}
