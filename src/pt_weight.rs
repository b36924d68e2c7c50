//! How a confirmed pair is weighted by the transverse momentum of its track, and how peaks of such
//! pairs are ranked.

/// How [`PairWeight::Pt`](crate::PairWeight::Pt) weighs a pair and ranks a peak. Where the numbers
/// come from: `docs/physics.md`.
///
/// a, b and c are the three spacepoints from the beam outwards, and k13 is the curvature of the
/// circle through the beam, a and c. Then
/// pT = 0.0003 B / (|k13| + 0.028 mm / (rho_a (rho_c - rho_a))) (specification, section 7).
/// The second term is the error of the curvature from hits and beam spot. The track is as soft as
/// this error allows, so that chance triplets of short lever arms are not the hardest tracks.
/// Strips confirm within a sixth of [`Config::triplet_dz_mm`](crate::Config::triplet_dz_mm),
/// because their lever arms are long.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PtWeight {
    /// Whether the outer spacepoint of the pair lies on a disk.
    pub disk: bool,
    /// Layers that confirm the pair with a pT of at least 3, 6 and 10 GeV; 4.5, 6 and 12 GeV on a
    /// disk.
    pub layers: [u32; 3],
    /// The highest pT of all \[GeV\].
    pub pt: f64,
}

impl PtWeight {
    pub(crate) const RESOLUTION_MM: f64 = 0.028;
    pub(crate) const STRIP_DZ: f64 = 1.0 / 6.0;
    /// Of a soft track, of one that weighs, and of a hard one: in the barrel, and on disks.
    pub(crate) const GEV: [[f64; 3]; 2] = [[3.0, 6.0, 10.0], [4.5, 6.0, 12.0]];
    /// Layers that each of them takes. A hard track far forward has few that are far enough apart.
    pub(crate) const LAYERS: [[u32; 3]; 2] = [[2, 3, 3], [2, 3, 2]];
    /// Beyond, curvature is noise.
    pub(crate) const CAP_GEV: f64 = 50.0;
    /// Weight of a pair at 6 GeV.
    pub(crate) const SCALE: f64 = 15.0;
    /// Weight over the square of pT.
    pub(crate) const PER_GEV2: f64 = Self::SCALE / (Self::GEV[0][1] * Self::GEV[0][1]);
    /// Number of sectors of the RoI's window.
    pub(crate) const SECTORS: u32 = 24;

    /// Of a pair whose outer spacepoint lies on a disk, or not.
    pub(crate) fn of_pair(disk: bool) -> Self {
        Self { disk, ..Self::default() }
    }

    /// Takes a layer whose third spacepoints give at most so many GeV.
    pub(crate) fn add_layer(&mut self, best: f64) {
        for (layers, gev) in self.layers.iter_mut().zip(Self::GEV[usize::from(self.disk)]) {
            *layers += u32::from(best >= gev);
        }
    }

    fn is(&self, which: usize) -> bool {
        self.layers[which] >= Self::LAYERS[usize::from(self.disk)][which]
    }

    /// Whether the pair's direction counts as that of a soft track (2 layers with 3 GeV; 4.5 GeV on
    /// a disk), and of a hard one (3 layers with 10 GeV; 2 with 12 GeV on a disk).
    pub fn directions(&self) -> [bool; 2] {
        [self.is(0), self.is(2)]
    }

    /// 15 (pT / 6 GeV)^2 with pT at most 50 GeV, if at least 3 layers confirm the pair with 6 GeV:
    /// up to 1,042. 1 if its direction counts as that of a soft track; else 0.
    pub fn weight(&self) -> u32 {
        self.weight_by(|pt| (pt * pt * Self::PER_GEV2 + 0.5) as u32)
    }

    /// [`PtWeight::weight`] with the engine's own rounding in `of_pt`, which maps pT \[GeV\] to a
    /// weight.
    pub(crate) fn weight_by(&self, of_pt: impl FnOnce(f64) -> u32) -> u32 {
        if self.is(1) { of_pt(self.pt.min(Self::CAP_GEV)) } else { u32::from(self.is(0)) }
    }

    /// The rank of three bins: (weight + 15) (h + 1)^3 (s + 1)^2, where pairs of so many of 24
    /// sectors of phi have the directions of hard (h) and of soft tracks (s). A pile-up vertex with
    /// one hard track has h = 1, Z -> ee has 2, and a vertex of jets has many.
    pub fn rank(weight: u32, soft: u32, hard: u32) -> f32 {
        Self::rank_of(weight.into(), soft, hard)
    }

    /// [`PtWeight::rank`] of a weight that words of 32 bits cannot hold.
    pub(crate) fn rank_of(weight: u64, soft: u32, hard: u32) -> f32 {
        if weight == 0 {
            return 0.0;
        }
        // Both factors are whole numbers that f32 holds exactly, except weights beyond 32 bits. So
        // the product is rounded once.
        let (h, s) = (f64::from(hard) + 1.0, f64::from(soft) + 1.0);
        (weight as f64 + Self::SCALE) as f32 * (h.powi(3) * s.powi(2)) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_any_weight_are_in_order() {
        assert_eq!(PtWeight::rank(667, 2, 1), 682.0 * 9.0 * 8.0);
        assert_eq!(PtWeight::rank(0, 24, 24), 0.0);
        let most = PtWeight::rank(u32::MAX, 24, 24);
        assert!(most > PtWeight::rank(u32::MAX / 2, 24, 24) && PtWeight::rank(u32::MAX, u32::MAX, u32::MAX) > most);
        assert!(PtWeight::rank_of(1 << 33, 0, 0) > PtWeight::rank_of(1 << 32, 0, 0));
    }
}
