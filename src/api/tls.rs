//! HTTPS in the network, with a certificate that the server makes itself. People compare its fingerprint once.

use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose, SanType,
    date_time_ymd,
};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::server::TlsStream;
use zeroize::Zeroizing;

use fairway_actions::upkeep::certificate_file::StoredCertificate;
use fairway_core::env::Timestamp;
use fairway_core::os::digest;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Some browsers refuse a certificate that is valid for more than 825 days.
const LIFETIME: Duration = DAY.saturating_mul(730);
/// How long before the end of a certificate a new one is made.
const RENEWED_BEFORE: Duration = DAY.saturating_mul(30);
/// How long a client may take for the handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// The first byte of a TLS handshake.
const HANDSHAKE_RECORD: u8 = 22;
/// The answer to a client that speaks plain HTTP.
const PLAIN_HTTP_ANSWER: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\nconnection: close\r\n\
    content-length: 40\r\n\r\nthis address speaks HTTPS: use https://\n";

/// A certificate with its key.
pub(super) struct Certificate(StoredCertificate);

impl Certificate {
    /// Loads the certificate from the state directory. Makes a new one when there is no usable one, or it expires soon.
    pub(super) fn load_or_make(state: &Path, ip: IpAddr, now: Timestamp) -> Result<Self> {
        let cannot = || format!("cannot use {}", StoredCertificate::path(state).display());
        match StoredCertificate::read(state) {
            Ok(stored) if stored.ends_at > now.plus(RENEWED_BEFORE) => return Ok(Self(stored)),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error).with_context(cannot),
            _ => {}
        }
        let made = Self::make(ip, now, now.plus(LIFETIME)).context("cannot make a certificate")?;
        made.0.write(state).with_context(cannot)?;
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
        Ok(Self(StoredCertificate { certificate, key: Zeroizing::new(key.serialize_der()), ends_at }))
    }

    /// The SHA-256 digest of the certificate as browsers show it, `AB:CD:…`.
    pub(super) fn fingerprint(&self) -> String {
        let digits = digest::sha256_hex(&self.0.certificate).to_ascii_uppercase();
        let pairs: Vec<&str> = digits.as_bytes().chunks(2).filter_map(|pair| std::str::from_utf8(pair).ok()).collect();
        pairs.join(":")
    }

    pub(super) fn acceptor(&self) -> Result<TlsAcceptor> {
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.0.key.to_vec()));
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![CertificateDer::from(self.0.certificate.clone())], key)
            .context("the certificate of the page cannot be used")?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

fn date(at: Timestamp) -> Option<(i32, u8, u8)> {
    let text = at.to_string();
    let mut parts = text.get(..10)?.split('-');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Encrypts a connection. Returns `None` when the client is too slow or does not speak TLS.
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
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use super::*;

    #[test]
    fn certificate_stays_until_soon_before_its_end_and_is_not_used_when_others_could_know_its_key() {
        let home = tempfile::tempdir().unwrap();
        let path = StoredCertificate::path(home.path());
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
        assert!(certificate.acceptor().is_ok());
    }

    #[test]
    fn answer_to_plain_http_has_the_length_that_it_says() {
        let text = std::str::from_utf8(PLAIN_HTTP_ANSWER).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.ends_with(&format!("content-length: {}", body.len())), "{head}");
    }
}
