//! Where the store is: a SQLite file beside the code, or a PostgreSQL server.

use std::fmt;

use super::section::section;
use super::values::{NonBlank, impl_word};
use crate::domain::secrets::MASK;
use crate::domain::string_enum::string_enum;

/// The key of the address, which is never in the committed file.
pub(super) const URL_KEY: &str = "store.url";

string_enum! {
    /// The engine of the store: a SQLite file, or a PostgreSQL server.
    #[derive(Default)]
    StoreEngine { #[default] Sqlite => "sqlite", Postgres => "postgres" }
}

impl_word!(StoreEngine);

section! {
    /// Where the store is.
    #[derive(Clone, PartialEq, Eq, Default)]
    pub struct StoreSettings {
        /// Where the store is: sqlite (a file beside the code) or postgres (a server, whose address is not written here).
        pub engine: StoreEngine = "sqlite",
        /// The server's address; only in .fairway/local.toml, which is not committed.
        #[env(FAIRWAY_STORE_URL)]
        #[sample("postgres://fairway@db.example/team")]
        pub url: Option<String> as NonBlank,
    }
}

impl fmt::Debug for StoreSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.url.as_deref().map(masked_url);
        f.debug_struct("StoreSettings").field("engine", &self.engine).field("url", &url).finish()
    }
}

impl StoreSettings {
    /// Whether the store is on a server: an address or the engine `postgres` is set. Without an address the store cannot be
    /// found.
    pub const fn is_on_server(&self) -> bool {
        self.url.is_some() || matches!(self.engine, StoreEngine::Postgres)
    }
}

/// Refuses a text that is not the address of a server, such as a file's path.
pub fn check_scheme(address: &str) -> Result<(), &'static str> {
    let is_server = ["postgres://", "postgresql://"].iter().any(|scheme| address.starts_with(scheme));
    if is_server { Ok(()) } else { Err("it does not begin with postgres://") }
}

/// The parts of an address: the text up to its user, the password, and the rest from the `@` on.
fn split_password(url: &str) -> Option<(&str, &str, &str)> {
    let login = url.find("://")? + "://".len();
    // A password may hold any letter, also an `@` that was not encoded: the last one ends it.
    let end = login + url.get(login..)?.rfind('@')?;
    let colon = login + url.get(login..end)?.find(':')?;
    Some((url.get(..colon)?, url.get(colon + 1..end)?, url.get(end..)?))
}

fn is_password_parameter(parameter: &str) -> bool {
    let name = parameter.split_once('=').map_or(parameter, |(name, _)| name);
    form_urlencoded::parse(name.as_bytes()).any(|(name, _)| name.to_ascii_lowercase().contains("password"))
}

pub fn has_password(url: &str) -> bool {
    without_password(url) != url
}

/// Removes the password from a server's address, whether it stands before the host or in a parameter.
pub fn without_password(url: &str) -> String {
    let url = without_password_parameters(url);
    match split_password(&url) {
        Some((user, _, rest)) => format!("{user}{rest}"),
        None => url,
    }
}

/// A server's address for display. A mask replaces the password before the host, and a parameter with a password is removed.
pub fn masked_url(url: &str) -> String {
    let url = without_password_parameters(url);
    match split_password(&url) {
        Some((user, _, rest)) => format!("{user}:{MASK}{rest}"),
        None => url,
    }
}

fn without_password_parameters(url: &str) -> String {
    let Some((base, query)) = url.split_once('?').filter(|(_, query)| query.split('&').any(is_password_parameter))
    else {
        return url.to_owned();
    };
    let kept: Vec<&str> = query.split('&').filter(|parameter| !is_password_parameter(parameter)).collect();
    let mark = if kept.is_empty() { "" } else { "?" };
    format!("{base}{mark}{}", kept.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    #[test]
    fn address_without_its_password_is_the_same_otherwise() {
        for (url, plain, masked) in [
            (
                "postgres://ann@db/team?schema=web",
                "postgres://ann@db/team?schema=web",
                "postgres://ann@db/team?schema=web",
            ),
            ("postgres://ann:s3cret@db:5433/team", "postgres://ann@db:5433/team", "postgres://ann:•••@db:5433/team"),
            ("postgres://ann:s3/cr@et@db/team", "postgres://ann@db/team", "postgres://ann:•••@db/team"),
            (
                "postgres://ann@/team?host=/run&password=s3cret",
                "postgres://ann@/team?host=/run",
                "postgres://ann@/team?host=/run",
            ),
            ("postgres://ann@db/team?pass%77ord=s3cret", "postgres://ann@db/team", "postgres://ann@db/team"),
            ("postgres://db/team", "postgres://db/team", "postgres://db/team"),
        ] {
            assert_eq!((without_password(url).as_str(), masked_url(url).as_str()), (plain, masked));
            assert_eq!(has_password(url), url.contains("s3"), "{url}");
            let settings = StoreSettings { url: Some(url.into()), ..StoreSettings::default() };
            assert!(!format!("{settings:?}").contains("s3"), "{settings:?}");
        }
    }

    #[test]
    fn address_alone_is_a_store_on_a_server_and_so_is_the_engine() {
        let is_on_server = |text: &str| Settings::parse(text).map(|settings| settings.store.is_on_server());
        assert!(!is_on_server("").unwrap());
        assert!(!is_on_server("store = { engine = 'sqlite', url = '' }").unwrap());
        assert!(is_on_server("store.engine = 'postgres'").unwrap());
        assert!(is_on_server("store.url = 'postgres://db/team'").unwrap());
        assert_eq!(is_on_server("store.engine = 'mysql'").unwrap_err().0, "store.engine");
    }
}
