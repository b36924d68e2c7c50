//! Provenance of answers, for files of answers.

use std::io::{self, Write};

use serde::Serialize;
use sha2::{Digest, Sha256};
use zfinder::ZFinder;

use crate::toml::{changed_keys, config_to_toml, detector_to_toml};

/// Everything that answers depend on: version, configuration, detector and engine.
///
/// A digest is `sha256:` and the SHA-256 of a TOML text: [`config_to_toml`], which
/// `zfinder find --print-config` prints, or [`detector_to_toml`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Provenance {
    /// The schema, [`Provenance::SCHEMA`].
    pub schema: &'static str,
    /// The version of zfinder.
    pub version: &'static str,
    /// The preset of the configuration.
    pub preset: &'static str,
    /// The keys of the configuration that differ from the preset, with their values.
    pub changed_keys: serde_json::Map<String, serde_json::Value>,
    /// The digest of the configuration.
    pub config_digest: String,
    /// The name of the detector.
    pub detector: String,
    /// The digest of the detector.
    pub detector_digest: String,
    /// The engine and its number type, as text.
    pub engine: String,
    /// The adapters of a GPU engine, as text.
    pub adapter: Option<String>,
    /// The beam spot, if it was found from the spacepoints, in the form of `BeamSpot` of
    /// `zfinder-study`. Position and slope are also in the configuration. None if the beam spot was
    /// given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beam_spot: Option<serde_json::Value>,
}

impl Provenance {
    /// The name and version of the schema of JSON lines. The version rises if a key disappears or
    /// changes its meaning.
    pub const SCHEMA: &'static str = "zfinder-answers/1";

    /// Returns the provenance of the answers of a finder.
    ///
    /// ```
    /// use zfinder::{Detector, Engine, ZFinder};
    /// use zfinder_io::Provenance;
    /// let finder = ZFinder::builder(Detector::atlas2010()).engine(Engine::Reference).build()?;
    /// let provenance = Provenance::new(&finder);
    /// assert_eq!((provenance.detector.as_str(), provenance.adapter), ("atlas2010", None));
    /// # Ok::<(), zfinder_io::Error>(())
    /// ```
    #[must_use]
    pub fn new(finder: &ZFinder) -> Self {
        let description = finder.description();
        // A GPU engine's description ends in its adapters:
        // `GPU engine, f32, on NAME (kind, backend)`.
        let (engine, adapter) = match description.split_once(", on ") {
            Some((engine, adapter)) => (engine.to_owned(), Some(adapter.to_owned())),
            None => (description, None),
        };
        Self {
            schema: Self::SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            preset: finder.config().preset.as_str(),
            changed_keys: changed_keys(finder.config())
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect(),
            config_digest: digest(&config_to_toml(finder.config())),
            detector: finder.detector().name().to_owned(),
            detector_digest: digest(&detector_to_toml(finder.detector())),
            engine,
            adapter,
            beam_spot: None,
        }
    }

    /// Writes one line: a JSON object of all fields.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write_json_line(&self, out: &mut impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut *out, self)?;
        out.write_all(b"\n")
    }

    /// Returns all non-empty fields by name.
    #[cfg(feature = "parquet")]
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&'static str, String)> {
        [
            ("schema", Some(self.schema.to_owned())),
            ("version", Some(self.version.to_owned())),
            ("preset", Some(self.preset.to_owned())),
            ("changed_keys", serde_json::to_string(&self.changed_keys).ok()),
            ("config_digest", Some(self.config_digest.clone())),
            ("detector", Some(self.detector.clone())),
            ("detector_digest", Some(self.detector_digest.clone())),
            ("engine", Some(self.engine.clone())),
            ("adapter", self.adapter.clone()),
            ("beam_spot", self.beam_spot.as_ref().map(serde_json::Value::to_string)),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
    }
}

fn digest(text: &str) -> String {
    let mut digest = "sha256:".to_owned();
    digest.extend(Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")));
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_that_of_sha256sum() {
        // FIPS 180-2, appendix B.1.
        assert_eq!(digest("abc"), "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
