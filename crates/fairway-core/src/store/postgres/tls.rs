//! Encryption of connections: the server's certificate is verified against the system's authorities or those of a file.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{StoreAddress, TlsMode};
use crate::store::StoreError;
use crate::store::sql::reason;

/// Makes the TLS connector for connections to an address; `None` when they are not encrypted.
pub(super) fn connector(address: &StoreAddress) -> Result<Option<MakeRustlsConnect>, StoreError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| refuse(address, error.to_string()))?;
    let config = match address.tls_mode() {
        TlsMode::Off => return Ok(None),
        TlsMode::Verified => builder.with_root_certificates(roots(address)?).with_no_client_auth(),
        TlsMode::Unverified => {
            let verifier = Arc::new(AnyCertificate(provider));
            builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        }
    };
    Ok(Some(MakeRustlsConnect::new(config)))
}

fn refuse(address: &StoreAddress, why: String) -> StoreError {
    StoreError::Tls { address: address.to_string(), why }
}

/// The authorities that may vouch for the server.
fn roots(address: &StoreAddress) -> Result<RootCertStore, StoreError> {
    let mut roots = RootCertStore::empty();
    if let Some(path) = &address.root_certificates {
        let certificates = read(path).map_err(|why| refuse(address, format!("{}: {why}", path.display())))?;
        for certificate in certificates {
            let added = roots.add(certificate);
            added.map_err(|error| refuse(address, format!("{}: {error}", path.display())))?;
        }
        return Ok(roots);
    }
    let found = rustls_native_certs::load_native_certs();
    // A system's list may hold certificates of forms that are not in use any more.
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let why = found.errors.first().map_or_else(|| "none are installed".into(), ToString::to_string);
        return Err(refuse(address, format!("the system's authorities cannot be read: {why}")));
    }
    Ok(roots)
}

fn read(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match certificates {
        Ok(certificates) if certificates.is_empty() => Err("it holds no certificate in PEM form".into()),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(reason(&error)),
    }
}

/// Accepts any certificate, for `sslmode=require`. The server must still hold its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
