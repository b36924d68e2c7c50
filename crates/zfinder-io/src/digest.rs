//! Digests of answers, which compare two runs.

use std::fmt;

use sha2::{Digest, Sha256};
use zfinder::RoiResult;

/// A digest of answers. It depends neither on the order of answers nor on the size of batches.
///
/// An answer is encoded as bytes, in little-endian order: event and RoI (u64 each), the status
/// ([`Status::as_str`]) and a zero byte, then spacepoints, spacepoints outside, vertices and 1 for
/// an answer of the fallback (u64 each). Each vertex adds the bits of z, its error, the weight and
/// the rank (f64 each), and the pairs (u64). Significance and background follow, each as a byte 1
/// and the bits, or a byte 0. The digest is the SHA-256 of the number of RoIs (u64) and of the sum,
/// modulo 2^256, of the SHA-256 of these bytes, both little-endian.
///
/// [`Status::as_str`]: zfinder::Status::as_str
///
/// ```
/// use zfinder::{Detector, Roi, ZFinder};
/// use zfinder_io::AnswerDigest;
/// let finder = ZFinder::builder(Detector::atlas2010()).build()?;
/// let answer = finder.find(&Roi::default())?;
/// let mut digest = AnswerDigest::default();
/// digest.add(&answer);
/// assert!(digest.to_string().starts_with("sha256:"));
/// # Ok::<(), zfinder::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerDigest {
    rois: u64,
    /// Words of the sum, the lowest first.
    sum: [u64; 4],
}

impl AnswerDigest {
    /// Adds the answer of one RoI.
    pub fn add(&mut self, result: &RoiResult) {
        let digest = Sha256::digest(bytes_of(result));
        let mut carry = false;
        for (word, bytes) in self.sum.iter_mut().zip(digest.chunks_exact(8)) {
            let own = u64::from_le_bytes(bytes.try_into().expect("a chunk of 8 bytes"));
            let (with_own, first) = word.overflowing_add(own);
            let (with_carry, second) = with_own.overflowing_add(u64::from(carry));
            (*word, carry) = (with_carry, first || second);
        }
        self.rois += 1;
    }

    /// Returns the number of RoIs added.
    #[must_use]
    pub fn rois(&self) -> u64 {
        self.rois
    }
}

/// Writes `sha256:` and 64 hexadecimal digits.
impl fmt::Display for AnswerDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = Sha256::new();
        all.update(self.rois.to_le_bytes());
        self.sum.iter().for_each(|word| all.update(word.to_le_bytes()));
        f.write_str("sha256:")?;
        all.finalize().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

fn bytes_of(result: &RoiResult) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(result.id.event_id.to_le_bytes());
    bytes.extend(result.id.roi_id.to_le_bytes());
    bytes.extend(result.status.as_str().as_bytes());
    bytes.push(0);
    for count in [result.spacepoints, result.outside_window, result.vertices.len(), usize::from(result.fallback)] {
        bytes.extend((count as u64).to_le_bytes());
    }
    for vertex in &result.vertices {
        for number in [vertex.z_mm, vertex.z_error_mm, vertex.weight, vertex.rank] {
            bytes.extend(number.to_bits().to_le_bytes());
        }
        bytes.extend(vertex.pairs.to_le_bytes());
        for number in [vertex.significance, vertex.background] {
            bytes.push(u8::from(number.is_some()));
            bytes.extend(number.iter().flat_map(|number| number.to_bits().to_le_bytes()));
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use zfinder::{RoiId, Status, Vertex};

    use super::*;

    fn answers() -> Vec<RoiResult> {
        let vertex = |z_mm| Vertex { z_mm, weight: 12.0, pairs: 12, significance: Some(3.5), ..Vertex::default() };
        let answer = |roi: u64, zs: &[f64]| RoiResult {
            id: RoiId { event_id: 7, roi_id: roi },
            vertices: zs.iter().map(|&z| vertex(z)).collect(),
            status: if zs.is_empty() { Status::NoPeak } else { Status::Ok },
            spacepoints: 40,
            outside_window: 2,
            fallback: false,
        };
        vec![answer(0, &[1.5, -2.5]), answer(1, &[]), answer(2, &[0.0])]
    }

    fn digest_of<'a>(answers: impl IntoIterator<Item = &'a RoiResult>) -> String {
        let mut digest = AnswerDigest::default();
        answers.into_iter().for_each(|answer| digest.add(answer));
        digest.to_string()
    }

    #[test]
    fn order_does_not_matter_and_every_field_does() {
        let all = answers();
        let digest = digest_of(&all);
        assert_eq!(digest, digest_of(all.iter().rev()));
        let changes: [fn(&mut RoiResult); 12] = [
            |answer| answer.id.event_id += 1,
            |answer| answer.id.roi_id += 9,
            |answer| answer.status = Status::Empty,
            |answer| answer.spacepoints += 1,
            |answer| answer.outside_window += 1,
            |answer| answer.fallback = true,
            |answer| answer.vertices.swap(0, 1),
            |answer| answer.vertices[1].z_mm = answer.vertices[1].z_mm.next_up(),
            |answer| answer.vertices[0].z_error_mm = 1e-300,
            |answer| answer.vertices[0].pairs += 1,
            |answer| answer.vertices[1].rank = 3.0,
            |answer| answer.vertices[0].background = Some(0.0),
        ];
        for (number, change) in changes.iter().enumerate() {
            let mut other = answers();
            change(&mut other[0]);
            assert_ne!(digest, digest_of(&other), "change {number}");
        }
        assert_ne!(digest, digest_of(&all[..2]), "an RoI less");
        assert_ne!(digest_of(&all[..1]), digest_of(all[..1].iter().chain(&all[..1])), "an RoI twice");
    }

    /// Digests that users store must not change.
    #[test]
    fn a_digest_stays_what_it_is() {
        assert_eq!(digest_of(&[]), EMPTY);
        assert_eq!(digest_of(&answers()), ANSWERS);
    }

    const EMPTY: &str = "sha256:2c34ce1df23b838c5abf2a7f6437cca3d3067ed509ff25f11df6b11b582b51eb";
    const ANSWERS: &str = "sha256:75b3c7d8d5758404025cce8360003575c668f8690f5d9554ec1445b196dd8e70";
}
