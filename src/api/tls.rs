//! HTTPS in the network, with a certificate that the server makes itself. People compare its fingerprint once.

use std::{
    fs::OpenOptions,
    io::{self, Read as _},
    net::IpAddr,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::Path,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, Result};
use nix::fcntl::OFlag;
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose, SanType,
    date_time_ymd,
};
use serde::{Deserialize, Serialize};
use tokio::{io::AsyncWriteExt as _, net::TcpStream, time::timeout};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
    },
    server::TlsStream,
};
use zeroize::Zeroizing;

use crate::{
    env::Timestamp,
    os::{digest, files, user},
};

/// The file with the certificate and its key, in the state directory.
const FILE: &str = "page-certificate.json";
const MAX_BYTES: u64 = 64 << 10;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a certificate is valid. Some browsers refuse any that is valid for more than 825 days.
const LIFETIME: Duration = DAY.saturating_mul(730);
/// So long before its end a new one is made.
const RENEWED_BEFORE: Duration = DAY.saturating_mul(30);
/// How long a client may take for the handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// The first byte of a TLS handshake.
const HANDSHAKE_RECORD: u8 = 22;
/// The answer to a client that speaks plain HTTP.
const PLAIN_HTTP_ANSWER: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\nconnection: close\r\n\
    content-length: 40\r\n\r\nthis address speaks HTTPS: use https://\n";

/// A certificate with its key.
pub(super) struct Certificate {
    certificate: Vec<u8>,
    key: Zeroizing<Vec<u8>>,
}

#[derive(Serialize, Deserialize)]
struct Content {
    /// Both in DER form, as hexadecimal digits.
    certificate: String,
    key: String,
    /// When it ends, in milliseconds since 1970.
    ends_at: i64,
}

impl Certificate {
    /// The certificate of a project, from its state directory. Without a usable one, and soon before its end, a new one is made.
    pub(super) fn load_or_make(state: &Path, ip: IpAddr, now: Timestamp) -> Result<Self> {
        let path = state.join(FILE);
        let cannot = || format!("cannot use {}", path.display());
        match read(&path) {
            Ok(content) if content.ends_at > now.plus(RENEWED_BEFORE).millis() => {
                if let (Some(certificate), Some(key)) = (unhex(&content.certificate), unhex(&content.key)) {
                    return Ok(Self { certificate, key: Zeroizing::new(key) });
                }
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error).with_context(cannot),
            _ => {}
        }
        let ends_at = now.plus(LIFETIME);
        let made = Self::make(ip, now, ends_at).context("cannot make a certificate")?;
        let content = Content {
            certificate: digest::hex(&made.certificate),
            key: digest::hex(&made.key),
            ends_at: ends_at.millis(),
        };
        let text = Zeroizing::new(serde_json::to_vec(&content)?);
        files::write_atomic(&path, &text, 0o600).with_context(cannot)?;
        Ok(made)
    }

    fn make(ip: IpAddr, now: Timestamp, ends_at: Timestamp) -> Result<Self> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "Fairway");
        params.subject_alt_names = vec![SanType::DnsName("fairway.invalid".try_into()?)];
        if !ip.is_unspecified() {
            params.subject_alt_names.push(SanType::IpAddress(ip));
        }
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        // The clock of a phone may be behind.
        let date = |at| date(at).context("the clock shows no date");
        let ((year, month, day), end) = (date(now.minus(DAY))?, date(ends_at)?);
        params.not_before = date_time_ymd(year, month, day);
        params.not_after = date_time_ymd(end.0, end.1, end.2);
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?.der().to_vec();
        Ok(Self { certificate, key: Zeroizing::new(key.serialize_der()) })
    }

    /// The SHA-256 digest as browsers show it, `AB:CD:…`.
    pub(super) fn fingerprint(&self) -> String {
        let digits = digest::sha256_hex(&self.certificate).to_ascii_uppercase();
        let pairs: Vec<&str> = digits.as_bytes().chunks(2).filter_map(|pair| std::str::from_utf8(pair).ok()).collect();
        pairs.join(":")
    }

    /// The acceptor of connections with this certificate.
    pub(super) fn acceptor(&self) -> Result<TlsAcceptor> {
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.to_vec()));
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![CertificateDer::from(self.certificate.clone())], key)
            .with_context(|| format!("the certificate in {FILE} cannot be used"))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

/// Year, month and day in UTC.
fn date(at: Timestamp) -> Option<(i32, u8, u8)> {
    let text = at.to_string();
    let mut parts = text.get(..10)?.split('-');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// The content of a file that this user alone can read.
fn read(path: &Path) -> io::Result<Content> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() || found.uid() != user::uid() || found.mode() & 0o077 != 0 {
        // Others may know the key, or have put their own there.
        return Err(io::Error::other("it is not this user's alone"));
    }
    let mut text = Zeroizing::new(String::new());
    file.take(MAX_BYTES).read_to_string(&mut text)?;
    serde_json::from_str(&text).map_err(io::Error::other)
}

fn unhex(digits: &str) -> Option<Vec<u8>> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.as_bytes().chunks(2).map(byte).collect()
}

/// The encrypted connection; `None` for a client that is too slow or speaks no TLS.
pub(super) async fn handshake(tls: &TlsAcceptor, mut stream: TcpStream) -> Option<TlsStream<TcpStream>> {
    let shaken = async {
        let mut first = [0];
        if stream.peek(&mut first).await.ok()? == 1 && first != [HANDSHAKE_RECORD] {
            let _ = stream.write_all(PLAIN_HTTP_ANSWER).await;
            // Closing with unread input resets the connection, and the client would lose the answer.
            let _ = stream.try_read(&mut [0; 16 * 1024]);
            let _ = stream.shutdown().await;
            return None;
        }
        tls.accept(stream).await.ok()
    };
    timeout(HANDSHAKE_TIMEOUT, shaken).await.ok().flatten()
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    #[test]
    fn certificate_stays_until_soon_before_its_end_and_is_not_used_when_others_could_know_its_key() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(FILE);
        let ip: IpAddr = "10.0.0.1".parse().unwrap();
        let at = |days: u32| Timestamp::parse("2026-01-31T12:00:00Z").unwrap().plus(DAY * days);
        let print = |days| Certificate::load_or_make(home.path(), ip, at(days)).unwrap().fingerprint();
        let first = print(0);
        assert_eq!((first.len(), first.matches(':').count()), (95, 31));
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!((print(1), print(699)), (first.clone(), first.clone()));
        let second = print(701);
        assert_ne!(second, first);
        // One that others could have read, or a broken one, is not used any more.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let third = print(702);
        assert!(third != second && fs::metadata(&path).unwrap().mode() & 0o777 == 0o600);
        fs::write(&path, "{").unwrap();
        assert_ne!(print(702), third);
        let certificate = Certificate::load_or_make(home.path(), ip, at(702)).unwrap();
        assert!(certificate.acceptor().is_ok() && unhex("0g").is_none());
    }

    #[test]
    fn answer_to_plain_http_has_the_length_that_it_says() {
        let text = std::str::from_utf8(PLAIN_HTTP_ANSWER).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.ends_with(&format!("content-length: {}", body.len())), "{head}");
    }
}
