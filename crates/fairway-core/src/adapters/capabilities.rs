//! The capabilities of a script, from its answer to `protocol`.

use std::collections::BTreeSet;

use serde::Deserialize;

/// The answer to `protocol`. Unknown capabilities are kept and ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Capabilities {
    #[serde(default)]
    capabilities: BTreeSet<String>,
}

impl Capabilities {
    /// Parses a script's answer to the operation `protocol`, which must be a JSON object. Without a list of capabilities the
    /// script has only the operations that every script must support.
    pub fn read(text: &[u8]) -> Result<Self, serde_json::Error> {
        let object: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(text)?;
        serde_json::from_value(object.into())
    }

    /// Whether the script's operation `start` itself types the configured first text (`nudge`) once the session is ready.
    pub fn types_first_nudge(&self) -> bool {
        self.has("start-nudge")
    }

    /// Whether the script's operation `start` returns only when the session is ready.
    pub fn waits_until_ready(&self) -> bool {
        self.has("ready")
    }

    /// Whether the script's operation `attach` also works without a terminal: it then prints the session's output as it arrives.
    pub fn follows(&self) -> bool {
        self.has("follow")
    }

    pub fn has(&self, capability: &str) -> bool {
        self.capabilities.contains(capability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handshake_other_than_an_object_is_refused() {
        let read = Capabilities::read(br#"{"version":0,"capabilities":["ready","new-one"],"x":1}"#).unwrap();
        assert!(read.waits_until_ready() && read.has("new-one") && !read.types_first_nudge());
        assert_eq!(Capabilities::read(br#"{"version":0}"#).unwrap(), Capabilities::default());
        for garbage in [&b""[..], b"[]", b"ok", br#"{"capabilities":"ready"}"#, br#"[["ready"]]"#] {
            assert!(Capabilities::read(garbage).is_err());
        }
    }
}
