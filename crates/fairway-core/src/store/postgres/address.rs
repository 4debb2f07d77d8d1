//! The address of a store on a server: `postgres://user@host:port/database?schema=name`.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::password;
use crate::config::check_scheme;
use crate::env::Env;
use crate::os::{host, this_process};
use crate::store::StoreError;
use crate::store::sql::reason;

/// The schema of a project whose address names none.
const DEFAULT_SCHEMA: &str = "fairway";
/// The longest name of a schema: the name of its notification channel has a prefix, and at most 63 bytes.
const MAX_SCHEMA: usize = 50;
const DEFAULT_PORT: u16 = 5432;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long sent data may stay unacknowledged before the connection counts as broken.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(20);
const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(3);
const KEEPALIVE_RETRIES: u32 = 3;
/// The settings of each connection: a connection may make the others wait no longer than that. The server ends a silent one
/// before those that wait for its lock give up. It also checks whether the network is still there; otherwise a connection that
/// was cut in the middle of a message would keep its lock for hours. Statements are too short for a compilation to pay.
const SETTINGS: &str = "-c lock_timeout=5s -c idle_in_transaction_session_timeout=3s -c statement_timeout=30s \
     -c client_connection_check_interval=2s -c tcp_keepalives_idle=10 -c tcp_keepalives_interval=3 \
     -c tcp_keepalives_count=3 -c tcp_user_timeout=20s -c jit=off";

/// How a connection is encrypted, and whether the server's certificate is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsMode {
    /// No encryption: a Unix socket, or an address of this machine.
    Off,
    /// Encrypted, to a server that is not verified: `sslmode=require`.
    Unverified,
    /// Encrypted; the certificate is verified, and names the server.
    Verified,
}

/// The address of a store on a server.
#[derive(Clone)]
pub struct StoreAddress {
    pub(super) config: Config,
    pub(in crate::store) schema: String,
    /// The file of the certificates that are trusted instead of the system's.
    pub(super) root_certificates: Option<PathBuf>,
    tls: TlsMode,
    /// The parameters that the other fields do not hold.
    parameters: Vec<(String, String)>,
    /// Why a password was not found where one may have been expected.
    pub(super) password_note: Option<String>,
}

impl StoreAddress {
    /// Parses an address. The error does not quote it, because it may hold a password.
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        check_scheme(text).map_err(refuse)?;
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        let mut schema = DEFAULT_SCHEMA.to_owned();
        let (mut mode, mut root_certificates) = (None, None);
        let mut parameters = Vec::new();
        let mut for_client = form_urlencoded::Serializer::new(String::new());
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*key {
                "schema" => {
                    schema = value.into_owned();
                    continue;
                }
                // They would replace what each connection must set.
                "options" => return Err(refuse("'options' is not supported")),
                "sslmode" => mode = Some(value.clone().into_owned()),
                "sslrootcert" => root_certificates = Some(value.clone().into_owned()),
                _ => {
                    for_client.append_pair(&key, &value);
                }
            }
            if !matches!(&*key, "host" | "port" | "user" | "password" | "dbname") {
                parameters.push((key.into_owned(), value.into_owned()));
            }
        }
        check_schema(&schema)?;
        let mut config = Config::from_str(&format!("{base}?{}", for_client.finish()))
            // The text of the address may hold a password, and the reason does not quote it.
            .map_err(|error| refuse(reason(&error)))?;
        if config.get_dbname().is_none() {
            return Err(refuse("it names no database"));
        }
        let tls = tls_mode(&config, mode.as_deref(), root_certificates.is_some())?;
        let given = |name: &str| parameters.iter().any(|(key, _)| key == name);
        config.ssl_mode(if tls == TlsMode::Off { SslMode::Disable } else { SslMode::Require }).options(SETTINGS);
        if !given("application_name") {
            // A process that waits for this one is told which one it is.
            config.application_name(own_name());
        }
        if !given("connect_timeout") {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if !given("tcp_user_timeout") {
            config.tcp_user_timeout(TCP_USER_TIMEOUT);
        }
        if !parameters.iter().any(|(key, _)| key.starts_with("keepalives")) {
            config
                .keepalives_idle(KEEPALIVE_IDLE)
                .keepalives_interval(KEEPALIVE_INTERVAL)
                .keepalives_retries(KEEPALIVE_RETRIES);
        }
        Ok(Self {
            config,
            schema,
            root_certificates: root_certificates.filter(|path| path != "system").map(PathBuf::from),
            tls,
            parameters,
            password_note: None,
        })
    }

    /// Adds the password of `PGPASSWORD` or of the password file, unless the address has one. When the password file cannot be
    /// used, the reason is kept for a later error message.
    #[must_use]
    pub fn with_password_of(mut self, env: &Env) -> Self {
        if self.config.get_password().is_none() {
            match password::find(&self.config, env) {
                Ok(Some(password)) => {
                    self.config.password(password);
                }
                Ok(None) => {}
                Err(note) => self.password_note = Some(note),
            }
        }
        self
    }

    pub const fn tls_mode(&self) -> TlsMode {
        self.tls
    }

    /// How long connecting may take, and how long the server may take to answer a statement that needs no work.
    pub(super) fn answer_limit(&self) -> Duration {
        self.config.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT)
    }
}

