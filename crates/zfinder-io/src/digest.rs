//! Digests of answers, which compare two runs.

use std::fmt;

use sha2::{Digest, Sha256};
use zfinder::RoiResult;
use zfinder::results::RoiSummary;

use crate::answer_columns::FITTED;

/// A digest of answers. It depends neither on the order of answers nor on the size of batches.
///
/// An answer is encoded as bytes, in little-endian order: event and RoI (u64 each), the status
/// ([`Status::as_str`]) and a zero byte, then spacepoints, spacepoints outside, vertices and 1 for
/// an answer of the fallback (u64 each). Each vertex adds the bits of z, its error, the weight and
/// the rank (f64 each), and the pairs (u64). Significance and background follow, each as a byte 1
/// and the bits, or a byte 0. A vertex that tracklets were fitted to adds the bits of x, y, the six
/// covariances and the sum of pT^2, and the number of tracklets. If there are tracklets, their
/// number follows. Each adds the bits of its 16 numbers in the order of
/// [`tracklet_csv_header`](crate::tracklet_csv_header), its vertex (i64, -1 without one), the
/// number of its spacepoints and their places (u64 each). The digest is the SHA-256 of the number
/// of RoIs (u64) and of the sum, modulo 2^256, of the SHA-256 of these bytes, both little-endian.
///
/// [`Status::as_str`]: zfinder::Status::as_str
///
/// ```
/// use zfinder::{Detector, Roi, ZFinder};
/// use zfinder_io::AnswerDigest;
/// let finder = ZFinder::builder(Detector::atlas2010()).build()?;
/// let answers = finder.find(&Roi::default())?;
/// let mut digest = AnswerDigest::default();
/// digest.extend(&answers);
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
    pub fn add(&mut self, result: RoiResult<'_>) {
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

/// Adds answers.
impl<'a> Extend<RoiResult<'a>> for AnswerDigest {
    fn extend<I: IntoIterator<Item = RoiResult<'a>>>(&mut self, results: I) {
        results.into_iter().for_each(|result| self.add(result));
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

fn bytes_of(result: RoiResult<'_>) -> Vec<u8> {
    let RoiSummary { id, status, spacepoints, outside_window, is_fallback, .. } = result.summary();
    let mut bytes = Vec::new();
    bytes.extend(id.event_id.to_le_bytes());
    bytes.extend(id.roi_id.to_le_bytes());
    bytes.extend(status.as_str().as_bytes());
    bytes.push(0);
    for count in [spacepoints, outside_window, result.vertices().len() as u64, u64::from(is_fallback)] {
        bytes.extend(count.to_le_bytes());
    }
    for vertex in result.vertices().iter() {
        for number in [vertex.z_mm, vertex.z_error_mm, vertex.weight, vertex.rank] {
            bytes.extend(number.to_bits().to_le_bytes());
        }
        bytes.extend(vertex.pairs.to_le_bytes());
        for number in [vertex.significance, vertex.background] {
            bytes.push(u8::from(number.is_some()));
            bytes.extend(number.iter().flat_map(|number| number.to_bits().to_le_bytes()));
        }
        if vertex.x_mm.is_some() {
            let numbers = FITTED.iter().filter_map(|(_, number)| number(&vertex));
            bytes.extend(numbers.flat_map(|number| number.to_bits().to_le_bytes()));
            bytes.extend(vertex.tracklet_count.to_le_bytes());
        }
    }
    let tracklets = result.tracklets();
    if !tracklets.is_empty() {
        bytes.extend((tracklets.len() as u64).to_le_bytes());
    }
    for tracklet in tracklets {
        bytes.extend(tracklet.numbers().iter().flat_map(|number| number.to_bits().to_le_bytes()));
        bytes.extend(tracklet.vertex().map_or(-1, |vertex| vertex as i64).to_le_bytes());
        let hits = tracklet.hits();
        bytes.extend((hits.len() as u64).to_le_bytes());
        bytes.extend(hits.iter().flat_map(|&hit| u64::from(hit).to_le_bytes()));
    }
    bytes
}

#[cfg(test)]
mod tests {
    use zfinder::{Results, RoiId, Status, Vertex};

    use super::*;

    /// An RoI and its vertices.
    type Answer = (RoiSummary, Vec<Vertex>);

    fn answers() -> Vec<Answer> {
        let vertex = |&z_mm: &f64| {
            let mut vertex = Vertex::at(z_mm);
            (vertex.weight, vertex.pairs, vertex.significance) = (12.0, 12, Some(3.5));
            vertex
        };
        let answer = |roi_id: u64, zs: &[f64]| {
            let status = if zs.is_empty() { Status::NoPeak } else { Status::Ok };
            let mut roi = RoiSummary::new(RoiId { event_id: 7, roi_id }, status);
            (roi.spacepoints, roi.outside_window) = (40, 2);
            (roi, zs.iter().map(vertex).collect())
        };
        vec![answer(0, &[1.5, -2.5]), answer(1, &[]), answer(2, &[0.0])]
    }

    fn digest_of<'a>(answers: impl IntoIterator<Item = &'a Answer>) -> String {
        let mut results = Results::new();
        answers.into_iter().for_each(|(roi, vertices)| results.push(*roi, vertices.iter().copied()));
        let mut digest = AnswerDigest::default();
        digest.extend(&results);
        digest.to_string()
    }

    #[test]
    fn order_does_not_matter_and_every_field_does() {
        let all = answers();
        let digest = digest_of(&all);
        assert_eq!(digest, digest_of(all.iter().rev()));
        let changes: [fn(&mut Answer); 12] = [
            |(roi, _)| roi.id.event_id += 1,
            |(roi, _)| roi.id.roi_id += 9,
            |(roi, _)| roi.status = Status::Empty,
            |(roi, _)| roi.spacepoints += 1,
            |(roi, _)| roi.outside_window += 1,
            |(roi, _)| roi.is_fallback = true,
            |(_, vertices)| vertices.swap(0, 1),
            |(_, vertices)| vertices[1].z_mm = vertices[1].z_mm.next_up(),
            |(_, vertices)| vertices[0].z_error_mm = 1e-300,
            |(_, vertices)| vertices[0].pairs += 1,
            |(_, vertices)| vertices[1].rank = 3.0,
            |(_, vertices)| vertices[0].background = Some(0.0),
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
