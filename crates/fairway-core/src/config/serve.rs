//! The settings of the server.

use super::section::section;
use super::values::reader;

section! {
    /// The settings of the server.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct ServeSettings {
        /// Where a proxy on this machine shows the board to browsers; https unless it says http://.
        #[sample(["board.example.org"])]
        pub hosts: Vec<String> as Vec<ProxyUrl>,
    }
}

reader!(ProxyUrl(String) -> String; |text: &String| {
    let (scheme, rest) = text.split_once("://").unwrap_or(("https", text));
    let rest = rest.trim_end_matches('/').to_ascii_lowercase();
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "._~:[]/-".contains(character);
    let is_host = rest.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '[');
    if matches!(scheme, "http" | "https") && is_host && rest.chars().all(is_plain) {
        Ok(format!("{scheme}://{rest}"))
    } else {
        Err(format!("'{}' is not a host such as board.example.org or https://example.org/board", text.escape_debug()))
    }
});

#[cfg(test)]
mod tests {
    use crate::config::Settings;

    #[test]
    fn hosts_are_addresses() {
        let read = |text: &str| Settings::parse(&format!("serve.hosts = ['{text}']")).map(|all| all.serve.hosts);
        assert_eq!(read("Board.example.org").unwrap(), ["https://board.example.org"]);
        assert_eq!(read("http://[fe80::1]:8080/b/").unwrap(), ["http://[fe80::1]:8080/b"]);
        assert!(["", "/x", "ftp://a", "a b", "user@host", "a?b", "*"].into_iter().all(|wrong| read(wrong).is_err()));
    }
}
