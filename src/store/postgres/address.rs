//! The address of a store on a server: `postgres://user@host:port/database?schema=name`.

use std::{fmt, str::FromStr, time::Duration};

use postgres::{
    Config,
    config::{Host, SslMode},
};

use crate::store::StoreError;

/// The schema of a project whose address names none.
const DEFAULT_SCHEMA: &str = "fairway";
/// The longest name of a schema: the name of its notification channel has a prefix, and at most 63 bytes.
const MAX_SCHEMA: usize = 50;
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];
const DEFAULT_PORT: u16 = 5432;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long sent data may stay unacknowledged before the connection counts as broken.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(20);
const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(3);
const KEEPALIVE_RETRIES: u32 = 3;
/// What each connection sets: a connection holds the others up no longer than that.
const SETTINGS: &str = "-c lock_timeout=5s -c idle_in_transaction_session_timeout=5s -c statement_timeout=30s \
     -c client_connection_check_interval=2s";

/// The address of a store on a server.
#[derive(Clone)]
pub struct StoreAddress {
    pub(super) config: Config,
    pub(in crate::store) schema: String,
}

impl StoreAddress {
    /// Whether a text is the address of a server, not a file's path.
    #[must_use]
    pub fn is_address(text: &str) -> bool {
        SCHEMES.iter().any(|scheme| text.starts_with(scheme))
    }

    /// Reads an address.
    ///
    /// # Errors
    /// [`StoreError::Address`] when it is none, or cannot be used.
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        let refuse = |why: String| StoreError::Address { why };
        if !Self::is_address(text) {
            return Err(refuse("it does not begin with postgres://".into()));
        }
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        let mut schema = DEFAULT_SCHEMA.to_owned();
        let mut kept = form_urlencoded::Serializer::new(String::new());
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*key {
                "schema" => schema = value.into_owned(),
                // They would replace what each connection must set.
                "options" => return Err(refuse("'options' is not supported".into())),
                _ => {
                    kept.append_pair(&key, &value);
                }
            }
        }
        let is_name = schema.len() <= MAX_SCHEMA
            && schema.starts_with(|letter: char| letter.is_ascii_lowercase())
            && !schema.starts_with("pg_")
            && schema.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        if !is_name {
            return Err(refuse(format!(
                "the schema '{schema}' is no name of small letters, digits and _, with at most {MAX_SCHEMA} letters"
            )));
        }
        let mut config =
            Config::from_str(&format!("{base}?{}", kept.finish())).map_err(|error| refuse(reason(&error)))?;
        if config.get_dbname().is_none() {
            return Err(refuse("it names no database".into()));
        }
        if config.get_hosts().iter().any(|host| matches!(host, Host::Tcp(_))) {
            return Err(refuse("only Unix sockets are supported".into()));
        }
        config
            .ssl_mode(SslMode::Disable)
            .application_name("fairway")
            .options(SETTINGS)
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_user_timeout(TCP_USER_TIMEOUT)
            .keepalives_idle(KEEPALIVE_IDLE)
            .keepalives_interval(KEEPALIVE_INTERVAL)
            .keepalives_retries(KEEPALIVE_RETRIES);
        Ok(Self { config, schema })
    }
}

/// Why an address was refused, without its text: that may hold a password.
fn reason(error: &postgres::Error) -> String {
    let mut source = std::error::Error::source(error);
    let mut text = error.to_string();
    while let Some(at) = source {
        text = at.to_string();
        source = at.source();
    }
    text
}

impl fmt::Display for StoreAddress {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        if let Some(user) = self.config.get_user() {
            write!(f, "{user}@")?;
        }
        let mut query = form_urlencoded::Serializer::new(String::new());
        let ports = self.config.get_ports();
        for (index, host) in self.config.get_hosts().iter().enumerate() {
            let port = ports.get(index).or_else(|| ports.first()).copied().unwrap_or(DEFAULT_PORT);
            match host {
                Host::Tcp(name) => write!(f, "{}{name}:{port}", if index == 0 { "" } else { "," })?,
                Host::Unix(path) => {
                    query.append_pair("host", &path.to_string_lossy());
                    if port != DEFAULT_PORT {
                        query.append_pair("port", &port.to_string());
                    }
                }
            }
        }
        if self.schema != DEFAULT_SCHEMA {
            query.append_pair("schema", &self.schema);
        }
        let query = query.finish();
        let mark = if query.is_empty() { "" } else { "?" };
        write!(f, "/{}{mark}{query}", self.config.get_dbname().unwrap_or_default())
    }
}

impl fmt::Debug for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreAddress({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match StoreAddress::parse(text) {
            Ok(address) => address.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn an_address_is_shown_without_its_password() {
        let text = "postgres://ann:s3cret@/team?host=/run/pg&port=5433&schema=web";
        assert_eq!(shown(text), "postgres://ann@/team?host=%2Frun%2Fpg&port=5433&schema=web");
        assert_eq!(shown(&shown(text)), shown(text));
        assert!(!format!("{:?}", StoreAddress::parse(text)).contains("s3cret"));
    }

    #[test]
    fn an_address_that_cannot_be_used_is_refused_without_its_text() {
        for text in [
            "postgres://ann:s3cret@/?host=/run",
            "postgres://ann:s3cret@/team?host=/run&options=-c%20lock_timeout%3D0",
            "postgres://ann:s3cret@/team?host=/run&schema=Web",
            "postgres://ann:s3cret@/team?host=/run&schema=pg_web",
            "postgres://ann:s3cret@/team?host=/run&password_of=x",
            "postgres://ann:s3cret@/team?host=/run&port=x",
            "mysql://ann:s3cret@db/team",
        ] {
            let error = StoreAddress::parse(text).unwrap_err().to_string();
            assert!(!error.contains("s3cret"), "{error}");
        }
    }
}
