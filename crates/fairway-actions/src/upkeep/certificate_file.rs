//! The file in the project's state directory with the certificate, and its key, with which the page is served in the network.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::private_json::read_private;
use fairway_core::env::Timestamp;
use fairway_core::os::{digest, files};

pub(super) const FILE: &str = "page-certificate.json";

pub struct StoredCertificate {
    /// The certificate in DER encoding.
    pub certificate: Vec<u8>,
    /// The private key in DER encoding.
    pub key: Zeroizing<Vec<u8>>,
    pub ends_at: Timestamp,
}

#[derive(Serialize, Deserialize)]
struct Content {
    /// The certificate in DER encoding, as hexadecimal digits; so is the key.
    certificate: String,
    key: String,
    /// The end of the certificate's validity, in milliseconds since 1970.
    ends_at: i64,
}

impl StoredCertificate {
    pub fn path(state: &Path) -> PathBuf {
        state.join(FILE)
    }

    /// Reads the file in the state directory `state`.
    ///
    /// # Errors
    /// When there is no such file, or when others could read or replace it.
    pub fn read(state: &Path) -> io::Result<Self> {
        let text = read_private(&Self::path(state))?;
        let content: Content = serde_json::from_str(&text).map_err(io::Error::other)?;
        let broken = || io::Error::other("it has no certificate with its key");
        let (certificate, key) = unhex(&content.certificate).zip(unhex(&content.key)).ok_or_else(broken)?;
        Ok(Self { certificate, key: Zeroizing::new(key), ends_at: Timestamp::from_millis(content.ends_at) })
    }

    pub fn write(&self, state: &Path) -> io::Result<()> {
        let content = Content {
            certificate: digest::hex(&self.certificate),
            key: digest::hex(&self.key),
            ends_at: self.ends_at.millis(),
        };
        let text = Zeroizing::new(serde_json::to_vec(&content).map_err(io::Error::other)?);
        files::write_atomic(&Self::path(state), &text, 0o600)
    }
}

fn unhex(digits: &str) -> Option<Vec<u8>> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.as_bytes().chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_bytes() {
        assert_eq!((unhex("00ff"), unhex("0g")), (Some(vec![0, 255]), None));
    }
}
