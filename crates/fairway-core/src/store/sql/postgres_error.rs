//! Errors of PostgreSQL, of its client and of the network between them, in the store's words.

use std::error::Error as StdError;
use std::io;

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, SqlState};

use super::postgres_client::CallError;
use crate::store::StoreError;

/// The kinds of errors that the client tells only by their text.
const TLS: &str = "error performing TLS handshake";
const CONFIG: &str = "invalid configuration";
const AUTHENTICATION: &str = "authentication error";
const PARTIAL: &str = "bytes remaining on stream";

impl From<Error> for StoreError {
    /// An error of reading a row.
    fn from(error: Error) -> Self {
        Self::Postgres(reason(&error))
    }
}

/// Converts the error of a call into a store's error. `address` is the server's, without a password.
pub(in crate::store) fn store_error(error: CallError, address: &str) -> StoreError {
    let address = address.to_owned();
    match error {
        CallError::Failed(error) => match error.as_db_error() {
            Some(answer) => of_answer(answer, address),
            None => of_client(&error, address),
        },
        CallError::Silent(limit) => {
            StoreError::Unreachable { address, why: format!("no answer within {} s", limit.as_secs()) }
        }
        CallError::Broken => StoreError::Unreachable { address, why: "the connection broke".into() },
        CallError::System(source) => StoreError::io("the client of the store's server", source),
    }
}

pub(super) fn migration_error(error: &refinery::Error, address: &str) -> StoreError {
    let mut cause: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(at) = cause {
        if let Some(answer) = at.downcast_ref::<DbError>() {
            return match of_answer(answer, address.to_owned()) {
                StoreError::Postgres(why) => StoreError::ServerMigration { address: address.to_owned(), why },
                known => known,
            };
        }
        cause = at.source();
    }
    StoreError::ServerMigration { address: address.to_owned(), why: reason(error) }
}

fn of_answer(answer: &DbError, address: String) -> StoreError {
    let why = answer.message().to_owned();
    match *answer.code() {
        SqlState::LOCK_NOT_AVAILABLE
        | SqlState::QUERY_CANCELED
        | SqlState::T_R_DEADLOCK_DETECTED
        | SqlState::T_R_SERIALIZATION_FAILURE => StoreError::Busy,
        // Nothing is locked: this process was stopped, or had no processor, for too long.
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT => {
            let why = "this process paused for longer than a transaction may".to_owned();
            StoreError::NotWritten { address, why }
        }
        SqlState::TOO_MANY_CONNECTIONS | SqlState::CANNOT_CONNECT_NOW => StoreError::ServerBusy { address, why },
        SqlState::ADMIN_SHUTDOWN | SqlState::CRASH_SHUTDOWN | SqlState::IDLE_SESSION_TIMEOUT => {
            StoreError::Unreachable { address, why }
        }
        SqlState::READ_ONLY_SQL_TRANSACTION => StoreError::ServerReadOnly { address, why },
        SqlState::INSUFFICIENT_PRIVILEGE => StoreError::NoRights { address, why },
        SqlState::DISK_FULL => StoreError::Full,
        // Every transaction begins with the `project` table.
        SqlState::UNDEFINED_TABLE => StoreError::NotThere { address },
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            StoreError::Denied { address, why }
        }
        SqlState::INVALID_CATALOG_NAME => StoreError::NoDatabase { address, why },
        SqlState::PROTOCOL_VIOLATION => {
            let why = format!("{why}; a connection pooler must be left out");
            StoreError::Server { address, why }
        }
        _ => StoreError::Postgres(why),
    }
}

/// The failure of the client or the network, where the server said nothing.
fn of_client(error: &Error, address: String) -> StoreError {
    let why = match reason(error) {
        why if why == PARTIAL => "the connection ended amid a message".to_owned(),
        why => why,
    };
    match error.to_string().as_str() {
        // A server that goes away during the handshake has refused nothing. What is wrong with a certificate is invalid data.
        TLS if is_cut_off(error) => StoreError::Unreachable { address, why },
        TLS => StoreError::Tls { address, why },
        CONFIG | AUTHENTICATION => StoreError::Denied { address, why },
        _ if is_io(error) || error.is_closed() => StoreError::Unreachable { address, why },
        _ => StoreError::Postgres(why),
    }
}

fn is_cut_off(error: &Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, TimedOut, UnexpectedEof};
    let kind = error.source().and_then(|source| source.downcast_ref::<io::Error>()).map(io::Error::kind);
    matches!(kind, Some(BrokenPipe | ConnectionReset | TimedOut | UnexpectedEof))
}

/// Whether the server's answer is not in PostgreSQL's protocol.
pub(in crate::store) fn is_garbled(error: &CallError) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput};
    let CallError::Failed(error) = error else { return false };
    let kind = error.source().and_then(|source| source.downcast_ref::<io::Error>()).map(io::Error::kind);
    error.to_string() != TLS && matches!(kind, Some(InvalidData | InvalidInput))
}

fn is_io(error: &Error) -> bool {
    error.source().is_some_and(<dyn StdError>::is::<io::Error>)
}

/// The innermost reason of an error. Its other texts may quote an address with a password.
pub(in crate::store) fn reason(error: &(dyn StdError + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