fn refuse(why: impl Into<String>) -> StoreError {
    StoreError::Address { why: why.into() }
}

/// The name of this process on the server, which keeps 63 bytes: host, pid and command.
fn own_name() -> String {
    const MAX_HOST: usize = 24;
    let host: String = host::name().chars().filter(char::is_ascii_graphic).take(MAX_HOST).collect();
    format!("fairway {host} {} {}", std::process::id(), this_process::command_words()).trim_end().to_owned()
}

fn check_schema(schema: &str) -> Result<(), StoreError> {
    let is_name = schema.len() <= MAX_SCHEMA
        && schema.starts_with(|letter: char| letter.is_ascii_lowercase())
        && !schema.starts_with("pg_")
        && schema.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if is_name {
        return Ok(());
    }
    Err(refuse(format!(
        "the schema '{schema}' is no name of small letters, digits and _, with at most {MAX_SCHEMA} letters"
    )))
}

/// The encryption of an address: verified off this machine, none on it, unless the address says otherwise. It never depends on
/// what the server offers, so that nothing between them can lower it.
fn tls_mode(config: &Config, mode: Option<&str>, has_root_certificates: bool) -> Result<TlsMode, StoreError> {
    let hosts = config.get_hosts();
    let is_unix = |host: &Host| matches!(host, Host::Unix(_));
    if !hosts.is_empty() && hosts.iter().all(is_unix) {
        return Ok(TlsMode::Off);
    }
    if hosts.iter().any(is_unix) {
        return Err(refuse("it names a Unix socket and a host of the network"));
    }
    let is_local = is_of_this_machine(config);
    match mode {
        Some("require") if has_root_certificates => {
            Err(refuse("sslmode=require verifies no certificate, so sslrootcert has no effect; leave one of them out"))
        }
        Some("require") => Ok(TlsMode::Unverified),
        Some("verify-full") => Ok(TlsMode::Verified),
        None if has_root_certificates || !is_local => Ok(TlsMode::Verified),
        None => Ok(TlsMode::Off),
        Some("disable") if is_local => Ok(TlsMode::Off),
        Some("disable") => Err(refuse("sslmode=disable would send everything unencrypted over the network")),
        Some(mode @ ("allow" | "prefer")) => Err(refuse(format!(
            "sslmode={mode} lets anything between here and the server choose an unencrypted connection"
        ))),
        Some("verify-ca") => {
            Err(refuse("sslmode=verify-ca accepts the certificate of another server; use sslmode=verify-full"))
        }
        Some(mode) => Err(refuse(format!("sslmode={mode} is not known; use verify-full or require"))),
    }
}

/// Whether every host is an address of this machine.
fn is_of_this_machine(config: &Config) -> bool {
    let (hosts, addresses) = (config.get_hosts(), config.get_hostaddrs());
    if addresses.is_empty() {
        let is_local = |host: &Host| match host {
            Host::Tcp(name) => name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()),
            Host::Unix(_) => true,
        };
        return hosts.iter().all(is_local);
    }
    addresses.iter().all(IpAddr::is_loopback)
}

