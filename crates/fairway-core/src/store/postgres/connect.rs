//! Connecting to a server, and the conditions that a server must meet.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use tokio_postgres::{NoTls, SimpleQueryMessage, SimpleQueryRow};

use super::address::StoreAddress;
use super::tls;
use crate::os::poll_until::sleep;
use crate::store::StoreError;
use crate::store::sql::{CallError, PostgresClient, PostgresConnection, is_garbled, store_error};

/// The oldest supported server: the first with `client_connection_check_interval`.
const OLDEST_SERVER: (i64, &str) = (140_000, "14");
// The last ones tell one run of the server from another. The second of them is also new after a crash, from which the server
// recovers without beginning anew.
pub(super) const FACTS: &str = "SELECT current_setting('server_version_num'), current_setting('server_version'), \
     current_setting('server_encoding'), \
     concat_ws(' ', pg_postmaster_start_time(), pg_stat_get_bgwriter_stat_reset_time()), current_setting('lock_timeout')";
/// A commit that was acknowledged is kept. A stronger setting of the server stays.
pub(super) const KEEP_COMMITS: &str =
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'";
/// The value of `lock_timeout` that each connection asks for, as the server shows it.
const LOCK_TIMEOUT_SETTING: &str = "5s";
/// How long a server that takes no connection now is tried again.
const BUSY_LIMIT: Duration = Duration::from_secs(5);
/// The pause between two attempts, in milliseconds, and the spread that keeps processes apart.
const PAUSE_MILLIS: u64 = 50;
const SPREAD_MILLIS: u64 = 200;

/// A new connection.
pub(super) struct Connected {
    pub client: PostgresClient,
    /// Identifies a run of the server: while it is unchanged, the server has lost nothing.
    pub server_run: String,
}

/// Opens a connection, and checks that the server is fit for a store. While the server is too busy to accept a connection, tries
/// again for a limited time.
pub(super) fn connect(address: &StoreAddress) -> Result<Connected, StoreError> {
    retry(Instant::now() + BUSY_LIMIT, || open(address), is_busy)
}

/// As [`connect`], but does not check the server. The caller must send [`FACTS`] in its first exchange and pass the answer to
/// [`check_facts`].
pub(super) fn connect_unchecked(address: &StoreAddress) -> Result<PostgresClient, StoreError> {
    retry(Instant::now() + BUSY_LIMIT, || log_in(address), is_busy)
}

/// Opens a connection in place of one that broke. Until the deadline it also tries again when the server cannot be reached,
/// because the server may be starting.
pub(super) fn reconnect(address: &StoreAddress, deadline: Instant) -> Result<Connected, StoreError> {
    let is_passing = |error: &StoreError| is_busy(error) || matches!(error, StoreError::Unreachable { .. });
    retry(deadline, || open(address), is_passing)
}

const fn is_busy(error: &StoreError) -> bool {
    matches!(error, StoreError::ServerBusy { .. })
}

/// Waits between two attempts, for a random span, so that several processes do not retry at the same moment.
pub(super) fn pause() {
    sleep(Duration::from_millis(PAUSE_MILLIS + RandomState::new().hash_one(()) % SPREAD_MILLIS));
}

fn retry<T>(
    deadline: Instant,
    mut attempt: impl FnMut() -> Result<T, StoreError>,
    is_passing: impl Fn(&StoreError) -> bool,
) -> Result<T, StoreError> {
    loop {
        match attempt() {
            Err(error) if is_passing(&error) && Instant::now() < deadline => pause(),
            done => return done,
        }
    }
}

fn open(address: &StoreAddress) -> Result<Connected, StoreError> {
    let mut client = log_in(address)?;
    let server_run = check(&mut client, address)?;
    Ok(Connected { client, server_run })
}

fn log_in(address: &StoreAddress) -> Result<PostgresClient, StoreError> {
    let limit = address.answer_limit();
    let opened = match tls::connector(address)? {
        None => PostgresClient::connect(&address.config, NoTls, limit),
        Some(tls) => PostgresClient::connect(&address.config, tls, limit),
    };
    opened.map_err(|error| login_error(error, address))
}

/// The error of a login, with what is known about a password that was not found.
fn login_error(error: CallError, address: &StoreAddress) -> StoreError {
    let is_garbled = is_garbled(&error);
    match (store_error(error, &address.to_string()), &address.password_note) {
        (StoreError::Denied { address, why }, Some(note)) => {
            StoreError::Denied { address, why: format!("{why}; {note}") }
        }
        // The right that a login needs is that to connect.
        (StoreError::NoRights { address, why }, _) => StoreError::Denied { address, why },
        (StoreError::Unreachable { address, why }, _) if is_garbled => {
            StoreError::Server { address, why: format!("it does not answer as PostgreSQL does: {why}") }
        }
        (error, _) => error,
    }
}

/// Checks that a server is fit for a store; returns its run.
fn check(client: &mut PostgresClient, address: &StoreAddress) -> Result<String, StoreError> {
    let facts = client.call(address.answer_limit(), async |client| client.simple_query(FACTS).await);
    let facts = facts.map_err(|error| store_error(error, &address.to_string()))?;
    let row = facts.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    check_facts(row, address)
}

/// Checks, by the row of [`FACTS`], that a server is fit for a store. Returns the text that identifies this run of the server.
pub(super) fn check_facts(row: Option<&SimpleQueryRow>, address: &StoreAddress) -> Result<String, StoreError> {
    let fact = |column| row.and_then(|row| row.get(column)).unwrap_or_default();
    let unfit = |why: String| Err(StoreError::Server { address: address.to_string(), why });
    if fact(0).parse::<i64>().unwrap_or_default() < OLDEST_SERVER.0 {
        return unfit(format!("it is PostgreSQL {}; {} or newer is needed", fact(1), OLDEST_SERVER.1));
    }
    if fact(2) != "UTF8" {
        return unfit(format!("the database's encoding is {}, not UTF8", fact(2)));
    }
    // Without these settings a connection could hold the others up for hours. A pooler has connections of its own.
    if fact(4) != LOCK_TIMEOUT_SETTING {
        return unfit(
            "it does not apply the settings of a new connection; a connection pooler must be left out".to_owned(),
        );
    }
    Ok(fact(3).to_owned())
}

/// Opens a connection for changes: on it, the server does not acknowledge a commit that it could still lose.
pub(super) fn statements(address: &StoreAddress) -> Result<PostgresConnection, StoreError> {
    let connection = PostgresConnection::new(connect(address)?.client, address.to_string());
    connection.batch(KEEP_COMMITS)?;
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_takes_no_connection_now_is_asked_again_until_the_deadline() {
        let busy = || StoreError::ServerBusy { address: String::new(), why: String::new() };
        let is_passing = |error: &StoreError| matches!(error, StoreError::ServerBusy { .. });
        let mut asked = 0;
        let answer = retry(
            Instant::now() + Duration::from_secs(60),
            || {
                asked += 1;
                if asked < 3 { Err(busy()) } else { Ok(asked) }
            },
            is_passing,
        );
        assert_eq!(answer.unwrap(), 3);
        assert!(retry(Instant::now(), || Err::<(), _>(busy()), is_passing).is_err());
        let mut asked = 0;
        let refused = retry(
            Instant::now() + Duration::from_secs(60),
            || {
                asked += 1;
                Err::<(), _>(StoreError::Full)
            },
            is_passing,
        );
        assert!(refused.is_err() && asked == 1);
    }
}
