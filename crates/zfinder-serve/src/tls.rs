//! TLS and mutual TLS by rustls.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use crate::error::{Error, Result};

/// Certificates of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsOptions {
    /// PEM file of the server's certificate, followed by its intermediate certificates.
    pub certificate: PathBuf,
    /// PEM file of the server's private key.
    pub key: PathBuf,
    /// PEM file of the authorities of client certificates. Without it, clients need no certificate.
    pub client_authorities: Option<PathBuf>,
}

fn refuse(path: &Path, reason: impl std::fmt::Display) -> Error {
    Error::Tls { path: path.to_owned(), reason: reason.to_string() }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let certificates = CertificateDer::pem_file_iter(path).map_err(|error| refuse(path, error))?;
    let certificates = certificates.collect::<Result<Vec<_>, _>>().map_err(|error| refuse(path, error))?;
    if certificates.is_empty() { Err(refuse(path, "there is no certificate in it")) } else { Ok(certificates) }
}

impl TlsOptions {
    /// Reads the files. `protocols` are the names that ALPN offers.
    pub(crate) fn acceptor(&self, protocols: &[&str]) -> Result<TlsAcceptor> {
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| refuse(&self.certificate, error))?;
        let builder = match &self.client_authorities {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(path)? {
                    roots.add(certificate).map_err(|error| refuse(path, error))?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
                builder.with_client_cert_verifier(verifier.map_err(|error| refuse(path, error))?)
            }
        };
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|error| refuse(&self.key, error))?;
        let config = builder.with_single_cert(certificates(&self.certificate)?, key);
        let mut config = config.map_err(|error| refuse(&self.key, error))?;
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}