impl fmt::Display for StoreAddress {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        if let Some(user) = self.config.get_user() {
            write!(f, "{}@", form_urlencoded::byte_serialize(user.as_bytes()).collect::<String>())?;
        }
        let mut query = form_urlencoded::Serializer::new(String::new());
        let ports = self.config.get_ports();
        for (index, host) in self.config.get_hosts().iter().enumerate() {
            let port = ports.get(index).or_else(|| ports.first()).copied().unwrap_or(DEFAULT_PORT);
            match host {
                Host::Tcp(name) => {
                    let comma = if index == 0 { "" } else { "," };
                    let (open, close) = if name.contains(':') { ("[", "]") } else { ("", "") };
                    write!(f, "{comma}{open}{name}{close}:{port}")?;
                }
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
        query.extend_pairs(&self.parameters);
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
        assert!(!format!("{:?}", StoreAddress::parse(text)).contains("s3cret"));
        assert!(StoreAddress::parse(text).unwrap().config.get_password().is_some());
        let text = "postgres://db/team?password=s3cret&sslmode=require&connect_timeout=2";
        assert_eq!(shown(text), "postgres://db:5432/team?sslmode=require&connect_timeout=2");
        assert!(StoreAddress::parse(text).unwrap().config.get_password().is_some());
    }

    #[test]
    fn an_address_that_is_shown_is_read_as_the_same() {
        for text in [
            "postgres://ann@/team?host=%2Frun%2Fpg&port=5433&schema=web",
            "postgres://ann@[::1]:5433/team",
            "postgres://a.example:5432,b.example:5433/team?schema=web&target_session_attrs=read-write",
            "postgres://ann%40corp@db.example:5432/team?sslrootcert=%2Fetc%2Fca.pem",
        ] {
            assert_eq!(shown(text), text);
            assert!(StoreAddress::parse(text).unwrap().config.get_password().is_none());
        }
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
            "postgres://ann:s3cret@db/team?sslkey=/key",
            "mysql://ann:s3cret@db/team",
        ] {
            let error = StoreAddress::parse(text).unwrap_err().to_string();
            assert!(!error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn a_connection_over_the_network_is_verified_unless_the_address_says_require() {
        use TlsMode::{Off, Unverified, Verified};

        let of = |text: &str| StoreAddress::parse(text).map(|address| address.tls_mode()).ok();
        for (text, expected) in [
            ("postgres://db.example/team", Some(Verified)),
            ("postgres://db.example/team?sslmode=verify-full", Some(Verified)),
            ("postgres://db.example/team?sslrootcert=/ca.pem", Some(Verified)),
            ("postgres://db.example/team?sslmode=require", Some(Unverified)),
            ("postgres://db.example/team?sslmode=require&sslrootcert=/ca.pem", None),
            ("postgres://db.example/team?sslmode=disable", None),
            ("postgres://db.example/team?sslmode=allow", None),
            ("postgres://db.example/team?sslmode=prefer", None),
            ("postgres://db.example/team?sslmode=verify-ca", None),
            ("postgres://db.example/team?sslmode=full", None),
            // This machine: a local server often has no certificate, and nothing leaves it.
            ("postgres://localhost/team", Some(Off)),
            ("postgres://127.0.0.2/team", Some(Off)),
            ("postgres://[::1]/team?sslmode=disable", Some(Off)),
            ("postgres://localhost/team?sslmode=prefer", None),
            ("postgres://localhost/team?sslmode=verify-full", Some(Verified)),
            ("postgres://localhost/team?sslmode=require", Some(Unverified)),
            ("postgres://localhost/team?sslrootcert=/ca.pem", Some(Verified)),
            ("postgres:///team?host=/run/postgresql", Some(Off)),
            // The address is what counts, not the name beside it.
            ("postgres://localhost/team?hostaddr=192.0.2.1", Some(Verified)),
            ("postgres://localhost,db.example/team", Some(Verified)),
            ("postgres://localhost.example/team", Some(Verified)),
            ("postgres://db.example/team?host=/run/postgresql", None),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
    }
}
